"""A real container engine for tests, and images for it that need no registry.

It belongs to no package; a fixture `docker_engine` loads it by its path (`/conftest.py`):

    @pytest.fixture(scope="session")
    def engine(docker_engine: Any) -> Any:
        return docker_engine.shared()                          # one for the whole run, with the plain image in it

    engine.settings(pool=1)                                    # for [executors.docker]: host, what the image is of, and
    more engine.settings(engine.build(docker_engine.SCIENCE))       # the same with numpy, pandas, matplotlib and pillow

It takes the engine that DOCKER_HOST names, or starts a `dockerd` of its own as root, which knows nothing of any other
one. Where neither can be had, tests skip. It is driven without the Docker SDK, so that tests do not see the engine
through the eyes of what they test.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import http.client
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import pytest

CACHE = Path(__file__).resolve().parents[3] / ".venv/cache/docker"
SCIENCE = ("numpy", "pandas", "matplotlib", "pillow")


def absent(what: str, help: str = ".ci/peers installs it") -> NoReturn:
    pytest.skip(f"{what} is absent: {help}")


class Engine:
    """An engine behind a Unix socket, asked directly. `own`: it is ours, and may be stopped and started."""

    def __init__(self, at: str, folder: Path | None = None) -> None:
        self.at = at
        self.folder = folder
        self.own = folder is not None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        return f"unix://{self.at}"

    # Asking it

    def ask(self, method: str, path: str, body: Any = None, *, timeout: float = 60) -> tuple[int, bytes]:
        asked = http.client.HTTPConnection("localhost", timeout=timeout)
        asked.sock = socket.socket(socket.AF_UNIX)
        asked.sock.settimeout(timeout)
        try:
            asked.sock.connect(self.at)
            given = {} if body is None else {"Content-Type": "application/json"}
            asked.request(method, f"/v1.40{path}", None if body is None else json.dumps(body), given)
            answer = asked.getresponse()
            return answer.status, answer.read()
        finally:
            asked.close()

    def json(self, path: str) -> Any:
        status, content = self.ask("GET", path)
        assert status == 200, content
        return json.loads(content)

    def answers(self) -> bool:
        try:
            return self.ask("GET", "/_ping", timeout=5)[0] == 200
        except OSError:
            return False

    def containers(self) -> list[dict[str, Any]]:
        """The sandboxes that there are, in whatever state, each as `docker inspect` shows it."""
        listed = self.json(f"/containers/json?all=1&filters={quote(json.dumps({'label': ['doorward=sandbox']}))}")
        found = [self.ask("GET", f"/containers/{one['Id']}/json") for one in listed]
        return [json.loads(content) for status, content in found if status == 200]

    def empty(self, patience: float = 60) -> bool:
        """Whether no sandbox is there any more, within some seconds."""
        end = time.monotonic() + patience
        while self.containers() and time.monotonic() < end:
            time.sleep(0.02)
        return not self.containers()

    # Images

    def settings(self, packages: Sequence[str] = (), **more: Any) -> dict[str, Any]:
        """What belongs into `[executors.docker]` to use this engine and the image of these packages."""
        return {"host": self.host, "rootfs": str(root_file_system()), "packages": list(packages), **more}

    def image(self, packages: Sequence[str] = ()) -> str:
        """The name of the image of these packages."""
        from doorward_sandbox_docker import DockerSettings
        from doorward_sandbox_docker.image import named

        return named(DockerSettings(**self.settings(packages)))

    def _kept(self, packages: Sequence[str]) -> Path:
        return CACHE / f"{self.image(packages).replace(':', '-')}-{root_file_system().stem}.tar"

    def build(self, packages: Sequence[str] = ()) -> Sequence[str]:
        """Make the image of these packages, by our own `build`; one with packages comes out of the cache when it is
        there."""
        kept = self._kept(packages)
        if packages and kept.exists():
            self.load(kept)
        else:
            with ThreadPoolExecutor(1) as thread:  # there may be a loop in this one
                thread.submit(asyncio.run, self._build(self.settings(packages))).result()
            if packages:
                self.save(self.image(packages), kept)
        return packages

    def has(self, packages: Sequence[str]) -> bool:
        """Whether the image of these packages can be had: it is kept, or pip can download them."""
        if self._kept(packages).exists():
            return True
        with tempfile.TemporaryDirectory() as folder:
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary=:all:",
                "--dest",
                folder,
                packages[-1],
            ]
            return subprocess.run(command, capture_output=True, check=False).returncode == 0

    async def _build(self, settings: dict[str, Any]) -> None:
        from doorward import PluginContext
        from doorward_sandbox_docker import DockerExecutor, DockerSettings

        executor = DockerExecutor(PluginContext("docker", DockerSettings(**settings), CACHE))
        await executor.build(lambda text: None)
        await executor.close()

    def save(self, image: str, file: Path) -> None:
        status, content = self.ask("GET", f"/images/{image}/get", timeout=120)
        assert status == 200, content
        new = file.with_suffix(f".{os.getpid()}")  # several processes may save it at once
        new.write_bytes(content)
        new.rename(file)

    def load(self, file: Path) -> None:
        asked = http.client.HTTPConnection("localhost", timeout=120)
        asked.sock = socket.socket(socket.AF_UNIX)
        asked.sock.connect(self.at)
        with file.open("rb") as content:
            asked.request("POST", "/v1.40/images/load?quiet=1", content, {"Content-Length": str(file.stat().st_size)})
            answer = asked.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()
        asked.close()

    # Its life, where it is our own

    def start(self, *more: str) -> None:
        assert self.folder is not None
        command = [_program("dockerd"), "--host", self.host, "--pidfile", str(self.folder / "pid"), *more]
        command += ["--data-root", str(self.folder / "data"), "--exec-root", str(self.folder / "exec")]
        command += ["--bridge", "none", "--iptables=false", "--ip6tables=false"]
        log = self.folder / "log"
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, "PATH": path},
                start_new_session=True,
            )
        patience = time.monotonic() + 60
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > patience:
                pytest.fail(f"dockerd did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it, and its containers with it."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def running(*, own: bool = False) -> Iterator[Engine]:
    """An engine until the end of the block: that of DOCKER_HOST, or one of our own (`own`: in any case)."""
    named = os.environ.get("DOCKER_HOST", "")
    if not own and named.startswith("unix://"):
        engine = Engine(named.removeprefix("unix://"))
        if not engine.answers():
            absent(f"the engine at {named}", "start it, or unset DOCKER_HOST")
        yield engine
        return
    if os.name != "posix" or os.geteuid() != 0:
        absent("an engine", "set DOCKER_HOST=unix://…, or be root where dockerd is")
    _program("dockerd")
    with tempfile.TemporaryDirectory(
        prefix="dw", dir="/tmp", ignore_cleanup_errors=True
    ) as name:  # a socket's path must be short
        engine = Engine(f"{name}/docker.sock", Path(name))
        try:
            engine.start()
            yield engine
        finally:
            engine.stop()
            _unmount(name)


_RUNTIME = """#!{python}
import json, os, sys
if "--bundle" in sys.argv:
    file = sys.argv[sys.argv.index("--bundle") + 1] + "/config.json"
    config = json.load(open(file))
    config["process"]["rlimits"] = [r for r in config["process"].get("rlimits", []) if r["type"] != "RLIMIT_NPROC"]
    json.dump(config, open(file, "w"))
os.execv({runc!r}, ["runc", *sys.argv[1:]])
"""
"""Podman raises RLIMIT_NPROC in every container, which a root without CAP_SYS_RESOURCE may not."""


@contextlib.contextmanager
def podman() -> Iterator[Engine]:
    """A Podman of our own behind its socket, with the plain image in it. Its images and containers are nobody
    else's."""
    command = _program("podman")
    runc = _program("runc")
    if os.geteuid() != 0:
        absent("root", "Podman is tested as root")
    with tempfile.TemporaryDirectory(prefix="dw", dir="/tmp", ignore_cleanup_errors=True) as name:
        runtime = Path(name, "runc")
        runtime.write_text(_RUNTIME.format(python=sys.executable, runc=runc))
        runtime.chmod(0o755)
        engine = Engine(f"{name}/podman.sock")
        words = [
            command,
            "--runtime",
            str(runtime),
            "--root",
            f"{name}/root",
            "--runroot",
            f"{name}/run",
            "--cgroup-manager",
            "cgroupfs",
        ]
        with Path(name, "log").open("wb") as log:
            process = subprocess.Popen(
                [*words, "system", "service", "--time", "0", engine.host], stdout=log, stderr=log, cwd=name
            )
        try:
            patience = time.monotonic() + 30
            while not engine.answers():
                if process.poll() is not None or time.monotonic() > patience:
                    pytest.fail(f"podman did not start: {Path(name, 'log').read_text()[-2000:]}")
                time.sleep(0.05)
            engine.build()
            yield engine
        finally:
            subprocess.run([*words, "rm", "--all", "--force"], capture_output=True, check=False)
            process.terminate()
            process.wait()
            subprocess.run([*words, "system", "reset", "--force"], capture_output=True, check=False)
            _unmount(name)


@functools.cache
def shared() -> Engine:
    """One engine for all tests of this process, with the plain image in it."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    engine = stack.enter_context(running())
    engine.build()
    return engine


def _unmount(folder: str) -> None:
    """Take away what an engine leaves mounted, or its folder could not be removed."""
    places = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in reversed([place for place in places if place.startswith(f"{folder}/")]):
        subprocess.run([_program("umount"), "--lazy", place], capture_output=True, check=False)


def _program(name: str) -> str:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return shutil.which(name, path=path) or absent(name)


# A root file system of the Python that runs the tests


def root_file_system() -> Path:
    """An archive with this Python below /py, the shared libraries that it needs, and busybox as /bin/sh where there is
    one."""
    CACHE.mkdir(parents=True, exist_ok=True)
    shell = "" if shutil.which("busybox") else "-without-sh"  # it may be installed later
    file = CACHE / f"root-{sys.version.split()[0]}-{_FORM}{shell}.tar"
    if not file.exists():
        new = file.with_suffix(f".{os.getpid()}")
        with tarfile.open(new, "w") as tar:
            _fill(tar)
        new.rename(file)
    return file


_FORM = 2  # to be raised when what is in the archive changes
_USUAL = ("libstdc++.so.6", "libgcc_s.so.1", "libz.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1")
_LEFT_OUT = {
    "site-packages",
    "dist-packages",
    "test",
    "tests",
    "idlelib",
    "turtledemo",
    "lib2to3",
    "ensurepip",
    "pydoc_data",
    "tkinter",
}


def _fill(tar: tarfile.TarFile) -> None:
    word = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library, binary = Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix, "bin", word).resolve()

    def owned(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.uid = info.gid = 0
        info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
        return info

    def entry(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
        part = Path(info.name).name
        left_out = (
            part in _LEFT_OUT or part.startswith(("config-", "libpython", "_tkinter", "_test")) or ".opt-" in part
        )
        return None if left_out else owned(info)

    def link(name: str, to: str) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = tarfile.SYMTYPE, to
        tar.addfile(info)

    def text(name: str, content: bytes) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), 0o644
        tar.addfile(info, io.BytesIO(content))

    tar.add(library, f"py/lib/{word}", filter=entry)
    tar.add(binary, f"py/bin/{word}", filter=entry)
    tar.addfile(_folder(f"py/lib/{word}/site-packages"))
    for name in (f"py/bin/{word}", "py/bin/python3"):
        link(f"usr/local/bin/{Path(name).name}", f"/py/bin/{word}")
    for path in _libraries([binary, *library.glob("lib-dynload/[!_]*.so"), *library.glob("lib-dynload/_[!t]*.so")]):
        tar.add(Path(path).resolve(), path.lstrip("/"), filter=owned)
    if busybox := shutil.which("busybox"):
        tar.add(Path(busybox).resolve(), "bin/busybox", filter=entry)
        for name in ("sh", "ls", "cat", "sleep", "ps", "id"):
            link(f"bin/{name}", "busybox")
    text("etc/passwd", b"root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
    text("etc/group", b"root:x:0:\nnogroup:x:65534:\n")
    for name in ("proc", "sys", "dev", "usr/bin"):
        tar.addfile(_folder(name))
    tar.addfile(_folder("tmp", 0o1777))


def _folder(name: str, mode: int = 0o755) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, mode
    return info


def _libraries(files: Sequence[Path]) -> list[str]:
    """What these files are linked with, and what compiled packages expect of any system."""
    listed = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True, check=False).stdout
    found = set(re.findall(r"(/\S+\.so\S*) \(0x", listed))
    places = {str(Path(name).parent) for name in found}
    usual = [f"{place}/{name}" for place in places for name in _USUAL]
    return sorted(found | {name for name in usual if Path(name).exists()})
