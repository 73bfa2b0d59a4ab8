"""Who is signed in: sessions in memory, and the links that make one once."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from doorward import Principal

MAX_SESSIONS = 1000
"""Sessions at one time; of one principal a tenth of them. The oldest end first."""

LINK_SECONDS = 600.0
"""Seconds for which a link can be used."""


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who is signed in until `ends`: by a `token`, which must stay good, or by a link or at an
    authorization server (then it is empty).
    `forgery` is the token of its forms."""

    principal: Principal
    forgery: str
    ends: float
    token: str = ""


class Sessions:
    """Sessions by the hashes of their ids, so that the time of a look-up tells nothing of an id."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._open: OrderedDict[bytes, Session] = OrderedDict()
        self._links: dict[bytes, float] = {}
        self.ended: list[str] = []
        """The keys of those that were too many, in hexadecimal, for whoever stores them, too."""

    def new(self, principal: Principal, token: str = "", seconds: float | None = None) -> str:
        """Begin a session, of so many seconds if that is less. Returns: its id, which nobody can have chosen."""
        left = self._seconds if seconds is None else min(seconds, self._seconds)
        id = secrets.token_urlsafe(32)
        theirs = [key for key, each in self._open.items() if each.principal == principal]
        for key in theirs[: max(0, len(theirs) - MAX_SESSIONS // 10 + 1)]:
            del self._open[key]
            self.ended.append(key.hex())
        while len(self._open) >= MAX_SESSIONS:
            self.ended.append(self._open.popitem(last=False)[0].hex())
        self._open[_hash(id)] = Session(principal, secrets.token_urlsafe(32), self._clock() + left, token)
        return id

    def find(self, id: str) -> Session | None:
        """The session of an id, if it has not ended."""
        found = self._open.get(_hash(id))
        if found is not None and found.ends <= self._clock():
            self.end(id)
            return None
        return found

    def adopt(self, id: str, session: Session, left: float) -> Session:
        """Know a session that another process began, for the seconds that it has left."""
        self._open[_hash(id)] = found = replace(session, ends=self._clock() + left)
        while len(self._open) > MAX_SESSIONS:
            self._open.popitem(last=False)
        return found

    def left(self, session: Session) -> float:
        """The seconds that a session has."""
        return session.ends - self._clock()

    def end(self, id: str) -> None:
        """End a session, if there is one of this id."""
        self._open.pop(_hash(id), None)

    def new_link(self) -> str:
        """The secret of a link that can be used once, within `LINK_SECONDS`."""
        secret = secrets.token_urlsafe(32)
        self._links[_hash(secret)] = self._clock() + LINK_SECONDS
        return secret

    def use_link(self, secret: str) -> bool:
        """Whether this is a link that has not been used, and is not too old. It is used now."""
        ends = self._links.pop(_hash(secret), 0.0)
        return ends > self._clock()


def is_forged(session: Session, given: str) -> bool:
    """Whether a form was not made for this session."""
    return not hmac.compare_digest(session.forgery.encode(), given.encode(errors="replace"))


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
