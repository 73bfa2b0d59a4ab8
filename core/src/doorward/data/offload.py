"""Work on large values, in threads: nobody else waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from doorward.data.json_writing import dump, exceeds

Result = TypeVar("Result")

MAX_INLINE_PARTS = 500
"""Of a value (a thousand characters are one) from which on work on it leaves the event loop: below it takes less than a
thread."""

_MAX_INLINE_BYTES = 2**16

MAX_THREADS = 2
"""For such work at once, of all runs: they share one interpreter, and each takes time from all others."""

_limiter: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("large values")


def is_large(*values: Any) -> bool:
    """Whether work on these values is for a thread."""
    return exceeds(values, MAX_INLINE_PARTS)


async def off_loop(function: Callable[..., Result], *arguments: Any) -> Result:
    """What the function answers, from a thread. Whoever is cancelled meanwhile goes at once; the thread goes on to its
    end, and counts as one of those until then."""
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
            work.exception()  # perhaps nobody asks for it any more

    work.add_done_callback(end)
    return await asyncio.shield(work)


async def aside(work: Callable[[], Result], size: int) -> Result:
    """What `work` comes to, which works on so many bytes: in a thread if those are many."""
    return await done(work, large=size > _MAX_INLINE_BYTES)


async def done(function: Callable[..., Result], *arguments: Any, large: bool) -> Result:
    """What the function answers, from a thread if its work is `large`."""
    return await off_loop(function, *arguments) if large else function(*arguments)


async def write_json(value: Any) -> bytes:
    """A plain value of any size (bytes may be in it) as compact JSON; others have their turn meanwhile."""
    return await done(dump, value, large=is_large(value))
