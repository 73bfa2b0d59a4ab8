"""Answers of HTTP/1.1 in pieces of any size, and what is no answer at all."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from doorward.http.message import Incoming
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


def told(pieces: list[bytes], method: str) -> dict[str, Any]:
    """What an answer says that comes in these pieces."""
    incoming = Incoming(method)
    for piece in pieces:
        if not incoming.fault:
            incoming.feed(piece)
    broken = bool(incoming.fault)
    said = {"broken": broken, "whole": incoming.whole, "status": incoming.status, "keeps": incoming.keeps}
    said |= {"headers": incoming.headers, "reason": incoming.reason, "content": b"".join(incoming.parts)}
    return {"broken": True} if broken else said


@pytest.mark.slow
@given(st.sampled_from(ANSWERS), st.sampled_from(["GET", "HEAD"]), st.sets(st.integers(1, 120)))
@example(ANSWERS[5], "GET", set(range(1, 120)))
def test_an_answer_is_the_same_in_any_pieces(answer: bytes, method: str, cuts: set[int]) -> None:
    """Wherever the network cuts it: what is said, whether it is whole, and whether the connection may be used again."""
    at = [0, *sorted(cut for cut in cuts if cut < len(answer)), len(answer)]
    pieces = [answer[start:end] for start, end in pairwise(at)]
    assert told(pieces, method) == told([answer], method)


@pytest.mark.slow
@given(st.lists(st.binary(max_size=60) | st.sampled_from(ANSWERS), max_size=6), st.binary(max_size=20))
def test_anything_else_is_told_as_a_fault(pieces: list[bytes], start: bytes) -> None:
    """No bytes raise anything, and nothing is added to an answer that is whole."""
    for first in (start, b"HTTP/1.1 200 OK\r\n" + start, ANSWERS[0]):
        incoming = Incoming("GET")
        incoming.feed(first)
        had = [*incoming.parts] if incoming.whole else None
        for piece in pieces:
            incoming.feed(piece)
        if had is not None:
            assert incoming.parts == had
            assert not incoming.keeps or not any(pieces)


@pytest.mark.parametrize("header", [b"A: \0", b"A : b"])
def test_a_faulty_head_begins_no_answer(header: bytes) -> None:
    """Not even one that is whole otherwise."""
    incoming = Incoming("GET")
    incoming.feed(b"HTTP/1.1 200 OK\r\n" + header + b"\r\nContent-Length: 2\r\n\r\nok")
    assert incoming.fault
    assert not incoming.has_head
    assert not incoming.whole


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_end_of_the_connection_ends_only_what_has_no_length(method: str) -> None:
    """Else a part of an answer could be taken for the whole."""
    for head, ends in (
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", True),
        (b"HTTP/1.1 100 Go on\r\n\r\n", False),
        (b"", False),
    ):
        incoming = Incoming(method)
        incoming.feed(head)
        assert incoming.whole is (method == "HEAD" and b" 200 " in head)
        if not incoming.whole:
            assert incoming.end() is ends


@pytest.mark.parametrize("more", [b"5", b"5\r\n", b"5;a=b\r\nhe", b"5\r\nhello\r\n0\r\n\r\n", b"hello"])
@pytest.mark.parametrize("framing", [b"Transfer-Encoding: chunked", b"Content-Length: 5"])
def test_content_after_an_answer_to_head_ends_the_connection(framing: bytes, more: bytes) -> None:
    """The rest of it would be read as the answer to the next request."""
    head = b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n"
    incoming = Incoming("HEAD")
    incoming.feed(head + more)
    assert incoming.whole
    assert incoming.parts == []
    assert not incoming.keeps
    kept = Incoming("HEAD")
    kept.feed(head)
    assert kept.keeps
