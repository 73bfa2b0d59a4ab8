"""Streamable HTTP, the usual transport to servers that are not started here.

The SDK's transport gives up the whole connection when one request fails, and says little about the reason. The client
below answers such a request with a JSON-RPC error in the server's place, so that only its caller is affected.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import re
import secrets
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
from doorward import DoorwardError, ServerContext
from doorward.values import aside, known_proxy, not_by_proxy
from doorward.values import status as words_of
from doorward_http import error_text, retry_after
from doorward_json import read_json
from mcp.client.streamable_http import streamable_http_client

from doorward_mcp_upstream.connections.exchanges import Exchange, Over
from doorward_mcp_upstream.connections.flow import MAX_EVENTS, Flow, StreamFlow
from doorward_mcp_upstream.connections.large_messages import SMALL_CHARACTERS, LargeMessages
from doorward_mcp_upstream.connections.pace import Pace
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.connections.troubles import Trouble
from doorward_mcp_upstream.connections.wire import MAX_MESSAGE_BYTES, Wire
from doorward_mcp_upstream.tools.values import too_many

_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)
_HANDSHAKE = re.compile(rb'"method": ?"(initialize|server/discover)"')
_MAX_HANDSHAKE_BYTES = 2**20
"""Largest answer of a server to the handshake."""
_CONNECT_SECONDS = 10.0
"""Seconds until a connection must be made. How long an answer may take is decided by the caller."""
_RELISTEN_SECONDS = 1.0
"""Seconds between two requests for a stream of events."""
_MAX_ERROR_BYTES = 2**17
"""Bytes of an error that are read if it is no JSON. Far more than is shown: the core removes credentials, then cuts."""
_GOODBYE_SECONDS = 2.0
"""Seconds for telling a server that its session ends."""
_EXCHANGE_HEADER = "doorward-exchange"
"""Header that says to `Client` for which exchange a request is. It is never sent."""
_ONE_WAY_SECONDS = 10.0
"""Seconds for sending what has no answer: notifications, and answers to questions of the server."""
_ONE_WAY_PATIENCE = 1.0
"""Seconds for which later messages wait for it."""
_MAX_ONE_WAY = 100
"""Such messages under way. A server that does not take them gets no more."""


@contextlib.asynccontextmanager
async def streamable(context: ServerContext[MCPSettings], pace: Pace) -> AsyncIterator[Wire]:
    """The wire of streamable HTTP. Raises: DoorwardError if the credentials fail."""
    url = context.settings.url
    assert url is not None  # else the server is a process
    async with (
        Client(context, pace) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as (read, write),
    ):
        yield Wire(read, write, whole=client.large.whole, exchange=client.exchange)


class Client(httpx2.AsyncClient):
    """An HTTP client that adds the configured headers and credentials. TLS is always verified. The SDK follows
    redirects, but only within the origin."""

    def __init__(self, context: ServerContext[MCPSettings], pace: Pace) -> None:
        settings, self._pace = context.settings, pace
        with known_proxy():
            super().__init__(
                headers={"User-Agent": "doorward-mcp-upstream/0.1.0", "Accept-Encoding": "gzip, deflate"},
                auth=context.auth(),
                follow_redirects=False,
                mounts=not_by_proxy(settings.url or ""),
                timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
            )
        self._name = context.name
        self._given = settings.headers
        self._listen_at = 0.0
        self.large = LargeMessages()
        self._flow = Flow()
        self._exchanges: dict[str, Exchange] = {}
        self._of_tasks: weakref.WeakKeyDictionary[Any, Exchange] = weakref.WeakKeyDictionary()
        self._one_way: set[asyncio.Task[httpx2.Response]] = set()

    async def __aexit__(self, *raised: Any) -> None:
        for task in self._one_way:
            task.cancel()
        await super().__aexit__(*raised)

    @contextlib.contextmanager
    def exchange(self) -> Iterator[dict[str, str]]:
        """A block for one call: what it has opened is closed at its end. Yields the headers for its request."""
        self._flow.call()
        key = secrets.token_hex(8)
        exchange = self._exchanges[key] = Exchange()
        try:
            yield {_EXCHANGE_HEADER: key}
        finally:
            del self._exchanges[key]
            exchange.end()

    def _exchange_of(self, request: httpx2.Request) -> Exchange | None:
        """The exchange to which a request belongs. Redirected and repeated requests come from the task of the first.

        Raises: Over.
        """
        task = asyncio.current_task()
        if (key := request.headers.pop(_EXCHANGE_HEADER, None)) is not None:
            if key not in self._exchanges:
                raise Over("its call is over")
            self._of_tasks[task] = self._exchanges[key]
        return self._of_tasks.get(task)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request; httpx calls this for each one."""
        if request.method == "DELETE":
            with anyio.fail_after(_GOODBYE_SECONDS):
                request.headers.update(await self._configured())
                response = await super().send(request, **{**options, "stream": True})
                await response.aclose()  # its answer does not matter, and may come slowly
                return httpx2.Response(response.status_code, request=request)
        await request.aread()  # one that was redirected is a stream
        try:
            exchange = self._exchange_of(request)
            if request.method == "POST" and exchange is None and (method := _one_way(request)) is not None:
                return await self._send_one_way(request, method, options)
            step = functools.partial(self._post if request.method == "POST" else self._get, request, exchange, options)
            return await (exchange.run(step) if exchange else step())
        except Over as over:
            return self._instead(request, Trouble(str(over)))

    async def _get(self, request: httpx2.Request, exchange: Exchange | None, options: Any) -> httpx2.Response:
        # A server may want the stream to be opened again at once, for ever.
        await anyio.sleep(max(0.0, self._listen_at - anyio.current_time()))
        self._listen_at = anyio.current_time() + _RELISTEN_SECONDS
        request.headers.update(await self._configured())
        return self._bounded(self._once_encoded(await super().send(request, **options)), exchange)

    async def _post(self, request: httpx2.Request, exchange: Exchange | None, options: Any) -> httpx2.Response:
        """The answer to a request, or an error in its place: an exception would end the session of all calls."""
        try:
            request.headers.update(await self._configured())
            response = await super().send(request, **options)
            self._pace.heard(response.status_code, response.headers)
            answer = self._bounded(await self._answer(self._once_encoded(response)), exchange)
            answer.aclose = functools.partial(_quietly, answer.aclose)  # type: ignore[method-assign]
            return answer
        except Trouble as trouble:
            return self._instead(request, trouble)
        except DoorwardError as error:  # the credentials failed
            return self._instead(request, Trouble(error.message, error.hint or "", sent=False))
        except Exception as error:
            return self._instead(request, unreachable(error, request.url))

    async def _send_one_way(self, request: httpx2.Request, method: str, options: Any) -> httpx2.Response:
        """Send what has no answer. The SDK sends such messages, and every later request, one after the other: none
        waits long for a server that does not take them."""
        nothing = httpx2.Response(202, request=request)
        if len(self._one_way) >= _MAX_ONE_WAY:
            return nothing
        task = asyncio.create_task(self._deliver(request, options))
        patience = 0.0 if self._one_way else _ONE_WAY_PATIENCE
        self._one_way.add(task)
        task.add_done_callback(self._one_way.discard)
        await asyncio.wait([task], timeout=_ONE_WAY_SECONDS if method == "notifications/initialized" else patience)
        return task.result() if task.done() and not task.cancelled() else nothing

    async def _deliver(self, request: httpx2.Request, options: Any) -> httpx2.Response:
        with anyio.move_on_after(_ONE_WAY_SECONDS):
            response = await self._post(request, None, {**options, "stream": True})
            await response.aclose()
            taken = httpx2.Response(response.status_code, request=request)
            taken.next_request = response.next_request
            return taken
        return httpx2.Response(202, request=request)

    def _once_encoded(self, response: httpx2.Response) -> httpx2.Response:
        """Raises: httpx2.DecodingError for a bomb: compressed twice, an answer can grow by a factor of a million, and
        one of zstd can have any number of frames, each of which takes a while."""
        if response.headers.get("content-encoding", "").strip().lower() not in ("", "identity", "gzip", "deflate"):
            told = "its answer is compressed more than once, or in a way that it was not asked for"
            raise httpx2.DecodingError(told, request=response.request)
        return response

    def _bounded(self, response: httpx2.Response, exchange: Exchange | None) -> httpx2.Response:
        """The response; if it is a stream of events, then one that ends with its call, is read no faster than others
        can bear, and has notes in place of large results. It ends with an error at an event that is not valid."""
        if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            response.encoding = "utf-8"  # whatever is said (HTML Standard, 9.2.5)
            flow = StreamFlow(self._flow, MAX_EVENTS if response.request.method == "POST" else None)
            texts = functools.partial(self.large.events, response.aiter_text, flow)
            response.aiter_text = functools.partial(_texts, texts, exchange)  # type: ignore[method-assign]
        return response

    async def _configured(self) -> dict[str, str]:
        return {name: (await value.get()).strip() for name, value in self._given.items()}

    async def _answer(self, response: httpx2.Response) -> httpx2.Response:
        """The answer in a form that the SDK's transport can take.

        Raises: Trouble if there is none.
        """
        media = response.headers.get("content-type", "").lower()
        if response.next_request is not None:  # the SDK would read all that comes with it
            await response.aclose()
            redirect = httpx2.Response(response.status_code, request=response.request)
            redirect.next_request = response.next_request
            return redirect
        if response.is_redirect or (response.status_code < 400 and not media.startswith("application/json")):
            return response
        try:
            content = await _body(response, StreamFlow(self._flow, None))
        finally:
            await response.aclose()
        if response.status_code >= 400:
            return self._instead(response.request, *await self._refused(response, content))
        if len(content) > SMALL_CHARACTERS and not _HANDSHAKE.search(response.request.content[:200]):
            content = (await self.large.noted(content)).encode()
        elif len(content) > _MAX_HANDSHAKE_BYTES:
            raise Trouble(f"it says of itself more than {_MAX_HANDSHAKE_BYTES} bytes", sent=False)
        kept = {name: value for name, value in response.headers.items() if name in ("content-type", "mcp-session-id")}
        return httpx2.Response(response.status_code, headers=kept, content=content, request=response.request)

    async def _refused(self, response: httpx2.Response, content: bytes) -> tuple[Trouble, Any, str, Any]:
        """The trouble behind an answer of 400 or above, and the JSON-RPC error that it may hold:
        code, message, data."""
        error, told = await aside(functools.partial(_error_in, content), len(content))
        with_session = "mcp-session-id" in response.request.headers
        said = str(error.get("message") or "")
        trouble = refused(self._name, response, told, with_session=with_session, of_session="session" in said.lower())
        return trouble, error.get("code"), said, error.get("data")

    def _instead(
        self, request: httpx2.Request, trouble: Trouble, code: Any = None, said: str = "", data: Any = None
    ) -> httpx2.Response:
        """A response with a JSON-RPC error in the server's place; with a `code`, it is the server's own error."""
        error = trouble.as_error(code, said, data) if type(code) is int else trouble.as_error(data=data)
        content = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        return httpx2.Response(
            trouble.status or 503, headers={"content-type": "application/json"}, content=content, request=request
        )


def _one_way(request: httpx2.Request) -> str | None:
    """The method of a notification, empty for an answer; `None` for a request, which will be answered. The SDK's own
    requests are small."""
    if len(request.content) > SMALL_CHARACTERS:
        return ""
    message = json.loads(request.content)
    return None if {"id", "method"} <= message.keys() else message.get("method", "")


async def _quietly(close: Callable[[], Awaitable[None]]) -> None:
    with contextlib.suppress(Exception):  # the SDK would end the session
        await close()


def _texts(texts: Callable[[], AsyncIterator[str]], exchange: Exchange | None) -> AsyncIterator[str]:
    return exchange.texts(texts()) if exchange else texts()


def unreachable(error: Exception, url: httpx2.URL | str) -> Trouble:
    """The trouble of a request without an answer."""
    why = str(error) or type(error).__name__
    place = httpx2.URL(url).copy_with(query=None)
    return Trouble(
        f"{place} cannot be reached: {why}",
        "Check `url`, and that it runs.",
        not isinstance(error, _NEVER_SENT),
        passing=True,
    )


def refused(
    server: str, response: httpx2.Response, told: str = "", *, with_session: bool = False, of_session: bool = False
) -> Trouble:
    """The trouble of a request that was answered with 400 or above. `told` is the text of the answer; `with_session` is
    whether the request belonged to a session, and `of_session` whether the answer mentions sessions."""
    status = response.status_code
    message = f"HTTP {words_of(status)}" + (f": {told}" if told else "")
    if status == 401:
        oauth2 = '{ type = "oauth2" }'
        hint = f"Set auth of [servers.{server}]; for OAuth that is {oauth2}, and then `doorward login {server}`."
        oauth = "resource_metadata=" in response.headers.get("www-authenticate", "").lower()
        return Trouble(f"it wants other credentials than it was given ({message})", hint, status=status, oauth=oauth)
    if status == 403:
        return Trouble(f"it does not allow this ({message})", "Check what the credentials may do.", status=status)
    if with_session and (status == 404 or (status == 400 and of_session)):  # MCP 2025-11-25, session management
        return Trouble(f"it has forgotten the session ({message})", sent=False, passing=True, gone=True, status=status)
    hint = "Check `url`." if status in (404, 405) else ""
    passing, after = status in (502, 503, 504), response.headers.get("retry-after", "")
    seconds = retry_after(after) if status == 429 else None
    return Trouble(f"it answered {message}", hint, passing=passing, status=status, retry_after=seconds)


async def _body(response: httpx2.Response, flow: StreamFlow) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        await anyio.lowlevel.checkpoint()  # decompressed pieces come at once, hundreds of them
        try:
            await flow.piece(part)
        except httpx2.SSEError as error:
            raise Trouble(str(error)) from None
        if size > MAX_MESSAGE_BYTES:
            raise Trouble(
                f"the answer has more than {MAX_MESSAGE_BYTES // 2**20} MiB",
                "Ask for less: pages, filters.",
                limit=True,
            )
    return b"".join(parts)


def _error_in(content: bytes) -> tuple[dict[str, Any], str]:
    """The error of a JSON-RPC answer, empty if there is none; and the text of the answer, in whatever form it is."""
    try:
        answer = None if too_many(content) else read_json(content)
    except ValueError:
        return {}, error_text(content[:_MAX_ERROR_BYTES].decode("utf-8", "replace"))
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return {}, error_text(answer)
    return error, error_text(
        {"message": error["message"], "detail": error.get("data")} if error.get("message") else answer
    )
