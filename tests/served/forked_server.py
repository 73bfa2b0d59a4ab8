"""Has imported what the command line needs, and forks a process for each `forked_command.py` that connects."""

from __future__ import annotations

import atexit
import contextlib
import gc
import itertools
import marshal
import os
import pkgutil
import re
import runpy
import selectors
import signal
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from doorward_cli import main

SCRIPT = "--script"
"""What follows it is no command, but a file of Python and its arguments."""

OTHERS = (
    "anyio._backends._asyncio",
    "anyio.streams.stapled",
    "anyio.streams.tls",
    "concurrent.futures.thread",
    "cryptography.x509",
    "encodings.utf_8_sig",
    "h2.connection",
    "httpcore2",
    "jsonschema_rs",
    "mcp.client.auth",
    "numpy",
    "pydantic_monty",
    "truststore",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.http.h11_impl",
    "xml.etree.ElementTree",
)
"""What Doorward and what it stands on import no sooner than it is used."""

UNWANTED = re.compile(r"doorward_(testing|demo)\b|\.(__main__$|inside\b)")
"""Modules of ours that no process of the product has, or that do something when they are imported."""


def become(words: list[str], environ: dict[bytes, bytes], folder: str, streams: list[int]) -> None:
    """Be the process of a command, up to its end."""
    os.setsid()
    for stream, taken in enumerate(streams):
        os.dup2(taken, stream)
        os.close(taken)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  # ours may have been files, and seekable
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in environ.items()})
    sys.path[:1] = [folder, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    tempfile.tempdir = None
    code: object = None
    try:
        if words[0] == SCRIPT:
            sys.argv = words[1:]
            runpy.run_path(words[1], run_name="__main__")
        else:
            sys.argv = ["doorward", *words]
            main(words)
    except SystemExit as ended:
        code = ended.code
    if code is None or isinstance(code, int):
        end(code or 0)
    sys.exit(str(code))


def end(code: int) -> NoReturn:
    """End as an interpreter does, but for taking apart each module: that takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


class Forks:
    """Listens, forks, and tells each command how its process has ended."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.selector = selectors.DefaultSelector()
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(address)
        self.listening.listen(512)
        self.selector.register(self.listening, selectors.EVENT_READ, self.fork)
        self.selector.register(sys.stdin, selectors.EVENT_READ, lambda: os._exit(0))

    def serve(self) -> NoReturn:
        print("ready", flush=True)
        while True:
            for key, _ in self.selector.select():
                act: Callable[[], object] = key.data
                if key.fd in self.selector.get_map():  # not if the one before it has ended this one
                    act()

    def fork(self) -> None:
        link, _ = self.listening.accept()
        try:
            head, streams, _, _ = socket.recv_fds(link, 8, 3)
            with link.makefile("rb") as file:
                asked = marshal.loads(file.read(int.from_bytes(head, "big")))
        except (OSError, ValueError, EOFError):  # it was killed
            link.close()
            return
        if (child := os.fork()) == 0:
            for key in [*self.selector.get_map().values()]:
                os.close(key.fileobj) if isinstance(key.fileobj, int) else key.fileobj.close()  # type: ignore[attr-defined]
            self.selector.close()
            link.close()
            become(**asked, streams=streams)
        for stream in streams:
            os.close(stream)
        ended = os.pidfd_open(child)
        command = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        Path(f"{self.address}.{command}").write_text(str(child))

        def tell() -> None:
            _, status = os.waitpid(child, 0)
            for file in (ended, link):
                self.selector.unregister(file)
            with contextlib.suppress(OSError):
                link.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
            os.close(ended)
            link.close()

        def kill() -> None:
            """The command was killed."""
            os.kill(child, signal.SIGKILL)
            tell()

        self.selector.register(ended, selectors.EVENT_READ, tell)
        self.selector.register(link, selectors.EVENT_READ, kill)
        with contextlib.suppress(OSError):
            link.sendall(b"%d\n" % child)


def ours(path: Iterable[str] | None = None, prefix: str = "doorward") -> Iterator[str]:
    """The modules of all distributions that are installed."""
    for found in pkgutil.iter_modules(path):
        name = found.name if path is None else prefix + found.name
        if name.startswith(prefix) and not UNWANTED.search(name):
            yield name
            if found.ispkg:
                yield from ours(sys.modules[name].__path__ if name in sys.modules else [], f"{name}.")


def warm() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy's threads would not be forked
    for name in itertools.chain(ours(), OTHERS):
        with contextlib.suppress(ImportError):  # of what is not installed
            import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    warm()
    Forks(sys.argv[1]).serve()
