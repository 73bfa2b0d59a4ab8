"""`make publish`: uploads what `make dist` built, to the index that uv is configured for; without `--really`, to one of
this machine's own, from which it is installed.

A distribution goes after those that it needs, so that none is ever there that cannot be installed. What the index has
already is passed over: a publication that was interrupted is done again.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

from uv import find_uv_bin

from distributions import ROOT, distributions

PATIENCE_SECONDS = 60
LAUNCHED = "doorward[standard]"


def files(built: Path) -> list[tuple[Path, Path]]:
    """The sdist and the wheel of each distribution, in the order of publication. Exits if any is missing."""
    found = [(built / one.files[0], built / one.files[1]) for one in distributions()]
    if missing := [file.name for pair in found for file in pair if not file.is_file()]:
        sys.exit(f"First: make dist. {built} lacks {', '.join(missing)}")
    return found


def upload(built: Path, environ: Mapping[str, str], *options: str) -> None:
    """Upload all of it. Exits at the first that is refused."""
    for pair in files(built):
        command = [find_uv_bin(), "publish", "--no-progress", *options, *map(str, pair)]
        if subprocess.run(command, env=environ, check=False).returncode:
            sys.exit(f"{pair[1].name} was not published, nor was what comes after it.")


@contextlib.contextmanager
def local_index(*folders: Path) -> Iterator[str]:
    """An index of this machine, of the files in these folders, until the end of the block. Uploads go into the first.
    Yields its URL."""
    command = [sys.executable, "-m", "pypiserver", "run", "--interface", "127.0.0.1", "--disable-fallback"]
    command += ["--authenticate", ".", "--passwords", ".", *map(str, folders)]
    with socket.socket() as taken, tempfile.TemporaryFile() as log:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the server listens at it although we hold it
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        serving = subprocess.Popen([*command, "--port", str(port)], stdout=log, stderr=log)
        try:
            end = time.monotonic() + PATIENCE_SECONDS
            while not _answers(url := f"http://127.0.0.1:{port}"):
                if serving.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    sys.exit(f"the local index did not start: {log.read().decode(errors='replace')[-2000:]}")
                time.sleep(0.05)
            yield url
        finally:
            serving.terminate()
            serving.wait()


def _answers(url: str) -> bool:
    with contextlib.suppress(OSError), urlopen(f"{url}/health", timeout=2) as answer:
        return bool(answer.status == 200)
    return False


def to_local(built: Path, url: str) -> None:
    """Upload all of it to a local index, which wants no credentials."""
    environ = {**os.environ, "UV_PUBLISH_USERNAME": "nobody", "UV_PUBLISH_PASSWORD": "none"}
    upload(built, environ, "--publish-url", url, "--check-url", f"{url}/simple/", "--trusted-publishing", "never")


def rehearse(built: Path) -> None:
    """Publish to an index of this machine's own, and launch it from there; libraries of others come from where uv takes
    them."""
    with tempfile.TemporaryDirectory() as folder, local_index(Path(folder)) as url:
        to_local(built, url)
        to_local(built, url)  # once more: all is there
        environ = {**os.environ, "UV_INDEX": f"{url}/simple/", "UV_CACHE_DIR": f"{folder}/cache"}
        launch = [find_uv_bin(), "tool", "run", "--from", LAUNCHED, "doorward", "--version"]
        if subprocess.run(launch, env=environ, check=False).returncode:
            sys.exit("What was published cannot be launched.")
    print(f"All {len(files(built))} distributions can be published. `make publish REALLY=1` does it.")


def main() -> None:
    parser = argparse.ArgumentParser(description="Publish what was built, or rehearse it.")
    parser.add_argument("built", type=Path, nargs="?", default=ROOT / "dist")
    parser.add_argument("--really", action="store_true", help="to the index that uv is configured for")
    options = parser.parse_args()
    if options.really:
        upload(options.built, os.environ)
    else:
        rehearse(options.built)


if __name__ == "__main__":
    main()
