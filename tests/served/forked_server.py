"""Has imported what the command line needs, and forks a process for each `forked_command.py` that connects."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

from doorward_cli import main

SCRIPT = "--script"
"""What follows it is no command, but a file of Python and its arguments."""

GROUPS = ("doorward.command", "doorward.source", "doorward.executor", "doorward.auth", "doorward.cache")
SERVED = (
    "doorward_audit_jsonl",
    "doorward_guard_ast",
    "doorward_mcp_server.transports",
    "doorward_mcp_server.stdio",
    "doorward_mcp_server.http.endpoint",
    "uvicorn.lifespan.on",
    "uvicorn.protocols.http.h11_impl",
)


def become(words: list[str], environ: dict[str, str], folder: str, streams: list[int]) -> None:
    """Be the process of a command, up to its SystemExit: as its process does, ours then waits for its threads."""
    os.setsid()
    for stream, taken in enumerate(streams):
        os.dup2(taken, stream)
        os.close(taken)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  # ours may have been files, and seekable
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[:1] = [folder, *filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))]
    tempfile.tempdir = None
    if words[0] == SCRIPT:
        sys.argv = words[1:]
        runpy.run_path(words[1], run_name="__main__")
    else:
        sys.argv = ["doorward", *words]
        main(words)
    sys.exit()


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
                asked = json.loads(file.read(int.from_bytes(head, "big")))
        except (OSError, ValueError):  # it was killed
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


def warm() -> None:
    names = [entry.module for group in GROUPS for entry in entry_points(group=group)]
    for name in (*names, *SERVED):
        with contextlib.suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    warm()
    Forks(sys.argv[1]).serve()
