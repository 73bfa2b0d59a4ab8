"""The HTTP client for one provider: to its address and nowhere else, bounded in size, within the limits that it tells,
with nothing sent that the library knows of this machine or reads from its environment."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from doorward import Call, Secret, ServerError
from doorward_http import GuardedTransport, NamedHosts, UpstreamLimits, retry_after

from doorward_llm.limits import common_words

MAX_RESPONSE_BYTES = 8 * 2**20
"""Size of one answer. The longest answer that a model writes has about half a megabyte."""

_SENT_HEADERS = ("accept", "content-length", "content-type", "host")
"""The headers of a request, besides our own. The library would add those of OPENAI_CUSTOM_HEADERS, the organisation
from the environment, and what it knows of the platform."""


class _Transport(GuardedTransport):
    """Reads no more than `MAX_RESPONSE_BYTES` of an answer."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise ServerError("the provider packed its answer, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream)
        return response


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MAX_RESPONSE_BYTES:
                raise ServerError(f"the provider answered with more than {MAX_RESPONSE_BYTES // 2**20} MiB")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Key(httpx2.Auth):
    """The key of the provider, revealed for each request, so that a rotated one is used."""

    def __init__(self, key: Secret) -> None:
        self._key = key

    async def async_auth_flow(self, request: httpx2.Request) -> Any:
        request.headers["authorization"] = f"Bearer {(await self._key.get()).strip()}"
        yield request


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request is for: a `call`, if one makes it, that may take so many `tokens`. Waiting for its turn does not
    count for the time of `scope`."""

    call: Call | None
    tokens: int
    scope: anyio.CancelScope


ASKED: ContextVar[Asked] = ContextVar("doorward_llm_asked")
"""The library hands nothing through to the client that it is given."""


class Client(httpx2.AsyncClient):
    """Sends the requests that the library makes, each in its turn, cleared of what nobody asked it to send."""

    def __init__(self, server: str, url: str, auth: httpx2.Auth | Secret | None) -> None:
        self._limits = UpstreamLimits(server)
        super().__init__(
            auth=_Key(auth) if isinstance(auth, Secret) else auth,
            follow_redirects=False,
            transport=_Transport(NamedHosts([url], "prompts")),
        )

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send it. An exchange that broke off is not repeated by the library: the provider may have done the work.

        Raises: ServerError for that; RateLimited; else what `httpx2` raises.
        """
        asked = ASKED.get()
        deadline, began = asked.scope.deadline, anyio.current_time()
        asked.scope.deadline = math.inf
        async with self._limits.turn(request.method, str(request.url), asked.call) as turn:
            asked.scope.deadline = deadline + anyio.current_time() - began
            response = await self._sent(request, **how)
            wait = retry_after(response.headers.get("retry-after", ""))
            if wait is not None and wait >= asked.scope.deadline - anyio.current_time():
                response.headers["x-should-retry"] = "false"  # the library would sleep until it is too late
            turn.answered(response.status_code, common_words(response.headers, asked.tokens))
            return response

    async def _sent(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        for name in [*request.headers]:
            if name.lower() not in _SENT_HEADERS:
                del request.headers[name]
        request.headers |= {"accept-encoding": "identity", "user-agent": "doorward-llm/0.1.0"}
        try:
            return await super().send(request, **how)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            raise
        except httpx2.RequestError:
            raise ServerError("the connection to the provider was lost", hint="Try again.") from None
