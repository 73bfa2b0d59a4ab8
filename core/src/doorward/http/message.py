"""Requests and answers of HTTP/1.1 as bytes. Answers are parsed by llhttp, the parser of Node.js (`httptools`)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterable
from dataclasses import dataclass

import httptools
import httpx2

Headers = list[tuple[bytes, bytes]]
Content = bytes | AsyncIterable[bytes]

MAX_HEAD_BYTES = 192 * 2**10
"""How much may come before an answer's head is complete, what it says beforehand (1xx) included; and how much may come
that is neither head nor content: extensions of a chunk, trailers."""

_EARLY = (100, 102, 103)
"""Statuses that come before the answer itself."""
_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_METHOD = re.compile(_TOKEN)
_LINE = re.compile(_TOKEN + rb": (?:[^\x00\s](?:[^\x00\r\n\f\v]*[^\x00\s])?)?")
_TARGET = re.compile(rb"[!-~]+")
_WITH_LENGTH = ("POST", "PUT", "PATCH")
"""Methods whose requests say that there is no content."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request. `length` is the number of its content's bytes; `None`: it is sent in chunks."""

    method: str
    target: bytes
    headers: Headers
    content: Content
    length: int | None

    @classmethod
    def of(cls, method: str, target: bytes, host: bytes, headers: Headers, content: Content) -> Outgoing:
        """The request with what it lacks of `Host` and the length of its content.

        Raises: httpx2.LocalProtocolError if headers contradict each other or the content, so that the server could
        take a part of the request for another one.
        """
        hosts, lengths, codings = [], [], []
        for name, value in headers:
            size = len(name)
            if size == 4 and name.lower() == b"host":
                hosts.append(value)
            elif size == 14 and name.lower() == b"content-length":
                lengths.append(value)
            elif size == 17 and name.lower() == b"transfer-encoding":
                codings.append(value.lower())
        if not hosts:
            headers = [(b"Host", host), *headers]
        if len(hosts) > 1 or len(lengths) + len(codings) > 1 or codings not in ([], [b"chunked"]):
            raise httpx2.LocalProtocolError("Host, Content-Length and Transfer-Encoding contradict each other")
        if codings:
            return cls(method, target, headers, content, None)
        known = len(content) if isinstance(content, bytes) else None
        if lengths:
            length = int(lengths[0]) if lengths[0].isdigit() and len(lengths[0]) < 20 else -1
            if length < 0 or known not in (None, length):
                raise httpx2.LocalProtocolError("the content has not the length that its header says")
            return cls(method, target, headers, content, length)
        if known is None:
            return cls(method, target, [*headers, (b"Transfer-Encoding", b"chunked")], content, None)
        if known or method in _WITH_LENGTH:
            headers = [*headers, (b"Content-Length", b"%d" % known)]
        return cls(method, target, headers, content, known)

    def head(self) -> bytes:
        """The lines before the content. Raises: httpx2.LocalProtocolError if one of them would be no single line."""
        method = self.method.encode()
        if not _METHOD.fullmatch(method) or not _TARGET.fullmatch(self.target):
            raise httpx2.LocalProtocolError("the method or the URL cannot be sent")
        lines = [b"%b %b HTTP/1.1" % (method, self.target)]
        for header in self.headers:
            line = b"%b: %b" % header
            if not _LINE.fullmatch(line):
                raise httpx2.LocalProtocolError("a header holds what cannot be sent")  # its text may be a credential
            lines.append(line)
        return b"\r\n".join([*lines, b"", b""])


class Incoming:
    """The answer to one request as it comes; the parser calls `on_…`."""

    __slots__ = (
        *("_bare", "_framed", "_parser", "error", "fault", "has_head", "headers", "keeps", "parts", "reason", "status"),
        *("unread", "waiter", "whole"),
    )

    def __init__(self, method: str) -> None:
        self.status, self.reason = 0, b""
        self.headers: Headers = []
        self.parts: list[bytes] = []
        self.unread = 0
        """Bytes in `parts`, which the reader takes out."""
        self.has_head = self.whole = False
        self.keeps = True
        """Whether the connection may carry another exchange."""
        self.fault = ""
        self.error: httpx2.TransportError | None = None
        self.waiter: asyncio.Future[None] | None = None
        self._bare = method == "HEAD"
        self._framed = False
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        # As lenient as h11, with which it shares the work: what servers do send, though they should not.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    def fail(self, error: httpx2.TransportError) -> None:
        """No more will come. The first error counts."""
        self.error = self.error or error
        self._parser = None

    def wake(self) -> None:
        """Let who waits look again."""
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    def feed(self, data: bytes) -> None:
        """Take what came. Anything after the whole answer was not asked for: it is dropped, and the connection with it,
        lest it is taken for the answer to a later request."""
        if self._parser is None:
            self.keeps = False
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self.whole:
                self.keeps = False
            else:
                self.fault = self.fault or f"what came is no answer of HTTP/1.1: {error}"
        if self._bare and self.whole and len(data) > 2 and not data.endswith((b"\n\r\n", b"\n\n")):
            self.keeps = False  # content has begun, of which the parser does not tell before a chunk's size is there
        if self.whole or self.fault:
            self._parser = None  # it holds this object, too

    def end(self) -> bool:
        """The connection has ended in good order. Returns: whether that is where the answer ends."""
        self.whole = self.has_head and not self._framed
        self._parser = None
        return self.whole

    def on_message_begin(self) -> None:
        self._check_wanted()

    def on_status(self, text: bytes) -> None:
        self.reason += text

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.has_head:  # trailers are left out
            self.headers.append((name, value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 200:
            if status not in _EARLY:
                self.fault = f"the status {status} was not asked for"
            return
        sized = chunked = False
        for name, value in self.headers:
            if b"\0" in value or name.endswith(b" "):
                self.fault = "a header holds what none may hold"
            size = len(name)
            if size == 14 and name.lower() == b"content-length":
                sized = True
            elif size == 17 and name.lower() == b"transfer-encoding":
                chunked = value.lower().endswith(b"chunked")
        if self.fault:
            return
        self._framed = sized or chunked
        # RFC 9112 section 6.3: with both, somebody between may have understood it otherwise.
        self.keeps = self._parser.should_keep_alive() and not (sized and chunked)
        self.status, self.has_head = status, True
        self.whole = self._bare

    def on_body(self, part: bytes) -> None:
        self._check_wanted()
        self.parts.append(part)
        self.unread += len(part)

    def on_message_complete(self) -> None:
        if self.has_head:
            self.whole = True
        else:
            self.headers, self.reason = [], b""

    def _check_wanted(self) -> None:
        if self.whole:
            raise ValueError("this was not asked for")
