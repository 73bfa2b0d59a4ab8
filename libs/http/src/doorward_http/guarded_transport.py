"""HTTP connections for plugins that use httpx2: pooled, HTTP/1.1 or 2, to checked addresses, through a proxy or a Unix
socket."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import cast

import httpx2

from doorward_http.answer import HttpAnswer
from doorward_http.content_codings import ACCEPTED_CODINGS, unpacked
from doorward_http.destinations import Destinations
from doorward_http.engine import Content, HttpEngine


class GuardedTransport(httpx2.AsyncBaseTransport):
    """A transport of httpx2 that sends by an `HttpEngine`, which see: only to allowed addresses. The content of answers
    is unpacked already, by us: in steps, and once."""

    def __init__(
        self,
        destinations: Destinations,
        by_socket: Callable[[str], str | None] = lambda url: None,
        *,
        http2: bool = False,
    ) -> None:
        self.engine = HttpEngine(destinations, by_socket, http2=http2)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self.engine.send(
            request.method,
            str(request.url),
            [_with_codings(each) for each in request.headers.raw],
            _content(request),
            request.extensions.get("timeout"),
        )
        if request.headers.get("accept-encoding") != "identity":  # who wants it as it is refuses all else
            answer = unpacked(answer)
        extensions = {"http_version": answer.version, "reason_phrase": answer.reason}
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=AnswerStream(answer), extensions=extensions
        )

    async def aclose(self) -> None:
        await self.engine.aclose()


class AnswerStream(httpx2.AsyncByteStream):
    """The content of an answer, for a response of httpx2."""

    def __init__(self, answer: HttpAnswer) -> None:
        self.answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while part := await self.answer.read():
            yield part

    async def aclose(self) -> None:
        await self.answer.aclose()


def _with_codings(header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """The header, without codings that httpx2 would unpack and we do not."""
    name, value = header
    is_it = len(name) == 15 and name.lower() == b"accept-encoding" and value != b"identity"
    return (name, ACCEPTED_CODINGS) if is_it else header


def _content(request: httpx2.Request) -> Content:
    try:
        return request.content
    except httpx2.RequestNotRead:
        return cast(AsyncIterable[bytes], request.stream)
