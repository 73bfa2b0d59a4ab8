"""The scrubber: keeps secrets and fetched tokens out of every output, also those that an API echoes re-encoded."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from doorward.data.values import cut, plain
from doorward.model.errors import DoorwardError
from doorward.secrets.detection import is_drawn
from doorward.secrets.holds import Holds
from doorward.secrets.needles import Forms, Needles
from doorward.secrets.owners import NO_OWNER, Owner, Redact
from doorward.secrets.redaction import Redactor
from doorward.secrets.variants import forms

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
    return Scope(frozenset({server}), principal)


def made_by(principal: str, servers: frozenset[str]) -> Scope:
    """The scope of text that a principal's programs write: secrets sent for that principal to the servers that the
    programs have called."""
    return Scope(servers, principal, made_by_program=True)


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
