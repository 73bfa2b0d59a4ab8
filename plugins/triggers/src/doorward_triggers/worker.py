"""Queues ticks when they are due, and runs what waits: one run of a trigger at a time, in all processes together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
from doorward import DoorwardError, StateError, log
from doorward.serving import seldom

from doorward_triggers.queue import GRACE, TOPIC, Queue, State
from doorward_triggers.ticks import Schedule

if TYPE_CHECKING:
    from doorward import Outcome
    from doorward.engines import Lease, Store

    from doorward_triggers.settings import TriggerSettings

LEASE_SECONDS = 30.0
"""How long after a kill another process takes over."""

POLL_SECONDS = 15.0
"""The longest pause between two looks at what waits: a clock may be put forward, a process end."""

BUSY_SECONDS = 5.0
"""The pause before what found all slots taken is tried again."""

END_SECONDS = 2.0
"""Seconds in which runs that have just ended are noted when a gateway closes."""


@dataclass(frozen=True)
class Trigger:
    """A configured trigger, and what waits for it."""

    settings: TriggerSettings
    queue: Queue

    @cached_property
    def schedule(self) -> Schedule | None:
        """When it ticks, if it does."""
        return Schedule(self.settings.schedule, self.settings.zone) if self.settings.schedule else None


class Worker:
    """Runs triggers in one process. `run` runs the program of one with values for parameters; `may_run` says whether
    programs are taken now."""

    def __init__(
        self,
        store: Store,
        triggers: Mapping[str, Trigger],
        run: Callable[[Trigger, Mapping[str, Any]], Awaitable[Outcome]],
        may_run: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._triggers, self._run, self._may_run, self._clock = store, triggers, run, may_run, clock
        self._next: dict[str, float] = {}
        self._draining: dict[str, asyncio.Task[None]] = {}
        self._watching: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the running event loop."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def close(self) -> None:
        """End, and note the runs that end now, or are cut short."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        if self._draining:
            _, left = await asyncio.wait([*self._draining.values()], timeout=END_SECONDS)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _watch(self) -> None:
        seen = -1
        while True:
            try:
                pause = await self.look()
                seen = await self._store.signal(TOPIC, seen, pause)
            except Exception as error:  # what fails now is due later
                log.error("triggers_wait", why=_why(error))
                await asyncio.sleep(POLL_SECONDS)

    async def look(self) -> float:
        """Queue what is due, and begin to run what waits. Returns: seconds until the next look."""
        pause = POLL_SECONDS
        for name, trigger in self._triggers.items():
            try:
                pause = min(pause, await self._look_at(name, trigger, self._clock()))
            except Exception as error:  # what fails now is due later, and holds up no other
                log.error("trigger_waits", trigger=name, why=_why(error))
        return pause

    async def _look_at(self, name: str, trigger: Trigger, now: float) -> float:
        state, pause = await trigger.queue.state(), POLL_SECONDS
        if trigger.schedule is not None:
            if state.paused or now >= self._next.get(name, 0.0) or state.last > now + GRACE:
                await self._queue_ticks(trigger, trigger.schedule, state, now)
                self._next[name] = next(trigger.schedule.after(now))
                state = await trigger.queue.state()
                if state.paused:
                    self._next.pop(name)
            pause = max(0.05, self._next.get(name, now + pause) - self._clock())
        waits = state.running or (state.queue and not state.paused)
        if waits and name not in self._draining and self._may_run():
            task = self._draining[name] = asyncio.ensure_future(self._drain(trigger))
            task.add_done_callback(lambda task: self._draining.pop(name, None))
        return pause

    async def _queue_ticks(self, trigger: Trigger, schedule: Schedule, state: State, now: float) -> None:
        settings = trigger.settings
        if state.last > now + GRACE and state.schedule == settings.when:
            seldom.warning("trigger_clock_back", trigger=trigger.queue.name, waits_until=state.last)
        await trigger.queue.add_ticks(schedule.between, settings.when, now, catch_up=settings.catch_up == "last")

    async def _drain(self, trigger: Trigger) -> None:
        """Run what waits, if no other process does."""
        try:
            lease = await self._store.acquire(f"triggers {trigger.queue.name}", LEASE_SECONDS)
            if lease is None:
                return
            renewing = asyncio.ensure_future(self._renew(lease))
            try:
                while self._may_run() and (id := await trigger.queue.claim(lease, self._clock())):
                    if not await self._ran(trigger, id, lease):
                        await asyncio.sleep(BUSY_SECONDS)
            finally:
                renewing.cancel()
                with anyio.CancelScope(shield=True):
                    await self._store.release(lease)
        except Exception as error:
            log.error("trigger_waits", trigger=trigger.queue.name, why=_why(error))

    async def _renew(self, lease: Lease) -> None:
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            try:
                await self._store.renew(lease, LEASE_SECONDS)
            except StateError as error:
                log.warning("trigger_lease", lease=lease.name, why=error.message)

    async def _ran(self, trigger: Trigger, id: str, lease: Lease) -> bool:
        """Run what was claimed, and note how it ended. Returns: whether it began."""
        queue, ended, about = trigger.queue, "interrupted", "its process was stopped; it is not run again"
        try:
            outcome = await self._run(trigger, await queue.params(id))
            if outcome.error is not None and outcome.error.type == "Busy":  # nothing has run
                await queue.put_back(id, lease)
                ended = ""
                return False
            ended, about = _ended(outcome)
            return True
        except DoorwardError as error:
            ended, about = "failed", _why(error)
            return True
        finally:
            with anyio.CancelScope(shield=True):
                if ended:
                    await queue.end(id, ended, about, self._clock())
                    tell = log.info if ended == "done" else log.warning
                    tell("trigger_ran", trigger=queue.name, id=id, ended=ended, about=about)


def _why(error: Exception) -> str:
    return f"{type(error).__name__}: {getattr(error, 'message', '')}"[:500]


def _ended(outcome: Outcome) -> tuple[str, str]:
    """How a run ended, in a word, and more about it."""
    if outcome.waiting is not None:
        return "waits", outcome.waiting.run
    if outcome.error is not None:
        return "failed", f"{outcome.error.type}: {outcome.error.message}"[:500]
    return "done", ""
