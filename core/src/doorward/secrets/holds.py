"""Keeps what a request carries scrubbed as long as its answer can come, however many other requests are made meanwhile.

What a call reveals is held until it ends; what a connection was opened with, until that is closed.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar

from doorward.model.errors import LimitExceeded
from doorward.secrets.owners import Owner, Redact

MAX_HELD_VALUES = 2000
"""Different values that the calls of one server hold at the same time, of about 8 kB each. A request that would carry
one more is not made."""

MAX_VALUES_OF_CONNECTION = 100
"""Values that one connection holds: the latest, because one that stays open for days may sign its own requests."""

Value = tuple[str, Owner]


class Hold:
    """The values of one call to a server, or of one connection, each with what remembers it afterwards. `strays` are
    values that some call revealed, this one or an older one. `holds` is None once it is over."""

    def __init__(self, holds: Holds, server: str = "") -> None:
        self.holds: Holds | None = holds
        self.server = server
        self.values: dict[Value, Redact] = {}
        self.strays: dict[Value, Redact] = {}


_CURRENT: ContextVar[Hold | None] = ContextVar("hold", default=None)
"""The hold of the call or the connection for which this task works."""


class Holds:
    """The holds of one scrubber, whose functions `add` and `forget` count how often it has to know a value."""

    def __init__(self, add: Callable[[str, Owner], None], forget: Callable[[str, Owner], None]) -> None:
        self._add = add
        self._forget = forget
        self._calls: defaultdict[str, dict[Hold, None]] = defaultdict(dict)
        self._counts: defaultdict[str, Counter[Value]] = defaultdict(Counter)

    def of_call(self, server: str) -> AbstractContextManager[None]:
        """A call to a server, or its compile: holds what this task and all that it starts reveal in this block."""
        return _OfCall(self, Hold(self, server))

    def begin(self, hold: Hold) -> None:
        """Hold what a call reveals."""
        self._calls[hold.server][hold] = None

    def end(self, hold: Hold) -> None:
        """Let go what a call has revealed. Strays go to an older call, as long as there is one."""
        calls = self._calls[hold.server]
        if hold.strays and (older := _before(hold, calls)) is not None:
            for value in hold.strays.keys() - older.strays.keys():
                older.strays[value] = hold.strays.pop(value)
        for held in (hold.values, hold.strays):
            for value in [*held]:
                self._release(value, held, hold.server)
        del calls[hold]
        if not calls:
            del self._calls[hold.server]
            self._counts.pop(hold.server, None)

    @contextlib.contextmanager
    def of_connection(self) -> Iterator[None]:
        """A connection that outlives the call for which it is opened: holds what is revealed in this block."""
        hold = Hold(self)
        try:
            with _current(hold):
                yield
        finally:
            for value in [*hold.values]:
                self._release(value, hold.values)

    def hold(self, text: str, whose: Owner, latest: Redact) -> None:
        """Hold a value that is revealed; `latest` remembers it afterwards. If this task works for no call that is in
        progress (a plugin may send the requests of all calls in one task), any call to the server may have revealed it.

        Raises: LimitExceeded.
        """
        value, hold = (text, whose), _CURRENT.get()
        if hold is None or hold.holds is not self:
            if calls := self._calls.get(whose.server):
                self._keep(value, latest, next(reversed(calls)).strays, whose.server)
        elif hold.server:
            self._keep(value, latest, hold.values, hold.server)
        else:
            self._keep(value, latest, hold.values)
            if len(hold.values) > MAX_VALUES_OF_CONNECTION:
                self._release(next(iter(hold.values)), hold.values)

    def _keep(self, value: Value, latest: Redact, held: dict[Value, Redact], server: str = "") -> None:
        if value in held:
            return
        if server:
            counts = self._counts[server]
            if value not in counts and len(counts) >= MAX_HELD_VALUES:
                raise LimitExceeded(
                    f"the calls to {server} that are in progress carry {MAX_HELD_VALUES:,} credentials already",
                    hint="Make fewer calls at the same time.",
                )
            counts[value] += 1
        held[value] = latest
        self._add(*value)

    def _release(self, value: Value, held: dict[Value, Redact], server: str = "") -> None:
        latest = held.pop(value)
        latest(*value)
        self._forget(*value)
        if server:
            counts = self._counts[server]
            counts[value] -= 1
            if not counts[value]:
                del counts[value]


class _OfCall:
    """See `Holds.of_call`. A class, and no generator: one is around every call."""

    __slots__ = ("_before", "_hold", "_holds")

    def __init__(self, holds: Holds, hold: Hold) -> None:
        self._holds = holds
        self._hold = hold

    def __enter__(self) -> None:
        self._holds.begin(self._hold)
        self._before = _CURRENT.set(self._hold)

    def __exit__(self, *raised: object) -> None:
        self._hold.holds = None
        _CURRENT.reset(self._before)
        self._holds.end(self._hold)


@contextlib.contextmanager
def _current(hold: Hold) -> Iterator[None]:
    before = _CURRENT.set(hold)
    try:
        yield
    finally:
        hold.holds = None
        _CURRENT.reset(before)


def _before(hold: Hold, calls: dict[Hold, None]) -> Hold | None:
    """The youngest of the calls that are older than this one."""
    older = None
    for each in calls:
        if each is hold:
            return older
        older = each
    return None
