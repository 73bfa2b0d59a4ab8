"""The calls of a program in Monty: each goes through the door, and its answer takes the form
that the worker expects."""

from __future__ import annotations

import asyncio
from collections.abc import Container, Coroutine, Mapping
from types import MappingProxyType
from typing import Any

from doorward import Door, DoorwardError
from doorward.sandboxing import Planned

from doorward_sandbox_monty.api_errors import Errors
from doorward_sandbox_monty.modules import Modules
from doorward_sandbox_monty.plans import PlanStopped, Unread, holds_unknown
from doorward_sandbox_monty.repeats import Repeats

_OVER = {"exc_type": "RuntimeError", "message": "the run is over"}


class Calls:
    """The calls of one feed: answered at once, or as futures if they are awaited. `awaited` has the places of awaited
    calls by the text that contains them: in a session, functions come from earlier texts."""

    def __init__(
        self,
        door: Door | None = None,
        awaited: Mapping[str, Container[tuple[int, int]]] = MappingProxyType({}),
        repeats: Repeats | None = None,
    ) -> None:
        self._door = door
        self._repeats = repeats
        self.unread: Unread | None = None
        """In a plan, the calls whose answers nothing uses."""
        self.last: Planned | None = None
        """What a plan withholds of the value of the program."""
        self._awaited = awaited
        self._waits: asyncio.Task[Any] | None = None
        """The task that waits for a call, whose answer the program waits for."""
        self._dropped = False
        self._pending: dict[int, asyncio.Task[Any]] = {}
        self._ended: list[int] = []
        self.errors = Errors()
        self.made = False  # anything that is visible outside
        self.called = False
        self.over = False

    def print(self, text: str) -> None:
        self.made = True
        if self._door is not None:
            self._door.print(text)

    def tell(self) -> None:
        """Tell the door which times the program has read."""
        if self._door is not None and self._repeats is not None and (read := self._repeats.untold()):
            self._door.seen(read)

    async def answer(self, step: Any, function: str) -> Any:
        self.made = self.called = True
        call = self._call(function, step.args, step.kwargs, step.position)
        return self._later(step.call_id, call) if self._is_awaited(step.position) else await self._now(call)

    async def explain(self, asked: str, args: Any, modules: Modules) -> Any:
        """Answer `help(value)`, `dir(value)` and `value.__doc__` for our own objects; Monty
        itself has none of these."""
        assert self._door is not None
        self.made = self.called = True
        meant = modules.meant(args[0]) if args else "doorward"
        if asked == "dir":
            names = self._door.members(meant or "")
            return (
                {"return_value": sorted(names)}
                if names
                else {"exc_type": "TypeError", "message": "dir() is for servers and doorward here"}
            )
        told = await self.call("doorward.describe", [meant], {}) if meant else {"return_value": None}
        if asked != "help" or "return_value" not in told:
            return told
        self._door.print(f"{told['return_value'] or 'help() is for servers, their functions and doorward here'}\n")
        return {"return_value": None}

    async def sleep(self, step: Any) -> Any:
        """Sleep in the host on behalf of the program; the deadline of the run limits it."""
        seconds = max(0.0, float(step.args[0])) if step.args else 0.0
        waiting = _slept(min(seconds, 3600))
        return self._later(step.call_id, waiting) if self._is_awaited(step.position) else await self._now(waiting)

    def _is_awaited(self, place: Any) -> bool:
        return (place.start, place.end) in self._awaited.get(place.filename, ())

    async def settled(self, ids: list[int]) -> dict[int, Any]:
        """Wait until at least one of these calls has ended. Returns: the answers so far, in the order in which they
        came: in this order the program goes on."""
        tasks = [self._pending[i] for i in ids if i in self._pending]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        wanted = set(ids)
        done = [i for i in self._ended if i in wanted]
        self._ended = [i for i in self._ended if i not in wanted]
        return {i: _OVER if (task := self._pending.pop(i)).cancelled() else task.result() for i in done}

    def cancel(self) -> None:
        """End the calls of a program that is over."""
        self.over = True
        self.drop()

    def drop(self) -> None:
        """End the calls under way: nobody waits for them any more."""
        self._dropped = True
        for task in self._pending.values():
            task.cancel()
        if self._waits is not None:
            self._waits.cancel()

    def _later(self, call_id: int, call: Coroutine[Any, Any, Any]) -> Any:
        self._pending[call_id] = task = asyncio.ensure_future(call)
        if self._dropped:
            task.cancel()
        task.add_done_callback(lambda _: self._ended.append(call_id))
        return {"future": ...}

    async def call(self, function: str, args: Any, kwargs: Any) -> Any:
        """Make a call, and wait for it. Returns: its answer in the form that the worker expects."""
        return await self._now(self._call(function, args, kwargs))

    async def _call(self, function: str, args: Any, kwargs: Any, place: Any = None) -> Any:
        assert self._door is not None
        if self._repeats is not None and self._repeats.unread:
            self.tell()
        try:
            answer = await self._door.call(function, args, kwargs)
        except DoorwardError as error:
            return self.errors.raised(error)
        if self.unread is not None and holds_unknown(answer):
            self._without(answer, function, place, self.unread)
            answer = None
        return {"return_value": answer}

    def _without(self, answer: Any, function: str, place: Any, unread: Unread) -> None:
        """Go on without an answer that a plan withholds. Raises: PlanStopped if the program uses it."""
        if place is None or not unread.has(place):
            raise PlanStopped(function, unread.line(place) if place else None)
        if unread.is_last(place):
            if not isinstance(answer, Planned):
                raise PlanStopped(function, unread.line(place))
            self.last = answer

    async def _now(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do the work in this task, which `drop` then cancels; anybody else only with the whole loop, when the process
        ends."""
        if self._dropped:  # the worker died while its question came
            work.close()
            return _OVER
        self._waits = asyncio.current_task()
        try:
            return await work
        except asyncio.CancelledError:
            if not self._dropped or self._waits is None or self._waits.uncancel():
                raise
            return _OVER
        finally:
            self._waits = None


async def _slept(seconds: float) -> Any:
    await asyncio.sleep(seconds)
    return {"return_value": None}
