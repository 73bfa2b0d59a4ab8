"""The two streams of a session, over any transport."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import AsyncResource, ObjectReceiveStream
from mcp.shared.message import SessionMessage

from doorward_mcp_upstream.connections.troubles import Trouble
from doorward_mcp_upstream.tools.values import MAX_VALUES

MAX_MESSAGE_BYTES = 64 * 2**20
"""Largest message."""

TOO_MANY_VALUES = Trouble(
    f"the answer has more than {MAX_VALUES:,} values", "Ask for less: pages, filters.", limit=True
)


async def _nothing() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Wire:
    """What a transport has opened.

    `reason` tells why it ended, once it has, as far as that is known. `ended` is set by the first part that notices the
    end. `whole` gives the result for a note that the SDK got in its place. `exchange` is a block for one call, at whose
    end all that the call has opened is closed; it yields headers for the request.
    """

    read: Any
    write: Any
    reason: Callable[[], Awaitable[str]] = _nothing
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    whole: Callable[[dict[str, Any]], dict[str, Any]] = dict
    exchange: Callable[[], AbstractContextManager[dict[str, str]]] = lambda: nullcontext({})


class Stream(AsyncResource):
    """One direction. Whoever made it closes it."""

    async def aclose(self) -> None:
        pass


class Incoming(Stream, ObjectReceiveStream["SessionMessage | Exception"]):
    """Messages of a server."""


class Watched(Incoming):
    """A read stream that sets `ended` at its end, even when no request waits for an answer."""

    def __init__(self, inner: Any, ended: asyncio.Event) -> None:
        self._inner = inner
        self._ended = ended

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._inner.receive()  # type: ignore[no-any-return]
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended.set()
            raise anyio.EndOfStream from None

    async def aclose(self) -> None:
        self._ended.set()
        await self._inner.aclose()
