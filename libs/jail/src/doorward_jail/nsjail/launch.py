"""One nsjail process: started with a socket as its standard input and output, and ended with everything inside it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

_STDERR_TAIL_BYTES = 4096
"""How much of the standard error of nsjail and the jail is kept for error messages."""
_GRACE_SECONDS = 2.0
"""How long nsjail has to end its jail before it is killed itself."""
_NOISE = b"in the global user namespace"
"""nsjail warns that root's jail maps root. That is intended, and over as soon as the zygote runs."""


class Jail:
    """An nsjail process. `socket` is the other end of its standard input and output."""

    def __init__(self, process: asyncio.subprocess.Process, end: socket.socket) -> None:
        self.socket = end
        self._process = process
        self._said = b""
        self._listening = asyncio.ensure_future(self._listen())

    @property
    def pid(self) -> int:
        return self._process.pid

    def said(self) -> str:
        """The end of what nsjail, and Python inside it, wrote to standard error."""
        lines = self._said.decode(errors="replace").splitlines()
        return "\n".join(line for line in lines if _NOISE.decode() not in line)

    async def ended(self) -> int:
        """Wait until it has ended and its standard error is read. Returns: its exit status."""
        status = await self._process.wait()
        await asyncio.wait([self._listening], timeout=_GRACE_SECONDS)
        return status

    async def kill(self) -> None:
        """End the jail. On SIGTERM nsjail kills the first process of the jail, upon which the kernel ends all others,
        and waits for it. Idempotent."""
        for end in (self._process.terminate, self._process.kill):
            with contextlib.suppress(ProcessLookupError):
                end()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _GRACE_SECONDS)
                break
        await asyncio.wait([self._listening], timeout=_GRACE_SECONDS)
        # What else holds the pipe of its standard error would keep our end open, for Python to complain of at its exit.
        self._process._transport.close()  # type: ignore[attr-defined]

    async def _listen(self) -> None:
        assert self._process.stderr
        while some := await self._process.stderr.read(_STDERR_TAIL_BYTES):
            self._said = (self._said + some)[-_STDERR_TAIL_BYTES:]


async def launch(nsjail: Path, config: str, command: Sequence[str]) -> Jail:
    """Start a jail. It gets no environment variable and no file descriptor but its socket and the pipe of its standard
    error.

    Raises: OSError if nsjail is no program.
    """
    ours, its = socket.socketpair()
    with its, _file(config) as descriptor:
        try:
            process = await asyncio.create_subprocess_exec(
                *(str(nsjail), "--config", f"/proc/self/fd/{descriptor}", "--", *command),
                stdin=its.fileno(),
                stdout=its.fileno(),
                stderr=asyncio.subprocess.PIPE,
                env={},
                pass_fds=[descriptor],
                start_new_session=True,  # Ctrl-C is handled by the gateway
            )
        except BaseException:
            ours.close()
            raise
    return Jail(process, ours)


@contextlib.contextmanager
def _file(text: str) -> Iterator[int]:
    """A file in memory, of which nothing is left, whatever happens."""
    descriptor = os.memfd_create("jail.cfg")
    try:
        os.write(descriptor, text.encode())
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
