"""One HTTP exchange by the engine of `doorward_http`: the headers of every request, credentials, the content coding of
an answer."""

from __future__ import annotations

from collections.abc import Mapping
from email.message import Message
from functools import cache, lru_cache

import httpx2
from doorward_http import ACCEPTED_CODINGS, AnswerStream, GuardedTransport, HttpAnswer

_AGENT = "doorward-openapi/0.1.0"
_MAX_KNOWN_CHARACTERS = 200
"""Longer media types are not remembered."""

Headers = list[tuple[bytes, bytes]]


@cache
def usual_headers() -> dict[str, tuple[bytes, bytes]]:
    """What httpx2 sends with each request, by the name in small letters; `Accept-Encoding` names what it unpacks."""
    client = httpx2.AsyncClient(headers={"User-Agent": _AGENT}, transport=httpx2.MockTransport(_never), trust_env=False)
    found = {name.lower().decode(): (name, value) for name, value in client.headers.raw}
    return {**found, "accept-encoding": (b"Accept-Encoding", ACCEPTED_CODINGS)}


def _never(request: httpx2.Request) -> httpx2.Response:
    raise AssertionError("this client sends nothing")


def with_usual(given: Mapping[str, bytes]) -> Headers:
    """The headers of a request: those that are given, and the usual ones that they do not replace."""
    replaced = {name.lower() for name in given}
    usual = [pair for name, pair in usual_headers().items() if name not in replaced]
    return [*usual, *((name.encode(), value) for name, value in given.items())]


def by_name(headers: Headers) -> dict[str, str]:
    """The headers of an answer by their names in small letters; several of one name are joined."""
    found: dict[str, list[str]] = {}
    for raw_name, raw in headers:
        name = raw_name.decode("latin-1").lower()
        try:
            value = raw.decode()
        except UnicodeDecodeError:
            value = raw.decode("latin-1")
        found.setdefault(name, []).append(value)
    return {name: ", ".join(values) for name, values in found.items()}


def charset(media: str) -> str | None:
    """The charset that a Content-Type header names, in small letters."""
    if "charset" not in media and "charset" not in media.lower():
        return None
    return _charset(media) if len(media) > _MAX_KNOWN_CHARACTERS else _known_charset(media)


def _charset(media: str) -> str | None:
    message = Message()
    message["content-type"] = media
    return message.get_content_charset(failobj=None)


_known_charset = lru_cache(maxsize=64)(_charset)


def left_packed(headers: Mapping[str, str]) -> str:
    """The content coding of an answer that was not unpacked; "" if there is none."""
    coding = headers.get("content-encoding", "").strip().lower()
    return "" if coding == "identity" else coding


async def authenticated(transport: GuardedTransport, auth: httpx2.Auth, request: httpx2.Request) -> HttpAnswer:
    """Send what the flow of `auth` makes of a request, and show it each answer, until it wants nothing more.

    Returns: the last answer, unpacked.
    """
    response = await _shown(transport, auth, request)
    stream = response.stream
    unread = isinstance(stream, AnswerStream) and not response.is_stream_consumed
    return stream.answer if isinstance(stream, AnswerStream) and unread else _Read(response)


class _Read(HttpAnswer):
    """The answer of a response that an auth has read, or has made."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(
            response.status_code, response.reason_phrase.encode("ascii", "ignore"), response.headers.raw, b"HTTP/1.1"
        )
        self._response, self._parts = response, response.aiter_bytes()

    async def read(self) -> bytes:
        return await anext(self._parts, b"")

    async def aclose(self) -> None:
        await self._response.aclose()


async def _shown(transport: GuardedTransport, auth: httpx2.Auth, request: httpx2.Request) -> httpx2.Response:
    flow = auth.async_auth_flow(request)
    try:
        request = await anext(flow)
        while True:
            response = await transport.handle_async_request(request)
            response.request = request
            try:
                try:
                    request = await flow.asend(response)
                except StopAsyncIteration:
                    return response
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
    finally:
        await flow.aclose()
