"""What was observed of functions' results: in memory, and in the store that processes share."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from doorward import Function, StateError, log
from doorward.administration import json_digest, run_in_thread
from doorward.engines import Delete, Put, Store, retry, scan_all

from doorward_observed.shapes import Shape, bounded, merge, shape

TABLE = "observed"
"""The table of shapes, a record for each function by its full name: the digest of the function at that time, the shape,
how many results there were, and the time of the last one."""

KEPT_SECONDS = 365 * 86400.0
"""How long a shape is kept after the last result."""

SAMPLING_INTERVAL = 10
"""This many first results of a function are all looked at, later only one in so many: results look alike."""

MAX_FUNCTIONS = 2000
"""Functions whose shapes a process remembers, besides those whose results are not stored yet."""

MAX_UNSTORED = 2 * MAX_FUNCTIONS
"""Functions that it remembers where the store takes nothing."""


@dataclass(slots=True)
class Seen:
    """What was observed of one function's results; `new` of the `times` are not stored yet."""

    schema_hash: str
    shape: Shape
    times: int
    last: float
    new: int = 0
    changed: bool = False


class Observations:
    """The shapes of results. Only one that has changed is written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, tuple[Function | None, Seen]] = OrderedDict()
        self._has_forgotten = False

    async def read(self) -> None:
        """Know what is stored. Raises: StateError."""
        found = await scan_all(self._store, TABLE)
        for name, seen in await run_in_thread(lambda: [(record.key, _read(record.value)) for record in found]):
            self._remember(name, None, seen)

    def learn(self, function: Function, value: Any) -> None:
        """Learn from a result of a function without a schema of its results."""
        seen = self.of(function)
        if seen is None:
            seen = Seen(_schema_hash(function), {}, 0, 0.0)
        self._remember(function.qualified, function, seen)
        seen.times, seen.new, seen.last = seen.times + 1, seen.new + 1, time.time()
        if seen.times <= SAMPLING_INTERVAL or seen.times % SAMPLING_INTERVAL == 0:
            merged = bounded(merge(seen.shape, shape(value)))
            if merged != seen.shape:
                seen.shape, seen.changed = merged, True

    def of(self, function: Function) -> Seen | None:
        """What was observed of a function's results, as long as the function has not changed."""
        known = self._known.get(function.qualified)
        if known is None or known[0] is function:
            return known[1] if known else None
        if known[1].schema_hash != _schema_hash(function):
            return None
        self._known[function.qualified] = function, known[1]
        return known[1]

    async def flush(self, *, everything: bool = False) -> set[str]:
        """Store the shapes that have changed, and with `everything`, or before any are forgotten, the counts of those
        that have not. Returns: the servers of the functions whose shapes have changed."""
        everything = everything or len(self._known) > MAX_FUNCTIONS
        due = {name: seen for name, (_, seen) in self._known.items() if seen.new and (seen.changed or everything)}
        if not due:
            return set()
        changed = {name.partition(".")[0] for name, seen in due.items() if seen.changed}
        try:
            stored = await retry(lambda: self._store_merged(due), TABLE)
        except StateError as error:  # tried again the next time
            log.warning("observed_not_stored", error=str(error))
            return set()
        for name, new in stored.items():
            due[name].new -= new
        for name in [name for name, (_, seen) in self._known.items() if not seen.new]:
            if len(self._known) > MAX_FUNCTIONS:
                self._forget(name)
        return changed

    async def _store_merged(self, due: Mapping[str, Seen]) -> dict[str, int]:
        """Merge these with what other processes have stored. Returns: how many new results are stored now, by
        function; what is learnt meanwhile is stored the next time. Raises: StateError."""
        found = {name: await self._store.get(TABLE, name) for name in due}
        puts, new = [], {}
        for name, seen in due.items():
            record, whole, times = found[name], seen.shape, seen.times
            new[name], seen.changed = seen.new, False
            before = _read(record.value) if record else None
            if before is not None and before.schema_hash == seen.schema_hash:
                whole, times = bounded(merge(before.shape, whole)), before.times + seen.new
            written = json.dumps([seen.schema_hash, whole, times, seen.last]).encode()
            puts.append(Put(TABLE, name, written, record.version if record else 0, KEPT_SECONDS))
        try:
            await self._store.commit(*puts)
        except StateError:
            for seen in due.values():
                seen.changed = True
            raise
        return new

    def _remember(self, name: str, function: Function | None, seen: Seen) -> None:
        self._known[name] = function, seen
        self._known.move_to_end(name)
        oldest = next(iter(self._known))
        if len(self._known) > (MAX_UNSTORED if self._known[oldest][1].new else MAX_FUNCTIONS):
            self._forget(oldest)

    def _forget(self, name: str) -> None:
        _, seen = self._known.pop(name)
        if not self._has_forgotten:
            self._has_forgotten = True
            hint = "Functions whose last results are the oldest are described without them until they answer again."
            log.warning("observed_forgotten", most=MAX_FUNCTIONS, function=name, stored=not seen.new, hint=hint)


async def clear(store: Store) -> int:
    """Forget what is stored. Returns: of how many functions that was. Raises: StateError."""
    found = await scan_all(store, TABLE)
    if found:
        await store.commit(*(Delete(TABLE, record.key) for record in found))
    return len(found)


def _read(value: bytes) -> Seen:
    return Seen(*json.loads(value))


def _schema_hash(function: Function) -> str:
    """A hash of a function's id and parameters: if it changes, earlier results say nothing any more."""
    return json_digest(function.id, function.parameters)
