"""A year of ticks by a turned clock, in three time zones, with kills in between."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from doorward import Failure, Outcome
from doorward.engines import MemoryStore, Put
from doorward_triggers.queue import Queue
from doorward_triggers.settings import TriggerSettings
from doorward_triggers.ticks import Schedule, name_of
from doorward_triggers.worker import Trigger, Worker

pytestmark = pytest.mark.anyio

START = datetime(2026, 1, 1, 0, 0, 30, tzinfo=UTC).timestamp()
YEAR = 365 * 86400


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


class Mortal:
    """A store as one process sees it, which dies at the commit that is the `last`."""

    def __init__(self, store: MemoryStore, chance: random.Random) -> None:
        self._store, self._chance = store, chance
        self._left, self._after = chance.randrange(1, 60), chance.random() < 0.5

    def __getattr__(self, name: str) -> Any:
        if self._left < 0:
            raise Killed
        return getattr(self._store, name)

    async def get(self, table: str, key: str) -> Any:
        if self._left < 0:
            raise Killed
        found = await self._store.get(table, key)
        await self._overtaken()
        return found

    async def _overtaken(self) -> None:
        """The other process may come in between."""
        for _ in range(self._chance.choice((0, 0, 3, 9))):
            await asyncio.sleep(0)

    async def commit(self, *changes: Any, **more: Any) -> int:
        await self._overtaken()
        self._left -= 1
        if self._left < 0 and not self._after:
            raise Killed
        version = await self._store.commit(*changes, **more)
        if self._left < 0:
            raise Killed
        return version


TRIGGERS = {
    "nightly": ("30 2 * * *", "Europe/Berlin"),  # in the hours that daylight saving leaves out, and repeats
    "often": ("15 */4 * * *", "America/New_York"),
    "weekdays": ("0 9 * * mon-fri", "Australia/Lord_Howe"),  # half an hour
}


def test_what_is_expected_of_daylight_saving() -> None:
    """What runs at 02:30 runs at 03:00 on the day that has no 02:30, and once on the day that has two; what runs every
    so often follows the clock of the world."""

    def of(expression: str, day: datetime) -> list[str]:
        start = day.timestamp() - 1
        return [name_of(at)[11:16] for at in Schedule(expression, "Europe/Berlin").between(start, start + 6 * 3600)]

    zone = ZoneInfo("Europe/Berlin")
    assert of("30 2 * * *", datetime(2026, 3, 29, tzinfo=zone)) == ["01:00"]
    assert of("30 2 * * *", datetime(2026, 10, 25, tzinfo=zone)) == ["00:30"]
    assert len(of("0 * * * *", datetime(2026, 10, 25, tzinfo=zone))) == 6


@pytest.mark.slow
async def test_no_tick_of_a_year_is_lost_in_silence_and_none_runs_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes share a store for a year, are killed at their commits some hundred times, stand still for hours,
    and have their clock put back: each tick has run once, is noted as interrupted, or is counted as missed."""
    monkeypatch.setattr("doorward_triggers.worker.BUSY_SECONDS", 0.0)
    chance, clock = random.Random(37), [START]
    store = MemoryStore(clock=lambda: clock[0])
    ran: Counter[tuple[str, str]] = Counter()
    lost: set[tuple[str, str]] = set()
    kills = 0

    async def run(trigger: Trigger, params: Mapping[str, Any]) -> Outcome:
        id = (await Queue(store, trigger.queue.name, 5).state()).running
        if chance.random() < 0.05:  # all slots are taken
            return Outcome(False, error=Failure("limit", "Busy", "no slot"))
        ran[trigger.queue.name, id] += 1
        return Outcome(True)

    def process() -> Worker:
        mortal: Any = Mortal(store, chance)
        triggers = {
            name: Trigger(
                TriggerSettings(principal="local", program="p", schedule=schedule, zone=zone), Queue(mortal, name, 5)
            )
            for name, (schedule, zone) in TRIGGERS.items()
        }
        return Worker(mortal, triggers, run, clock=lambda: clock[0])

    async def look(worker: Worker) -> bool:
        try:
            await worker.look()
            alive = True
        except Killed:
            alive = False
        ended = await asyncio.gather(*worker._draining.values(), return_exceptions=True)
        return alive and not any(isinstance(each, Killed) for each in ended)

    schedules = [Schedule(*each) for each in TRIGGERS.values()]
    processes = [process(), process()]
    for worker in processes:
        while not await look(worker):
            processes[processes.index(worker)] = worker = process()
    while clock[0] < START + YEAR:
        step = min(next(schedule.after(clock[0])) for schedule in schedules) - clock[0] + chance.randrange(80)
        clock[0] += chance.choice([-7200, 20, 86400]) if chance.random() < 0.02 else step
        for number, alive in enumerate(await asyncio.gather(*map(look, processes))):
            if not alive:
                kills += 1
                processes[number] = process()
        for name in TRIGGERS:
            runs = (await Queue(store, name, 5).state()).runs
            lost |= {(name, each["id"]) for each in runs if each["ended"] == "interrupted"}
    clock[0] += 3600
    for number in (0, 1, 0, 1, 0, 1):
        if not await look(processes[number]):
            processes[number] = process()
        clock[0] += 60
    assert kills > 50
    assert {*ran.values()} == {1}
    for name, (schedule, zone) in TRIGGERS.items():
        state = await Queue(store, name, 5).state()
        lost |= {(name, each["id"]) for each in state.runs if each["ended"] == "interrupted"}
        at_work = {(name, id) for id in (*state.queue, state.running) if id}
        known = {each for each in {*ran} | lost | at_work if each[0] == name}
        ticks = takewhile(lambda at, until=state.last: at <= until, Schedule(schedule, zone).after(START))
        expected = {name_of(at) for at in ticks}
        assert {id for _, id in known} <= expected
        assert len(known) + state.missed == len(expected), name


async def test_what_passed_is_counted_and_run_at_most_once() -> None:
    """Of the ticks that passed, the last one runs if that is asked for; those for which there is no room are missed; to
    resume repeats none by a clock that is a little behind, and goes on by one that was put back."""
    hourly, store, at = Schedule("0 * * * *", "UTC").between, MemoryStore(), START + 3.5 * 3600
    for catch_up, missed, queued in ((False, 3, []), (True, 2, [name_of(START - 30 + 3 * 3600)])):
        queue = Queue(store, str(catch_up), 1)
        await queue.add_ticks(hourly, "hourly", START, catch_up=catch_up)
        await queue.add_ticks(hourly, "hourly", at, catch_up=catch_up)
        state = await queue.state()
        assert (state.missed, state.queue) == (missed, queued)
    await queue.add_ticks(hourly, "hourly", tick := at + 1770, catch_up=True)
    assert (await queue.state()).missed == 3  # there is no room
    await queue.pause(paused=False, now=tick - 5)
    await queue.add_ticks(hourly, "hourly", tick + 5, catch_up=True)
    assert (await queue.state()).missed == 3
    await queue.pause(paused=False, now=START)
    await queue.add_ticks(hourly, "hourly", START + 3600, catch_up=True)
    assert (await queue.state()).missed == 4


async def test_one_that_finds_no_slot_tries_again_later_and_one_that_is_broken_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A trigger whose record cannot be read is logged; what finds all slots taken waits, and is not lost at the end."""
    monkeypatch.setattr("doorward_triggers.worker.END_SECONDS", 0.0)
    store, tries = MemoryStore(), Counter[str]()

    async def run(trigger: Trigger, params: Mapping[str, Any]) -> Outcome:
        tries[trigger.queue.name] += 1
        return Outcome(False, error=Failure("limit", "Busy", "no slot"))

    settings = TriggerSettings(principal="local", program="p", schedule="0 0 1 1 *")
    triggers = {name: Trigger(settings, Queue(store, name, 5)) for name in ("broken", "busy")}
    await store.commit(Put("triggers", "broken", b"{"))
    await triggers["busy"].queue.add_delivery("a", {"x": 1})
    worker = Worker(store, triggers, run)
    worker.start()
    for _ in range(500):
        await asyncio.sleep(0)
    await worker.close()
    assert tries == {"busy": 1}
    assert (await triggers["busy"].queue.state()).queue == ["a"]
    assert await triggers["busy"].queue.params("a") == {"x": 1}
