"""Requests that are followed: until their call has ended, and not by tasks that outlive it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doorward.plugins.tracing import current_trace, traced_by

pytestmark = pytest.mark.anyio


async def test_a_task_that_outlives_its_call_is_followed_no_more() -> None:
    """A connection that a call has opened carries requests of others later: they are none of that call."""
    ended, seen = asyncio.Event(), []
    follows: Any = object()

    async def connection() -> None:
        seen.append(current_trace())
        await ended.wait()
        seen.append(current_trace())

    with traced_by(follows):
        opened = asyncio.create_task(connection())
        await asyncio.sleep(0)
        with traced_by(None):
            assert current_trace() is None
        assert current_trace() is follows
    assert current_trace() is None
    ended.set()
    await opened
    assert seen == [follows, None]
