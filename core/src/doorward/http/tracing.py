"""Whether requests of a call are followed by a plugin that traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorward.model.tracing import CallTrace

TRACE: ContextVar[CallTrace | None] = ContextVar("trace", default=None)
"""Who follows the requests that are sent now."""


@contextmanager
def traced_by(trace: CallTrace | None) -> Iterator[None]:
    """A block in which requests are followed. Tasks that are begun in it and outlive it go on being followed: a source
    opens connections that outlive a call elsewhere."""
    token = TRACE.set(trace)
    try:
        yield
    finally:
        TRACE.reset(token)
