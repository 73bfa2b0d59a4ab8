"""The content of answers, unpacked in small steps: a few bytes may become any number of them, or of steps that lead to
none, and others wait for the event loop meanwhile."""

from __future__ import annotations

import contextlib
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import anyio.lowlevel
import httpx2

from doorward_http.answer import Headers, HttpAnswer

MAX_FRAMES = 1000
"""Frames of zstd, or members of gzip, in one answer. Each takes a while, even if it is empty."""

_PIECE_BYTES = 16 * 2**10
_STEP_BYTES = 256 * 2**10
_WINDOW_LOG = 23
"""A window of 8 MiB, the most that this coding may want in HTTP (RFC 9659)."""
_GZIP = b"\x1f\x8b"
_GZIPS = ("gzip", "x-gzip")


ACCEPTED_CODINGS = b"gzip, deflate, zstd"
"""What `Accept-Encoding` says: the codings that are unpacked."""


def content_codings(headers: Headers) -> list[str]:
    """The codings of a content, in the order in which they were applied."""
    named = [value.decode("latin-1").lower() for name, value in headers if name.lower() == b"content-encoding"]
    every = [each.strip() for value in named for each in value.split(",")]
    return [each for each in every if each not in ("", "identity")]


def unpacked(answer: HttpAnswer) -> HttpAnswer:
    """The answer with its content unpacked, if its coding is one of `ACCEPTED_CODINGS`; else as it is. To read it
    raises httpx2.DecodingError for a content that is damaged, cut off, or packed more than once: it could grow by a
    factor of a million."""
    if not any(len(name) == 16 and name.lower() == b"content-encoding" for name, _ in answer.headers):
        return answer
    codings = content_codings(answer.headers)
    if len(codings) == 1 and _decompressor(codings[0]) is None:
        return answer
    return _Unpacked(answer, codings) if codings else answer


def unpack(data: bytes, coding: str, most: int, *, window_log: int = _WINDOW_LOG) -> bytes:
    """A whole content, unpacked; a part of it that is longer than `most` bytes if it has more. Raises:
    httpx2.DecodingError."""
    content = _Content(coding, window_log)
    content.feed(data)
    parts, size = [], 0
    with _errors():
        while not content.is_hungry and size <= most:
            parts.append(part := content.step())
            size += len(part)
        if size <= most:
            content.end()
    return b"".join(parts)


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except httpx2.DecodingError:
        raise
    except Exception as error:  # zlib.error, ZstdError
        raise httpx2.DecodingError(str(error)) from None


class _Unpacked(HttpAnswer):
    def __init__(self, answer: HttpAnswer, codings: list[str]) -> None:
        headers = [each for each in answer.headers if each[0].lower() != b"content-encoding"]
        super().__init__(answer.status, answer.reason, headers, answer.version)
        self._answer, self._codings = answer, codings
        self._content = _Content(codings[0])
        self._begun = False

    async def read(self) -> bytes:
        if len(self._codings) > 1:
            raise httpx2.DecodingError("the content is packed more than once")
        while True:
            if self._begun:
                await anyio.lowlevel.checkpoint()
            self._begun = True
            if self._content.is_hungry:
                if not (more := await self._answer.read()):
                    self._content.end()
                    return b""
                self._content.feed(more)
            with _errors():
                if part := self._content.step():
                    return part

    async def aclose(self) -> None:
        await self._answer.aclose()


class _Content:
    """What has come of a content, frame by frame."""

    def __init__(self, coding: str, window_log: int = _WINDOW_LOG) -> None:
        self._coding, self._window_log = coding, window_log
        self._data, self._at, self._frames = b"", 0, 0
        self._frame: Any = None
        self._is_over = False

    @property
    def is_hungry(self) -> bool:
        """Whether no further step leads anywhere without more data."""
        return self._at >= len(self._data) and (self._frame is None or self._frame.needs_input)

    def feed(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def step(self) -> bytes:
        """A part of the content; b"" if there is none yet. Raises: httpx2.DecodingError; what the library raises."""
        if self._is_over:
            self._at = len(self._data)
            return b""
        if self._frame is None:
            self._begin()
        piece = self._data[self._at : self._at + _PIECE_BYTES] if self._frame.needs_input else b""
        part: bytes = self._frame.decompress(piece, _STEP_BYTES)
        self._at += len(piece)
        if self._frame.eof:
            self._at -= len(self._frame.unused_data)
            self._frame = None
            # What follows a member of gzip and is none is padding; zlib's format has one alone.
            rest = self._data[self._at : self._at + 2]
            self._is_over = self._coding == "deflate" or (self._coding in _GZIPS and rest != _GZIP[: len(rest)])
        return part

    def end(self) -> None:
        """Raises: httpx2.DecodingError if more should have come."""
        if self._frame is not None:
            raise httpx2.DecodingError("the content ends in the middle")

    def _begin(self) -> None:
        self._frames += 1
        if self._frames > MAX_FRAMES:
            raise httpx2.DecodingError("the content is packed in too many frames")
        if self._coding == "deflate" and self._data[self._at] & 0x0F != zlib.DEFLATED:
            self._frame = _Zlib(-zlib.MAX_WBITS)  # what many servers take the name for
        else:
            made = _decompressor(self._coding, self._window_log)
            assert made is not None
            self._frame = made()


class _Zlib:
    """zlib's decompressor, with the members of that of zstd."""

    def __init__(self, bits: int) -> None:
        self._inner = zlib.decompressobj(bits)
        self._left = b""
        self.needs_input = True

    def decompress(self, data: bytes, most: int) -> bytes:
        part = self._inner.decompress(self._left + data, most)
        self._left = self._inner.unconsumed_tail
        self.needs_input = not self._left and len(part) < most
        return part

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


def _decompressor(coding: str, window_log: int = _WINDOW_LOG) -> Callable[[], Any] | None:
    if coding in _GZIPS:
        return lambda: _Zlib(zlib.MAX_WBITS | 16)
    if coding == "deflate":
        return lambda: _Zlib(zlib.MAX_WBITS)
    if coding != "zstd":
        return None
    zstd = zstd_module()
    return lambda: zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: window_log})


def zstd_module() -> Any:
    """The module of PEP 784, which older Pythons have from a package."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
