"""The content of answers, unpacked: whole or not at all, whatever the server has packed, and in small steps."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import anyio.lowlevel
import httpx2
import pytest
from doorward_http import HttpAnswer, unpacked
from doorward_http.content_codings import MAX_FRAMES, zstd_module

pytestmark = pytest.mark.anyio

SAID = b"".join(b"%d bottles of beer\n" % number for number in range(40_000))


def _raw(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "X-GZip": gzip.compress, "deflate": zlib.compress, "deflate ": _raw, "zstd": zstd_module().compress,
}  # fmt: skip


class Sent(HttpAnswer):
    """An answer whose content comes in these pieces."""

    def __init__(self, coding: str, *pieces: bytes) -> None:
        super().__init__(200, b"OK", [(b"A", b"b"), (b"Content-Encoding", coding.encode())], b"HTTP/1.1")
        self.pieces = [*pieces]

    async def read(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""

    async def aclose(self) -> None: ...


async def whole(answer: HttpAnswer) -> bytes:
    parts = []
    while part := await answer.read():
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("size", [1000, 2**20])
@pytest.mark.parametrize("coding", PACKERS)
async def test_what_was_packed(coding: str, size: int) -> None:
    """In pieces of any size; an end in the middle is an error, and no content is none."""
    packed = PACKERS[coding](SAID)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    answer = unpacked(Sent(coding, *pieces))
    assert answer.headers == [(b"A", b"b")]
    assert await whole(answer) == SAID
    with pytest.raises(httpx2.DecodingError, match="ends in the middle"):
        await whole(unpacked(Sent(coding, packed[:-6])))
    with pytest.raises(httpx2.DecodingError):
        await whole(unpacked(Sent(coding, b"\xff" * 20)))
    assert await whole(unpacked(Sent(coding))) == b""


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_what_was_packed_in_parts(coding: str) -> None:
    """All of them are read, but not any number of them: each takes a while, even an empty one."""
    pack = PACKERS[coding]
    assert await whole(unpacked(Sent(coding, pack(b"a") + pack(b"b"), pack(b"c")))) == b"abc"
    with pytest.raises(httpx2.DecodingError, match="too many frames"):
        await whole(unpacked(Sent(coding, pack(b"") * (MAX_FRAMES + 1))))
    assert await whole(unpacked(Sent("gzip", gzip.compress(b"a") + b"\0" * 512))) == b"a", "padding"


async def test_what_is_packed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be a bomb: 17 KiB of empty frames of zstd in gzip took minutes. What is not known stays as it is."""
    for coding in ("gzip, gzip", "zstd,gzip", "foo, gzip"):
        with pytest.raises(httpx2.DecodingError, match="more than once"):
            await whole(unpacked(Sent(coding, gzip.compress(b"a"))))
    for coding in ("br", "identity", ""):
        answer = unpacked(Sent(coding, b"a"))
        assert (len(answer.headers), await whole(answer)) == (2, b"a")


async def test_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between steps, each of which takes and makes little."""
    turns = 0
    checkpoint = anyio.lowlevel.checkpoint

    async def counted() -> None:
        nonlocal turns
        turns += 1
        await checkpoint()

    monkeypatch.setattr(anyio.lowlevel, "checkpoint", counted)
    answer, most = unpacked(Sent("gzip", gzip.compress(bytes(10 * 2**20)))), 0
    while part := await answer.read():
        most = max(most, len(part))
    assert most <= 2**18
    assert turns >= 40
    nothing = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\0\0\0\xff\xff" * 100_000  # blocks without content
    turns = 0
    with pytest.raises(httpx2.DecodingError):
        await whole(unpacked(Sent("gzip", nothing)))
    assert turns >= 30
