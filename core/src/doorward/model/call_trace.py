"""How a call and its requests are followed through other systems: what a plugin that traces answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable


class RequestTrace(Protocol):
    """One HTTP request that is followed."""

    headers: Mapping[str, str]
    """What it carries: `traceparent` and `tracestate` of the W3C, or nothing."""

    def end(self, status: int | None, error: str) -> None:
        """Learn that it was answered with this status, or failed with an error of this name."""


@runtime_checkable
class CallTrace(Protocol):
    """What a plugin answers to the hook `trace_call`."""

    context: Mapping[str, str]
    """The W3C context of the call, for sources whose messages have a place for it: `_meta` of MCP."""

    def request(self, method: str, url: str) -> RequestTrace:
        """Follow a request of the call that is about to be sent. The URL may hold secrets."""
