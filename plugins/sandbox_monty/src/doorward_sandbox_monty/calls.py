"""The calls of a program in Monty: each goes through the door, and its answer takes the form
that the worker expects."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Container, Coroutine, Mapping
from types import MappingProxyType
from typing import Any

from doorward import Door, DoorwardError

from doorward_sandbox_monty.api_errors import Errors
from doorward_sandbox_monty.modules import Modules

_OVER = {"exc_type": "RuntimeError", "message": "the run is over"}
"""The answer of a call that was ended because nobody waits for it any more."""


class Calls:
    """The calls of one feed: answered at once, or as futures if they are awaited. `awaited` has the places of awaited
    calls by the text that contains them: in a session, functions come from earlier texts."""

    def __init__(
        self, door: Door | None = None, awaited: Mapping[str, Container[tuple[int, int]]] = MappingProxyType({})
    ) -> None:
        self._door = door
        self._awaited = awaited
        self._running: set[asyncio.Task[Any]] = set()
        self._dropped: set[asyncio.Task[Any]] = set()
        self._pending: dict[int, asyncio.Task[Any]] = {}
        self.errors = Errors()
        self.made = False  # anything that is visible outside
        self.called = False
        self.over = False

    def print(self, text: str) -> None:
        self.made = True
        if self._door is not None:
            self._door.print(text)

    async def answer(self, step: Any, function: str) -> Any:
        self.made = self.called = True
        call = self.call(function, step.args, step.kwargs)
        return self._later(step.call_id, call) if self._is_awaited(step.position) else await call

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
        waiting = self._value(asyncio.sleep(min(seconds, 3600)))
        return self._later(step.call_id, waiting) if self._is_awaited(step.position) else await waiting

    def _is_awaited(self, place: Any) -> bool:
        return (place.start, place.end) in self._awaited.get(place.filename, ())

    async def settled(self, ids: list[int]) -> dict[int, Any]:
        """Wait until at least one of these calls has ended. Returns: the answers so far."""
        tasks = [self._pending[i] for i in ids if i in self._pending]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        done = {i: self._pending.pop(i) for i in ids if i in self._pending and self._pending[i].done()}
        return {i: _OVER if task.cancelled() else task.result() for i, task in done.items()}

    def cancel(self) -> None:
        """End the calls of a program that is over."""
        self.over = True
        self.drop()

    def drop(self) -> None:
        """End the calls under way: nobody waits for them any more."""
        for task in self._running - self._dropped:
            self._dropped.add(task)
            task.cancel()
        for task in self._pending.values():
            if task not in self._dropped:  # it has not even begun
                task.cancel()

    def _later(self, call_id: int, call: Awaitable[Any]) -> Any:
        self._pending[call_id] = asyncio.ensure_future(call)
        return {"future": ...}

    async def call(self, function: str, args: Any, kwargs: Any) -> Any:
        assert self._door is not None
        return await self._value(self._door.call(function, args, kwargs))

    async def _value(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Do the work in this task, which only `drop` may cancel meanwhile. Returns: its result in the form that the
        worker expects."""
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            return {"return_value": await work}
        except DoorwardError as error:
            return self.errors.raised(error)
        except asyncio.CancelledError:
            if task not in self._dropped:  # the whole loop ends
                raise
            return _OVER
        finally:
            self._running.discard(task)
            if task in self._dropped:
                self._dropped.discard(task)
                task.uncancel()
