"""The scrubber: keeps secrets and fetched tokens out of every output, also those that an API echoes re-encoded."""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from doorward.data.values import cut, plain
from doorward.model.errors import DoorwardError, LimitExceeded
from doorward.model.principals import person_of
from doorward.secrets.detection import is_drawn
from doorward.secrets.needles import Forms, Needles
from doorward.secrets.owners import NO_OWNER, Owner, Redact
from doorward.secrets.redaction import Redactor
from doorward.secrets.variants import forms

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


MAX_MESSAGE_CHARACTERS = 1000
"""A longer message of an error is cut."""
MAX_BODY_BYTES = 200_000
"""A program sees no more of the body of an error."""
MIN_SECRET_CHARACTERS = 6
"""Shorter values are not scrubbed: to remove `test` would ruin ordinary answers."""
_ORDINARY = re.compile(r"(?=.{0,11}\Z)(([A-Z]?[a-z]+|[A-Z]+)([-_. /]|\Z))+|\d{0,11}")
"""Fetched values that are not scrubbed: an API that sets a cookie to `description`, or to a person's number, would
remove that from all answers. No token looks like that."""
MAX_FETCHED_VALUES = 32
"""Values of one reference, or fetched values (tokens) of one auth, that are scrubbed: the latest ones, and those that
calls in progress have revealed (`holds`). Earlier ones have expired long ago."""
MAX_SHARED_VALUES = 1000
"""The same for all principals together: each has a few values, and adds them again with each request."""
MIN_UNGUESSABLE_BITS = 50
"""Entropy from which on a secret cannot be guessed. In text that programs write, only such secrets are searched for: a
program could write a million passwords, and see which one is removed."""
_MAX_REDACTORS = 256


class Scope(NamedTuple):
    """Which secrets may occur in a text."""

    servers: frozenset[str]
    principal: str
    made_by_program: bool = False
    """Whether a program wrote the text: then it cannot hold secrets of other principals, and secrets that can be
    guessed are not searched for."""

    def covers(self, known: _Known) -> bool:
        """Whether a secret may occur in the text. A server may know what was sent to another server, from a file
        perhaps: so its answers may hold any credential that cannot be guessed."""
        if known.bits < MIN_UNGUESSABLE_BITS:
            return not self.made_by_program and any(self._has(owner) for owner in known.owners)
        return any((owner.is_credential and not self.made_by_program) or self._has(owner) for owner in known.owners)

    def _has(self, owner: Owner) -> bool:
        if self.made_by_program and not owner.is_credential:
            return False
        if not owner.server:
            return owner.principal == self.principal if owner.principal else not self.made_by_program
        return owner.server in self.servers and (not self.made_by_program or owner.principal in ("", self.principal))


@lru_cache(1024)
def answers_of(server: str, principal: str = "") -> Scope:
    """The scope of a server's answers to a principal: all secrets sent to that server, for any principal, and the
    unguessable ones sent to others."""
    return Scope(frozenset({server}), person_of(principal))


def made_by(principal: str, servers: frozenset[str]) -> Scope:
    """The scope of text that a principal's programs write: secrets sent for that principal to the servers that the
    programs have called."""
    return Scope(servers, person_of(principal), made_by_program=True)


@dataclass(slots=True)
class _Known:
    """A value that is scrubbed: its forms, how hard it is to guess, and its owners with the times that each gave it."""

    forms: Forms
    bits: float
    owners: Counter[Owner]


class Scrubber:
    """Remembers secrets, and removes them from texts, values and errors."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._forever: set[tuple[str, Owner]] = set()
        self._latest: dict[tuple[str, str], Redact] = {}
        self._redactors: dict[Scope | None, Redactor] = {}
        self.holds = Holds(self._add, self._forget)

    def remember(self, value: str, *, of: str = "", most: int = MAX_FETCHED_VALUES, whose: Owner = NO_OWNER) -> None:
        """Scrub a value from now on, in every encoding that `variants` lists. `of` names the reference that has this
        value, if it may change: then its `most` latest values are scrubbed."""
        for text in {value, value.strip()}:
            if of:
                if (of, whose.server) not in self._latest:  # one for all principals of a server
                    self._latest[of, whose.server] = self._window(most)
                self._latest[of, whose.server](text, whose)
            elif (text, whose) not in self._forever:
                self._forever.add((text, whose))
                self._add(text, whose)

    def redaction(self, most: int = MAX_FETCHED_VALUES) -> Redact:
        """A `remember` for values that are fetched again and again: the `most` latest values are scrubbed, except
        ordinary words. Programs may know a value that does not look random (`application/json` in a cookie). It lives
        as long as the scrubber, so make few of them."""
        latest = self._window(most)

        def redact(value: str, whose: Owner = NO_OWNER) -> None:
            if not _ORDINARY.fullmatch(value):
                latest(value, whose._replace(is_credential=is_drawn(value)))

        return redact

    def _window(self, most: int) -> Redact:
        kept: dict[tuple[str, Owner], None] = {}

        def latest(value: str, whose: Owner = NO_OWNER) -> None:
            if (value, whose) in kept:
                del kept[value, whose]
            else:
                self._add(value, whose)
            kept[value, whose] = None
            if len(kept) > most:
                oldest = next(iter(kept))
                del kept[oldest]
                self._forget(*oldest)

        def redact(value: str, whose: Owner = NO_OWNER) -> None:
            latest(value, whose)
            self.holds.hold(value, whose, latest)

        return redact

    def _add(self, text: str, whose: Owner) -> None:
        if len(text) < MIN_SECRET_CHARACTERS:
            return
        if text not in self._known:
            self._known[text] = _Known(Forms(forms(text)), bits(text), Counter())
        if not self._known[text].owners[whose]:
            self._redactors.clear()
        self._known[text].owners[whose] += 1

    def _forget(self, text: str, whose: Owner) -> None:
        """Redactors that know the value stay as they are: they are made anew with the next value, and not for each call
        that ends."""
        if (known := self._known.get(text)) is None:
            return
        known.owners[whose] -= 1
        if not known.owners[whose]:
            del known.owners[whose]
        if not known.owners:
            del self._known[text]

    def redactor(self, scope: Scope | None = None) -> Redactor:
        """A redactor for the secrets of a scope; without a scope for all known secrets."""
        if (found := self._redactors.get(scope)) is None:
            if len(self._redactors) >= _MAX_REDACTORS:
                self._redactors.clear()
            known = [known for known in [*self._known.values()] if scope is None or scope.covers(known)]
            credentials = frozenset(
                n for n, each in enumerate(known) if any(owner.is_credential for owner in each.owners)
            )
            found = self._redactors[scope] = Redactor(Needles([each.forms for each in known]), credentials)
        return found

    def scrub(self, text: str, scope: Scope | None = None) -> str:
        """A text with all revealed secrets replaced by `[secret]`."""
        return self.redactor(scope).text(text)

    def scrub_value(self, value: Any) -> Any:
        """A JSON value (or bytes) without secrets in keys, strings and numbers."""
        return self.redactor().value(value)

    def scrub_error(self, error: DoorwardError, scope: Scope | None = None) -> None:
        """Remove secrets from an error, see `redact_error`."""
        redact_error(error, self.redactor(scope))


def redact_error(error: DoorwardError, redactor: Redactor) -> None:
    """Remove secrets from the texts of an error, and only then cut these: half a credential is not found."""
    text = redactor.text(error.message)
    error.message = text if len(text) <= MAX_MESSAGE_CHARACTERS else f"{text[:MAX_MESSAGE_CHARACTERS]} …"
    error.hint = redactor.text(error.hint) if error.hint else None
    error.args = (error.message,)
    if getattr(error, "body", None) is not None:
        error.body = cut(redactor.value(plain(error.body, keep=(int,))), MAX_BODY_BYTES)  # type: ignore[attr-defined]


def is_guessable(value: str) -> bool:
    """Whether a value can be guessed, so that it is not looked for in what programs make."""
    return bits(value) < MIN_UNGUESSABLE_BITS


def bits(value: str) -> float:
    """An upper bound for the entropy of a value, from its length and the number of its different characters."""
    return len(value) * math.log2(len(set(value))) if value else 0.0
