"""Frames between a sandbox and its host: four bytes of length (big-endian), a line of JSON, and raw bytes if there are
any.

This module runs on both sides; inside a sandbox there is only the standard library of Python 3.9.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

HEADER = struct.Struct(">I")

MAX_UNREAD_BYTES = 256 * 2**20
"""A sandbox that leaves more bytes of answers unread is ended."""

Message = tuple[dict[str, Any], bytes]


class BadFrame(Exception):
    """Bytes that came are no frame, or a frame that is too large."""


def encode(message: dict[str, Any], blob: bytes = b"", default: Callable[[Any], Any] | None = None) -> bytes:
    """A message as a frame. Raises: TypeError, ValueError, RecursionError for values that JSON cannot express."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), default=default).encode("utf-8", "replace")
    body = text + b"\n" + blob if blob else text
    return HEADER.pack(len(body)) + body


def decode(body: bytes, loads: Callable[[bytes], Any] = json.loads) -> Message:
    """The message and the raw bytes of a frame's body. Raises: BadFrame."""
    end = body.find(b"\n")
    text, blob = (body, b"") if end < 0 else (body[:end], body[end + 1 :])
    try:
        message = loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadFrame(f"no JSON: {error}") from None
    if not isinstance(message, dict):
        raise BadFrame("no object")
    return message, blob


class Frames:
    """Takes bytes as they come, and gives the frames in them."""

    def __init__(self, most: int, loads: Callable[[bytes], Any] = json.loads) -> None:
        self._most = most
        self._loads = loads
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete with these bytes. Raises: BadFrame."""
        for body in self.bodies(data):
            yield decode(body, self._loads)

    def bodies(self, data: bytes) -> Iterator[bytes]:
        """The bodies of these messages, not decoded. Raises: BadFrame."""
        self._buffer += data
        while len(self._buffer) >= 4:
            (size,) = HEADER.unpack_from(self._buffer)
            if size > self._most:
                raise BadFrame(f"a frame of {size} bytes, more than {self._most}")
            if len(self._buffer) < 4 + size:
                return
            with memoryview(self._buffer) as buffer:
                body = bytes(buffer[4 : 4 + size])
            del self._buffer[: 4 + size]
            yield body
