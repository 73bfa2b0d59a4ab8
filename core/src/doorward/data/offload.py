"""Runs work on large values in threads, so that nobody else waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from doorward.data.json_writing import dump, exceeds

Result = TypeVar("Result")

MAX_INLINE_PARTS = 500
"""A value of more parts (a thousand characters are one) is worked on in a thread; a smaller one takes less time than
starting a thread."""

_MAX_INLINE_BYTES = 2**16

MAX_THREADS = 2
"""Threads for such work, for all runs together: they share one interpreter, and each takes time from the others."""

_limiter: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("large values")


def is_large(*values: Any) -> bool:
    """Whether work on these values belongs in a thread."""
    return exceeds(values, MAX_INLINE_PARTS)


async def off_loop(function: Callable[..., Result], *arguments: Any) -> Result:
    """The result of the function, run in a thread. A caller that is cancelled goes at once; the thread runs to its end,
    and counts towards `MAX_THREADS` until then."""
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(MAX_THREADS)
        _limiter.set(limiter)
    place = object()
    await limiter.acquire_on_behalf_of(place)
    work = asyncio.ensure_future(anyio.to_thread.run_sync(function, *arguments))

    def end(work: asyncio.Future[Result]) -> None:
        limiter.release_on_behalf_of(place)
        if not work.cancelled():
            work.exception()  # read, because the caller may be gone

    work.add_done_callback(end)
    return await asyncio.shield(work)


async def to_its_end(work: Awaitable[Result], give_up: Callable[[Result], object] = lambda _: None) -> Result:
    """The result of `work`, which nothing cuts short: a caller that is cancelled, by a scope or as a task, goes once it
    is over, and what it got is given to `give_up`, which may be a coroutine function. For work that takes hold of
    something."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        given_up: list[asyncio.Future[Any]] = []

        def over(task: asyncio.Future[Result]) -> None:
            if not task.cancelled() and task.exception() is None and isawaitable(left := give_up(task.result())):
                given_up.append(asyncio.ensure_future(left))

        task.add_done_callback(over)
        with anyio.CancelScope(shield=True):
            await asyncio.wait([task])
            await asyncio.gather(*given_up)
        raise


async def aside(work: Callable[[], Result], size: int) -> Result:
    """The result of `work`, which works on `size` bytes: in a thread if they are many."""
    return await done(work, large=size > _MAX_INLINE_BYTES)


async def done(function: Callable[..., Result], *arguments: Any, large: bool) -> Result:
    """The result of the function, run in a thread if its work is `large`."""
    return await off_loop(function, *arguments) if large else function(*arguments)


async def write_json(value: Any) -> bytes:
    """A plain value of any size, which may contain bytes, as compact JSON, without blocking the event loop."""
    return await done(dump, value, large=is_large(value))
