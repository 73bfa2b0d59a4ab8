"""The order in which the calls of a plan were answered: when it is committed, they are answered in the same."""

from __future__ import annotations

from collections.abc import Iterable

import anyio
from doorward_durable_runs.journal.entries import Entry

_PATIENCE_AFTER_A_FAILURE = 1.0
"""The same once a call has failed: the program may well leave out those that depend on it."""


class PlanOrder:
    """The calls of one commit. Each has its turn once all before it are over, and as many calls have begun as had
    then."""

    def __init__(self, entries: Iterable[Entry], patience: float) -> None:
        """`patience`: how many seconds a call waits for those before it, while none of them is under way."""
        self._entries = [*entries]
        self._at = {entry.place: number for number, entry in enumerate(self._entries)}
        self._begun_then = [entry.begun for entry in self._entries]
        self._over: set[int] = set()
        self._next = self._begun = 0
        self._under_way: set[int] = set()
        self._patience = patience
        self._moved = anyio.Event()

    def begun(self, calls: int) -> None:
        """So many calls have begun now."""
        self._begun = calls
        self._move()

    async def turn(self, entry: Entry) -> bool:
        """Wait for the turn of a call. Returns: whether it came; it does not while the program does not make the calls
        that come before it."""
        at = self._at.get(entry.place)
        while at is not None and (self._next < at or self._begun < self._begun_then[at]):
            moved = self._moved
            with anyio.move_on_after(self._patience) as scope:
                await moved.wait()
            if scope.cancelled_caught and not self._under_way:
                return False
        self._under_way.add(entry.place)
        return True

    def over(self, entry: Entry, *, failed: bool = False) -> None:
        """A call has ended, whether or not its turn had come."""
        self._under_way.discard(entry.place)
        self._over.add(entry.place)
        if failed:
            self._patience = min(self._patience, _PATIENCE_AFTER_A_FAILURE)
        while self._next < len(self._entries) and self._entries[self._next].place in self._over:
            self._next += 1
        self._move()

    def _move(self) -> None:
        moved, self._moved = self._moved, anyio.Event()
        moved.set()
