"""Tasks beside a block of code."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import anyio
from anyio.abc import TaskGroup


@contextlib.asynccontextmanager
async def background_tasks() -> AsyncIterator[TaskGroup]:
    """A task group that is cancelled at the end of its block. An error of the block is raised as it is, and not in a
    group."""
    failed: Exception | None = None
    async with anyio.create_task_group() as group:
        try:
            yield group
        except Exception as error:
            failed = error
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed
