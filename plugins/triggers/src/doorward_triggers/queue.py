"""What waits for a trigger, in the store: each tick and delivery enters once and is claimed once, whatever other
processes do.

All that is known of a trigger is one record, which is changed by compare-and-set. Nothing of it expires.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from doorward import log
from doorward.engines import Change, Delete, Lease, Notify, Put, Store, retry

from doorward_triggers.ticks import name_of

T = TypeVar("T")

TABLE = "triggers"
BODIES = "trigger bodies"
SEEN = "trigger deliveries"
TOPIC = "triggers"

GRACE = 90.0
"""Seconds after which a tick that no process has seen was missed."""

SEEN_SECONDS = 7 * 86400.0
"""How long the id of a delivery is remembered: senders try again for days."""

_MAX_RUNS = 20


@dataclass
class State:
    """What is known of a trigger. `last` is its latest tick that was queued or missed, `schedule` that of which it
    was; `queue` has ids of ticks and deliveries, `running` the claimed one; `runs` are the latest ones."""

    last: float = 0.0
    schedule: str = ""
    paused: bool = False
    queue: list[str] = field(default_factory=list)
    running: str = ""
    since: float = 0.0
    missed: int = 0
    latest_missed: str = ""
    runs: list[dict[str, Any]] = field(default_factory=list)

    def note(self, id: str, ended: str, about: str, at: float) -> None:
        """Note how a run ended."""
        self.runs = [*self.runs, {"id": id, "ended": ended, "about": about, "at": name_of(at)}][-_MAX_RUNS:]

    def miss(self, ids: Sequence[str]) -> None:
        """Count what does not run."""
        self.missed += len(ids)
        self.latest_missed = ids[-1] if ids else self.latest_missed


class Queue:
    """What waits for one trigger: at most `size` ticks or deliveries."""

    def __init__(self, store: Store, name: str, size: int) -> None:
        self._store, self.name, self._size = store, name, size

    async def state(self) -> State:
        """What is known now. Raises: StateError."""
        return _read(found.value if (found := await self._store.get(TABLE, self.name)) else None)

    async def change(
        self,
        change: Callable[[State], T],
        more: Callable[[State], Sequence[Change]] = lambda state: (),
        fences: Sequence[Lease] = (),
    ) -> T:
        """Change what is known, together with `more`. `change` may be called several times. Raises: StateError."""

        async def attempt() -> T:
            found = await self._store.get(TABLE, self.name)
            state = _read(before := found.value if found else None)
            result = change(state)
            after = json.dumps(vars(state)).encode()
            if after != before:
                put = Put(TABLE, self.name, after, found.version if found else 0)
                await self._store.commit(put, *more(state), Notify(TOPIC), fences=fences, sync=True)
            return result

        return await retry(attempt, TABLE)

    async def add_ticks(
        self, ticks: Callable[[float, float], Sequence[float]], schedule: str, now: float, *, catch_up: bool
    ) -> None:
        """Queue the ticks that are due, and count those that were missed. A schedule that is new begins now. Raises:
        StateError."""

        def add(state: State) -> list[str]:
            if state.schedule != schedule:
                state.schedule, state.last = schedule, now
            if state.paused or not (due := ticks(state.last, now)):
                return []
            state.last, missed = due[-1], []
            for at in due:
                on_time = at > now - GRACE or (catch_up and at == due[-1])
                if on_time and len(state.queue) < self._size:
                    state.queue.append(name_of(at))
                else:
                    missed.append(name_of(at))
            state.miss(missed)
            return missed

        if missed := await self.change(add):
            log.warning("trigger_missed", trigger=self.name, ticks=len(missed), first=missed[0], last=missed[-1])

    async def add_delivery(self, id: str, params: Mapping[str, Any]) -> str:
        """Queue a delivery. Returns: "accepted", "duplicate", or "full". Raises: StateError."""
        key = f"{self.name} {id}"

        async def attempt() -> str:
            if await self._store.get(SEEN, key) or await self._store.get(BODIES, key):
                return "duplicate"

            def add(state: State) -> str:
                if len(state.queue) >= self._size:
                    return "full"
                state.queue.append(id)
                return "accepted"

            found = await self._store.get(TABLE, self.name)
            state = _read(found.value if found else None)
            if (answer := add(state)) == "accepted":
                await self._store.commit(
                    Put(TABLE, self.name, json.dumps(vars(state)).encode(), found.version if found else 0),
                    Put(SEEN, key, b"", expected=0, ttl=SEEN_SECONDS),
                    Put(BODIES, key, json.dumps(dict(params)).encode(), expected=0),
                    Notify(TOPIC), sync=True,
                )  # fmt: skip
            return answer

        return await retry(attempt, TABLE)

    async def params(self, id: str) -> dict[str, Any]:
        """What a delivery gives to the program. Raises: StateError."""
        found = await self._store.get(BODIES, f"{self.name} {id}")
        return dict(json.loads(found.value)) if found else {}

    async def claim(self, lease: Lease, now: float) -> str:
        """Take the next one, to run it; "" if there is none. What the last holder of the lease had claimed, and did not
        end, was interrupted: it is never run again. Raises: StateError, StaleLease."""
        lost = ""

        def claim(state: State) -> str:
            nonlocal lost
            if lost := state.running:
                state.note(lost, "interrupted", "its process ended before it did; it is not run again", now)
            state.running = state.queue.pop(0) if state.queue and not state.paused else ""
            state.since = now if state.running else 0.0
            return state.running

        def bodies(state: State) -> Sequence[Change]:
            return [Delete(BODIES, f"{self.name} {lost}")] if lost else []

        claimed = await self.change(claim, bodies, [lease])
        if lost:
            log.warning("trigger_interrupted", trigger=self.name, id=lost)
        return claimed

    async def put_back(self, id: str, lease: Lease) -> None:
        """Queue again, as the first one, what could not begin: nothing of it has run. Raises: StateError."""

        def back(state: State) -> None:
            if state.running == id:
                state.running, state.queue = "", [id, *state.queue]

        await self.change(back, fences=[lease])

    async def end(self, id: str, ended: str, about: str, now: float) -> None:
        """Note how a run ended. Raises: StateError."""

        def end(state: State) -> None:
            if state.running == id:
                state.running = ""
            state.note(id, ended, about, now)

        await self.change(end, lambda state: [Delete(BODIES, f"{self.name} {id}")])

    async def pause(self, *, paused: bool, now: float) -> None:
        """Start nothing any more, or go on; after a clock was put back, from now on. Raises: StateError."""

        def pause(state: State) -> None:
            state.paused = paused
            if not paused and state.last > now + GRACE:
                state.last = now

        await self.change(pause)


def _read(value: bytes | None) -> State:
    return State(**json.loads(value)) if value else State()
