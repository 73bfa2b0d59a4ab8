"""The events that wait for one observer, and their delivery in batches, in a task of its own."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from functools import partial

from doorward import Observer, log
from doorward.administration import Failures, PluginId, limited

from doorward_observers.events import Event, EventsDropped

MAX_WAITING_EVENTS = 10_000
"""Events that wait for one observer; further ones are dropped, and counted."""

MAX_BATCH_EVENTS = 500
"""Events in one batch."""

BATCH_SECONDS = 1.0
"""Seconds for which an event waits at most for others to be delivered with it."""

OBSERVE_SECONDS = 30.0
"""Seconds that an observer may take for one batch."""

MAX_PAUSE_SECONDS = 60.0
"""Seconds for which an observer that fails is left alone: one at first, then twice as long each time."""

DELIVER_SECONDS = 3.0
"""Seconds in which what still waits must be delivered at the end."""

CLOSE_SECONDS = 1.5
"""Seconds that the `close` of an observer may take then. (A hook plugin has 5 seconds for both.)"""


class EventQueue:
    """Takes events without waiting, and hands them to an observer. A batch that it fails to take is dropped: whoever
    wants to try again does that itself."""

    def __init__(self, plugin: PluginId, observer: Observer, failures: Failures) -> None:
        self.plugin = plugin
        self._observer = observer
        self._failures = failures
        self._waiting: deque[Event] = deque()
        self._dropped = 0
        self._failed_batches = 0
        self._some, self._many, self._closing = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def failing(self) -> bool:
        """Whether the observer did not take the last batch, or events were dropped since."""
        return bool(self._failed_batches or self._dropped)

    def start(self) -> None:
        """Begin to deliver."""
        self._task = asyncio.create_task(self._deliver(), name=f"doorward observer {self.plugin.name}")

    def put(self, event: Event) -> None:
        """Take an event, or count it as dropped. Never waits."""
        if len(self._waiting) >= MAX_WAITING_EVENTS:
            if not self._dropped:
                log.warning("events_dropped", observer=self.plugin.name, waiting=len(self._waiting))
            self._dropped += 1
            return
        self._waiting.append(event)
        self._some.set()
        if len(self._waiting) >= MAX_BATCH_EVENTS:
            self._many.set()

    async def close(self) -> None:
        """Deliver what waits, and close the observer, within a limit for each."""
        self._closing.set()
        self._some.set()
        self._many.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=DELIVER_SECONDS)
            self._task.cancel()
        if lost := len(self._waiting) + self._dropped:
            log.warning("events_lost", observer=self.plugin.name, count=lost)
        try:
            await limited(self._observer.close, CLOSE_SECONDS)
        except Exception as error:
            self._failures.told(self.plugin, "close", error, event="close_failed")

    async def _deliver(self) -> None:
        while self._waiting or not self._closing.is_set():
            await self._some.wait()
            await _set_within(self._many, BATCH_SECONDS)
            if not (batch := self._batch()):
                continue
            try:
                await limited(partial(self._observer.observe, batch), OBSERVE_SECONDS)
                self._failed_batches = 0
            except Exception as error:
                pause = min(2.0**self._failed_batches, MAX_PAUSE_SECONDS)
                self._failures.told(
                    self.plugin, "observe", error, event="observer_failed", events=len(batch), pause=pause
                )
                self._failed_batches += 1
                self._dropped += sum(each.count if isinstance(each, EventsDropped) else 1 for each in batch)
                await _set_within(self._closing, pause)

    def _batch(self) -> tuple[Event, ...]:
        """The events to deliver next, after how many were dropped before them."""
        batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_BATCH_EVENTS))]
        if batch and self._dropped:
            batch.insert(0, EventsDropped(time.time(), self._dropped))
            self._dropped = 0
        if not self._closing.is_set():
            if not self._waiting:
                self._some.clear()
            if len(self._waiting) < MAX_BATCH_EVENTS:
                self._many.clear()
        return tuple(batch)


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
