"""Docker as its command line has it, with an engine of our own, images of Python made of Debian, and a network."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .peer import CACHE, absent, program

LOCKED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
"""How a server is run that may nothing."""


class Docker:
    """The command line of an engine."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.program = program("docker", Path("/usr/bin"))  # the distribution's own, which fits its engine
        self.environ = {
            **os.environ,
            "DOCKER_HOST": engine.host,
            "DOCKER_BUILDKIT": "0",
            "DOCKER_CONFIG": "/nonexistent",
        }
        self.network = f"dw-{secrets.token_hex(4)}"

    def run(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """A command to its end."""
        command = [self.program, *words]
        return subprocess.run(command, env=self.environ, capture_output=True, text=True, check=False, **options)

    def __call__(self, *words: str, **options: Any) -> str:
        """What a command prints that must succeed."""
        ended = self.run(*words, **options)
        assert ended.returncode == 0, f"docker {' '.join(words)}: {ended.stdout[-2000:]} {ended.stderr[-2000:]}"
        return ended.stdout.strip()

    def python(self, version: str) -> str:
        """The image of a Python, by the name that it has in the registry."""
        name, root = f"python:{version}-slim", CACHE / f"debian-{version}/root.tar"
        if self.run("image", "inspect", name).returncode:
            if not (root.parent / "ready").is_file():
                absent(f"Debian with Python {version}")
            path = "ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
            alone = "ENV PIP_NO_INDEX=1"  # builds have no network, and pip would try each package again and again
            self("import", "--change", path, "--change", alone, "--change", 'CMD ["python3"]', str(root), name)
        return name

    def build(self, tag: str, folder: Path, *words: str) -> str:
        """Build an image, without a network."""
        self("build", "--network", "none", "--tag", tag, *words, str(folder))
        return tag

    def about(self, thing: str) -> Any:
        return json.loads(self("inspect", thing))[0]

    def port(self, container: str) -> int:
        """Where the port of a server is on this machine."""
        return int(self("port", container, "8000/tcp").rpartition(":")[2])

    @contextlib.contextmanager
    def served(self, image: str, *options: str, command: Sequence[str] = ()) -> Iterator[str]:
        """A locked container of an image that serves, until the end of the block. Yields its id."""
        published = ("--network", self.network, "--publish", "127.0.0.1::8000")
        made = self("run", "--detach", *LOCKED, *published, *options, image, *command)
        try:
            yield made
        finally:
            self.run("rm", "--force", made)

    def says(self, container: str, text: str, seconds: float = 60) -> str:
        """The log of a container, once it has this text."""
        ended = self.until(
            lambda: (said := self._logs(container)) if text in (said := self._logs(container)) else "", seconds
        )
        assert ended, f"{text!r} is not in {self._logs(container)}"
        return str(ended)

    def _logs(self, container: str) -> str:
        ended = self.run("logs", container)
        return ended.stdout + ended.stderr

    @staticmethod
    def until(so: Callable[[], Any], seconds: float = 60) -> Any:
        end = time.monotonic() + seconds
        while not (found := so()) and time.monotonic() < end:
            time.sleep(0.1)
        return found


@contextlib.contextmanager
def docker(docker_engine: Any) -> Iterator[Docker]:
    """Docker with an engine of our own; its network is gone with it."""
    with docker_engine.running(own=True) as engine:
        found = Docker(engine)
        found("network", "create", found.network)
        try:
            yield found
        finally:
            for made in found("ps", "--all", "--quiet").split():
                found.run("rm", "--force", made)
            found("network", "rm", found.network)
