"""What the tests of real peers share: where peers are, how they start and end, and a gateway in front of one.

A peer that is absent skips the test, with what to install (see /conftest.py).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from doorward import Gateway
from doorward.config.config import load

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".venv/peers"
"""Where `.ci/peers` installs what is no system package."""
SPECS = Path(os.environ.get("DOORWARD_SPECS", ""))


def absent(what: str, help: str = ".ci/peers installs it") -> NoReturn:
    pytest.skip(f"{what} is absent: {help}")


def program(name: str, *places: Path) -> str:
    """Where an executable is: in one of the folders, or on the PATH, the system's own folders included."""
    path = os.pathsep.join([*map(str, places), os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    return shutil.which(name, path=path) or absent(name)


def document(name: str) -> Path:
    """A document of the folder that DOORWARD_SPECS names."""
    if not os.environ.get("DOORWARD_SPECS") or not (file := (SPECS / name).resolve()).is_file():
        absent(f"the document {name}", "DOORWARD_SPECS names the folder of documents")
    return file


def unpacked(name: str, folder: Path) -> Path:
    """A document as it is, for those who know no zstd."""
    from doorward_openapi.document.document import decompress

    file = document(name)
    plain = folder / name.removesuffix(".zst")
    plain.write_bytes(decompress(file.read_bytes(), name))
    return plain


@contextlib.contextmanager
def running(command: Sequence[str], folder: Path, ready: Callable[[], bool], **environ: str) -> Iterator[Path]:
    """A peer, from when it is ready until the end of the block: its whole process group ends with it. Yields its log. How
    long it takes to be ready says how busy the machine is: one that hangs meets the test's `timeout`."""
    log = folder / f"{Path(command[0]).name}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env={**os.environ, **environ},
            start_new_session=True,
        )
    try:
        while not ready():
            if process.poll() is not None:
                pytest.fail(f"{command[0]} did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        yield log
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    process.wait()


def command_lines(pid: int) -> dict[int, str]:
    """The command lines of the processes below one, by their ids."""
    found, level = {}, {pid}
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    while level := {child for child, parent in parents.items() if parent in level}:
        for child in level:
            with contextlib.suppress(OSError):
                found[child] = Path(f"/proc/{child}/cmdline").read_bytes().decode().replace("\0", " ")
    return found


def answers(url: str) -> Callable[[], bool]:
    """Whether anything answers HTTP there, whatever it says."""

    def ready() -> bool:
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    return ready


@contextlib.asynccontextmanager
async def gateway(folder: Path, **settings: Any) -> AsyncIterator[Gateway]:
    """A gateway whose one server is `api`, compiled."""
    import tomli_w

    limits = {"rate": 100_000, "calls": 100_000}
    configured = {
        "limits": limits,
        "servers": {"api": {"source": "openapi", **settings}},
        "state": str(folder / "state"),
    }
    file = folder / "doorward.toml"
    file.write_text(tomli_w.dumps(configured))
    async with Gateway.open(load(file), compile=False) as gate:
        report = (await gate.compile())["api"]
        assert report.functions, report
        yield gate


async def run(gate: Gateway, code: str, **params: Any) -> Any:
    """The value of a program; its failure fails the test."""
    outcome = await gate.execute(code, params=params)
    assert outcome.ok, outcome.error
    return outcome.value


async def whole(gate: Gateway, handle: dict[str, Any]) -> bytes:
    """The bytes that a handle names, page by page."""
    content, uri = b"", handle["artefact"]
    while uri:
        page = await gate.result(uri)
        content += page.content
        uri = page.next
    return content
