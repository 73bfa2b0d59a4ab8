"""Answers of HTTP/1.1 in pieces of any size, and what is no answer at all."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from doorward_http import HttpEngine, connections
from hypothesis import example, given
from hypothesis import strategies as st

ANSWERS = [
    b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n",
    b"HTTP/1.1 100 Go on\r\nE: f\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nA:\r\n b\r\nContent-Length: 2\r\n\r\nok",
    b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nA: \xff\r\n\r\nto the end",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc",
]


class Anywhere:
    async def addresses(self, host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async def by_proxy(self, host: str, port: int) -> None:
        pass


class Pieces(connections.Stream):
    """A connection on which these pieces come, and then its end, or nothing more."""

    def __init__(self, pieces: list[bytes], *, ends: bool) -> None:
        super().__init__()
        self.pieces, self.ends = [piece for piece in pieces if piece], ends

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if not self._received and self.pieces:
            self.data_received(self.pieces.pop(0))
        if not self._received and not self.ends:
            raise httpx2.ReadTimeout("nothing more comes")
        self._ended = self.ends and not self.pieces
        return await super().read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        pass

    def get_extra_info(self, info: str) -> Any:
        return (info == "is_readable" and bool(self.pieces)) or super().get_extra_info(info)


def told(pieces: list[bytes], method: str = "GET", *, ends: bool = False) -> dict[str, Any]:
    """What an engine says of an answer that comes in these pieces; whether it is whole, and what became of its
    connection."""

    async def ask() -> dict[str, Any]:
        engine, stream = HttpEngine(Anywhere()), Pieces(pieces, ends=ends)

        async def connect(self: Any, *_: Any, **how: Any) -> Pieces:
            return stream

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(connections.Network, "connect_tcp", connect)
            try:
                answer = await engine.send(method, "http://a/", [])
            except httpx2.TransportError:
                return {"broken": True}
            said: dict[str, Any] = {"status": answer.status, "headers": answer.headers, "reason": answer.reason}
            content = b""
            try:
                while part := await answer.read():
                    content += part
                said["whole"] = True
            except httpx2.TransportError:
                said["whole"] = False
            await answer.aclose()
            kept = [each for each in engine._pools["http", None]._open if not each.has_expired()]
        return {"broken": False, "content": content, "keeps": bool(kept), **said}

    return asyncio.run(ask())


@pytest.mark.slow
@given(st.sampled_from(ANSWERS), st.sampled_from(["GET", "HEAD"]), st.sets(st.integers(1, 120)))
@example(ANSWERS[5], "GET", set(range(1, 120)))
def test_an_answer_is_the_same_in_any_pieces(answer: bytes, method: str, cuts: set[int]) -> None:
    """Wherever the network cuts it: what is said, whether it is whole, and whether the connection may be used again."""
    at = [0, *sorted(cut for cut in cuts if cut < len(answer)), len(answer)]
    pieces = [answer[start:end] for start, end in pairwise(at)]
    for ends in (False, True):
        assert told(pieces, method, ends=ends) == told([answer], method, ends=ends)


@pytest.mark.slow
@given(st.lists(st.binary(max_size=60) | st.sampled_from(ANSWERS), max_size=6), st.binary(max_size=20))
def test_anything_else_is_an_error_of_transport(pieces: list[bytes], start: bytes) -> None:
    """No bytes raise anything else, and nothing is added to an answer that is whole."""
    for first in (start, b"HTTP/1.1 200 OK\r\n" + start):
        told([first, *pieces], ends=True)
    said = told([ANSWERS[0], *pieces])
    assert said["content"] == b"hello"
    assert said["whole"]
    assert said["keeps"] is not any(pieces)


@pytest.mark.parametrize("header", [b"A: \0", b"A : b"])
def test_a_faulty_head_begins_no_answer(header: bytes) -> None:
    """Not even one that is whole otherwise."""
    assert told([b"HTTP/1.1 200 OK\r\n" + header + b"\r\nContent-Length: 2\r\n\r\nok"]) == {"broken": True}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_end_of_the_connection_ends_only_what_has_no_length(method: str) -> None:
    """Else a part of an answer could be taken for the whole."""
    for head, ends in (
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", False),
    ):
        said = told([head], method, ends=True)
        assert said["whole"] is (ends or method == "HEAD")
        assert not said["keeps"] or method == "HEAD"
    for head in (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", b"HTTP/1.1 100 Go on\r\n\r\n", b""):
        assert told([head], method, ends=True) == {"broken": True}


@pytest.mark.parametrize("more", [b"5", b"5\r\n", b"5;a=b\r\nhe", b"5\r\nhello\r\n0\r\n\r\n", b"hello"])
@pytest.mark.parametrize("framing", [b"Transfer-Encoding: chunked", b"Content-Length: 5"])
def test_content_after_an_answer_to_head_ends_the_connection(framing: bytes, more: bytes) -> None:
    """The rest of it would be read as the answer to the next request."""
    head = b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n"
    for pieces in ([head + more], [head, more]):
        said = told(pieces, "HEAD")
        assert said["whole"]
        assert said["content"] == b""
        assert not said["keeps"]
    assert told([head], "HEAD")["keeps"]
