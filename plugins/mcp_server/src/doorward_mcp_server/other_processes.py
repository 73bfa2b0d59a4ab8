"""Calls that another process of the same state folder has suspended: what the client answers is handed on to it, and
its result back to the client. So a balancer may send each request to any of them.

Each listens at a socket beside the file that says that it lives, in a folder of this user alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
from doorward.serving import Process
from pydantic_core import from_json, to_json

_LENGTH = struct.Struct(">I")


class OtherProcesses:
    """Hands answers on to others, and takes those from others: `answer` gets them, and returns a result as JSON."""

    def __init__(self, process: Process, answer: Callable[..., Awaitable[bytes]]) -> None:
        self.process, self._answer = process, answer
        self._server: asyncio.Server | None = None

    async def listen(self) -> None:
        """Take answers from others, from now on; where the system has no such sockets, there are none."""
        if self._server is None:
            with (
                contextlib.suppress(OSError, AttributeError),
                socket_path(self.process.folder, f"{self.process.id}.sock") as path,
            ):
                self._server = await asyncio.start_unix_server(self._serve, path)

    async def hand_on(self, id: str, **answers: Any) -> Mapping[str, Any] | None:
        """The result of the process of this id; `None` if it cannot be reached, or ends meanwhile. If the request is
        cancelled, the work over there ends."""
        try:
            with socket_path(self.process.folder, f"{id}.sock") as path:
                reader, writer = await asyncio.open_unix_connection(path)
        except (OSError, AttributeError):
            return None
        try:
            await _write(writer, to_json(answers))
            result: Mapping[str, Any] = from_json(await _read(reader))
            return result
        except (OSError, EOFError):
            return None
        finally:
            writer.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            with contextlib.suppress(OSError):
                (self.process.folder / f"{self.process.id}.sock").unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError), contextlib.closing(writer):
            work = asyncio.ensure_future(self._answer(**from_json(await _read(reader))))
            left = asyncio.ensure_future(reader.read(1))
            try:
                await asyncio.wait([work, left], return_when=asyncio.FIRST_COMPLETED)
                if work.done() and not work.cancelled():
                    await _write(writer, work.result())
            finally:
                left.cancel()
                work.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait([work, left])


@contextlib.contextmanager
def socket_path(folder: Path, name: str) -> Iterator[str]:
    """The path of a socket in a folder, short enough wherever the folder is, where the system allows that."""
    number = os.open(folder, os.O_RDONLY)
    try:
        short = f"/proc/self/fd/{number}"
        yield f"{short if os.path.exists(short) else folder}/{name}"
    finally:
        os.close(number)


async def _write(writer: asyncio.StreamWriter, content: bytes) -> None:
    writer.write(_LENGTH.pack(len(content)) + content)
    await writer.drain()


async def _read(reader: asyncio.StreamReader) -> bytes:
    """Raises: EOFError if the other is gone."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return await reader.readexactly(length)
