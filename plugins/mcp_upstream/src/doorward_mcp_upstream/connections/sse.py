"""The older HTTP transport with server-sent events (MCP 2024-11-05, transports, HTTP with SSE).

Requests are posted, and answers come on a stream of events. The SDK's own transport takes no event above 1 MiB, and a
request that could not be posted waits for its answer for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urljoin

import anyio
import httpx2
import mcp_types
from anyio.abc import TaskGroup
from doorward import ServerContext
from mcp.shared.message import ClientMessageMetadata, SessionMessage

from doorward_mcp_upstream.connections.http import Client, refused
from doorward_mcp_upstream.connections.pace import Pace
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.connections.troubles import Trouble
from doorward_mcp_upstream.connections.wire import MAX_MESSAGE_BYTES, Stream, Wire

_EVENT_HEADERS = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
_MAX_WAITING_MESSAGES = 100
"""Messages that may wait to be read. Until one is, no more are taken from the network."""


@contextlib.asynccontextmanager
async def sse(context: ServerContext[MCPSettings], pace: Pace) -> AsyncIterator[Wire]:
    """The wire of a stream of events.

    Raises: Trouble, perhaps within exception groups; DoorwardError if the credentials fail.
    """
    url, ended = context.settings.url, asyncio.Event()
    assert url is not None  # else the server is a process
    async with Client(context, pace) as client, client.stream("GET", url, headers=_EVENT_HEADERS) as response:
        if response.status_code >= 400:
            raise refused(context.name, response)
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            raise Trouble(
                f"it answered HTTP {response.status_code} without a stream of events", "Check `url`.", sent=False
            )
        events = aiter(httpx2.EventSource(response, max_event_size=MAX_MESSAGE_BYTES))
        target = await _endpoint(httpx2.URL(url), events)
        arrived, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](_MAX_WAITING_MESSAGES)
        why: list[str] = []

        async def reason() -> str:
            return "; ".join(why)

        async with anyio.create_task_group() as group:
            group.start_soon(_receive, events, arrived, ended, why)
            yield Wire(
                incoming, _Outgoing(client, target, arrived, group), reason, ended, client.large.whole, client.exchange
            )
            group.cancel_scope.cancel()


async def _endpoint(url: httpx2.URL, events: Any) -> str:
    """The URL for requests, which the server sends first. It must be of the same origin: credentials are sent there."""
    async for event in events:
        if event.event == "endpoint":
            target = url.join(event.data.strip())
            if (target.scheme, target.host, target.port) != (url.scheme, url.host, url.port) or target.userinfo:
                raise Trouble("it wants requests to be sent to another origin; that is not done", sent=False)
            return urljoin(str(url), str(target))
    raise Trouble("its stream of events ended before it began", sent=False)


async def _receive(events: Any, arrived: Any, ended: asyncio.Event, why: list[str]) -> None:
    with arrived, contextlib.suppress(httpx2.HTTPError, anyio.BrokenResourceError):
        try:
            async for event in events:
                if event.event == "message" and event.data:
                    try:
                        message: Any = SessionMessage(
                            mcp_types.jsonrpc_message_adapter.validate_json(event.data, by_name=False)
                        )
                    except ValueError as error:
                        message = error
                    await arrived.send(message)
        except httpx2.SSEError as error:
            why.append(str(error))
    ended.set()


class _Outgoing(Stream):
    """Messages to the server. Requests are posted at the same time, other messages one after the other."""

    def __init__(self, client: Client, target: str, arrived: Any, group: TaskGroup) -> None:
        self._client = client
        self._target = target
        self._arrived = arrived
        self._group = group

    async def send(self, item: SessionMessage) -> None:
        if isinstance(item.message, mcp_types.JSONRPCRequest):
            given = item.metadata.headers if isinstance(item.metadata, ClientMessageMetadata) else None
            self._group.start_soon(self._post, item.message, item.message.id, given)
        else:
            await self._post(item.message)

    async def _post(self, message: mcp_types.JSONRPCMessage, id: Any = None, given: Any = None) -> None:
        content = message.model_dump_json(by_alias=True, exclude_unset=True)
        headers = {**(given or {}), "Content-Type": "application/json"}
        response = await self._client.post(self._target, content=content, headers=headers)
        if id is None or response.is_success:
            return
        if response.status_code == 404:
            error = _FORGOTTEN.as_error()
        else:
            error = _REDIRECT.as_error() if response.is_redirect else response.json()["error"]
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._arrived.send(SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=id, error=error)))


_FORGOTTEN = Trouble("it has forgotten the session (HTTP 404)", sent=False, passing=True, gone=True)
_REDIRECT = Trouble("it answered a request with a redirect, which is not followed", sent=False)
