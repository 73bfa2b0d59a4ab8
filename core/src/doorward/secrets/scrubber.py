"""The scrubber: what keeps secrets and fetched tokens out of every output, also where an API echoes them in another
encoding."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from doorward.data.values import cut, plain
from doorward.model.errors import DoorwardError
from doorward.secrets.detection import is_drawn
from doorward.secrets.needles import Forms, Needles
from doorward.secrets.redaction import Redactor
from doorward.secrets.variants import forms

MAX_MESSAGE_CHARACTERS = 1000
"""Characters of an error's message."""
MAX_BODY_BYTES = 200_000
"""Bytes of an error's body that a program sees."""
MIN_SECRET_CHARACTERS = 6
"""Revealed values of fewer characters are not scrubbed: removing `test` would ruin ordinary answers."""
_ORDINARY = re.compile(r"(?=.{0,11}\Z)(([A-Z]?[a-z]+|[A-Z]+)([-_. /]|\Z))+|\d{0,11}")
"""Fetched values that are not scrubbed: an API that sets a cookie to `description`, or to a person's number, would take
that out of the answers of all. No token is like that."""
MAX_FETCHED_VALUES = 32
"""Values of one reference, or fetched ones (tokens) of one auth, that are scrubbed: the latest. Those that went before
have long ended."""
MAX_SHARED_VALUES = 1000
"""The same of all principals together: each has a few, and adds them again with each request."""
MIN_UNGUESSABLE_BITS = 50
"""Of a secret that is searched for in what programs make themselves. One that can be guessed would be found there by
guessing: a program may write a million passwords, and see which is taken out."""
_MAX_REDACTORS = 256


class Owner(NamedTuple):
    """Whose a secret is: of a server (its module's name), of a principal there, or of a principal alone. What is no
    credential, such as a user's name, is taken out of answers like one; but programs may know it, and write it."""

    server: str = ""
    principal: str = ""
    is_credential: bool = True


NO_OWNER = Owner()


class Redact(Protocol):
    """Scrubs a value from now on, as long as it is among the latest that this was told."""

    def __call__(self, value: str, whose: Owner = NO_OWNER) -> None: ...


class Scope(NamedTuple):
    """Which secrets may stand in a text."""

    servers: frozenset[str]
    principal: str
    made_by_program: bool = False
    """Whether a program wrote the text: then no secret of other principals has reached it, and none that can be guessed
    is searched for."""

    def covers(self, known: _Known) -> bool:
        """Whether it is one of them. A server may read what was sent to another, in a file perhaps: credentials of all
        that cannot be guessed are among those of its answers."""
        if known.bits < MIN_UNGUESSABLE_BITS:
            return not self.made_by_program and any(self._has(owner) for owner in known.owners)
        return any((owner.is_credential and not self.made_by_program) or self._has(owner) for owner in known.owners)

    def _has(self, owner: Owner) -> bool:
        if self.made_by_program and not owner.is_credential:
            return False
        if not owner.server:
            return owner.principal == self.principal if owner.principal else not self.made_by_program
        return owner.server in self.servers and (not self.made_by_program or owner.principal in ("", self.principal))


def answers_of(server: str, principal: str = "") -> Scope:
    """What may stand in what a server says to a principal: all secrets that it was sent, whoever's, and what others
    were sent."""
    return Scope(frozenset({server}), principal)


def made_by(principal: str, servers: frozenset[str]) -> Scope:
    """What may stand in what a principal's programs make themselves: what these servers, which they have called, were
    sent for them."""
    return Scope(servers, principal, made_by_program=True)


@dataclass(slots=True)
class _Known:
    """A value that is scrubbed: its forms, how hard it is to guess, and whose it is, as often as they said so."""

    forms: Forms
    bits: float
    owners: Counter[Owner]


class Scrubber:
    """Remembers what must not be seen, and takes it out of texts, values and errors."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._forever: set[tuple[str, Owner]] = set()
        self._latest: dict[tuple[str, str], Redact] = {}
        self._redactors: dict[Scope | None, Redactor] = {}

    def remember(self, value: str, *, of: str = "", most: int = MAX_FETCHED_VALUES, whose: Owner = NO_OWNER) -> None:
        """Scrub this value from now on, in every encoding that `variants` lists. `of`: what it is a value of, if that
        may change: its `most` latest values are scrubbed."""
        for text in {value, value.strip()}:
            if of:
                if (of, whose.server) not in self._latest:  # one for all principals there
                    self._latest[of, whose.server] = self._window(most)
                self._latest[of, whose.server](text, whose)
            elif (text, whose) not in self._forever:
                self._forever.add((text, whose))
                self._add(text, whose)

    def redaction(self, most: int = MAX_FETCHED_VALUES) -> Redact:
        """A `remember` for what is fetched again and again: the `most` values that it was told last are scrubbed, but
        for ordinary words. What does not look drawn by a machine (`application/json` in a cookie) programs may know.
        For as long as there is the scrubber: make few of them."""
        latest = self._window(most)

        def redact(value: str, whose: Owner = NO_OWNER) -> None:
            if not _ORDINARY.fullmatch(value):
                latest(value, whose._replace(is_credential=is_drawn(value)))

        return redact

    def _window(self, most: int) -> Redact:
        kept: dict[tuple[str, Owner], None] = {}

        def redact(value: str, whose: Owner = NO_OWNER) -> None:
            if (value, whose) in kept:
                del kept[value, whose]
            else:
                self._add(value, whose)
            kept[value, whose] = None
            if len(kept) > most:
                oldest = next(iter(kept))
                del kept[oldest]
                self._forget(*oldest)

        return redact

    def _add(self, text: str, whose: Owner) -> None:
        if len(text) < MIN_SECRET_CHARACTERS:
            return
        if text not in self._known:
            self._known[text] = _Known(Forms(forms(text)), bits(text), Counter())
        self._known[text].owners[whose] += 1
        self._redactors.clear()

    def _forget(self, text: str, whose: Owner) -> None:
        if (known := self._known.get(text)) is None:
            return
        known.owners[whose] -= 1
        if not known.owners[whose]:
            del known.owners[whose]
        if not known.owners:
            del self._known[text]
        self._redactors.clear()

    def redactor(self, scope: Scope | None = None) -> Redactor:
        """What takes out the secrets of a scope; without one all that are known, for what the operator reads."""
        if (found := self._redactors.get(scope)) is None:
            if len(self._redactors) >= _MAX_REDACTORS:
                self._redactors.clear()
            known = [known for known in self._known.values() if scope is None or scope.covers(known)]
            credentials = frozenset(
                n for n, each in enumerate(known) if any(owner.is_credential for owner in each.owners)
            )
            found = self._redactors[scope] = Redactor(Needles([each.forms for each in known]), credentials)
        return found

    def scrub(self, text: str, scope: Scope | None = None) -> str:
        """`text` with what was revealed replaced by `[secret]`."""
        return self.redactor(scope).text(text)

    def scrub_value(self, value: Any) -> Any:
        """A JSON value (or bytes) scrubbed in keys, strings and numbers."""
        return self.redactor().value(value)

    def scrub_error(self, error: DoorwardError, scope: Scope | None = None) -> None:
        """An error without what was revealed, see `redact_error`."""
        redact_error(error, self.redactor(scope))


def redact_error(error: DoorwardError, redactor: Redactor) -> None:
    """Take secrets out of an error's message, hint and body, and only then cut them: half of a credential would not be
    found."""
    text = redactor.text(error.message)
    error.message = text if len(text) <= MAX_MESSAGE_CHARACTERS else f"{text[:MAX_MESSAGE_CHARACTERS]} …"
    error.hint = redactor.text(error.hint) if error.hint else None
    error.args = (error.message,)
    if getattr(error, "body", None) is not None:
        error.body = cut(redactor.value(plain(error.body, keep=(int,))), MAX_BODY_BYTES)  # type: ignore[attr-defined]


def bits(value: str) -> float:
    """At most how hard a value is to guess, as bits: what its length, and the number of its different characters,
    allow."""
    return len(value) * math.log2(len(set(value))) if value else 0.0
