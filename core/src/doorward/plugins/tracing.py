"""Which plugin, if any, follows the requests of the call that is made now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorward.model.calls import CallTrace

_TRACE: ContextVar[list[CallTrace] | None] = ContextVar("trace", default=None)


def current_trace() -> CallTrace | None:
    """What follows the requests that are sent now: an HTTP client asks this before each request."""
    return found[0] if (found := _TRACE.get()) else None


@contextmanager
def traced_by(trace: CallTrace | None) -> Iterator[None]:
    """A block in which requests are followed, those of tasks that are begun in it too: until it ends, for a connection
    may outlive the call that opened it, and carry requests of others then."""
    held = [] if trace is None else [trace]
    token = _TRACE.set(held)
    try:
        yield
    finally:
        held.clear()
        _TRACE.reset(token)
