"""Requests and their answers in the store, which any number of processes share. All of a request is sealed there, if
there is a key: a record that somebody changes, or makes of others, is no request.

Whatever goes wrong with the store, nobody is taken to have said yes: what cannot be read is not there, and people are
asked anew.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from doorward import StateError
from doorward.administration import run_in_thread
from doorward.engines import Change, Delete, Notify, Put, Record, Store, retry, scan_all, take_over
from doorward_durable_runs import Box, Sealing, shared_salt

from doorward_approvals.binding import Binding
from doorward_approvals.request import ApprovalRequest, ApprovalScope

T = TypeVar("T")

TABLE = "approvals"
"""The table of requests. A key is a principal as JSON, and the id of a request; also the topic of their changes."""

TURNS = "approval turns"
"""The table with one record, which each change of requests changes, too: what was read is still so when it is made."""

EARLIER = "approvals.db"
_COLUMNS = (
    "id", "state", "principal", "run", "place", "exact", "alike", "session", "scope", "who", "said", "created",
    "expires", "shown",
)  # fmt: skip
_EARLIER = f"SELECT {', '.join(_COLUMNS)} FROM requests"  # noqa: S608


@dataclass(frozen=True, slots=True)
class _Stored:
    """A request with what it is bound to."""

    request: ApprovalRequest
    binding: Binding


class StoredApprovals:
    """Requests of any number of processes. Each method is one step that others see as a whole; all raise StateError.
    `key` reveals the `vault_key`, `before` the one before that; `clock` is for what a request says itself of its end.
    `state` is the folder with what this process needs, and with the file of versions before the store."""

    def __init__(
        self,
        store: Store,
        state: Path,
        key: Callable[[], str] | None = None,
        clock: Callable[[], float] = time.time,
        before: Callable[[], str] | None = None,
    ) -> None:
        self._store, self._clock, self._before = store, clock, before
        self._key, self._salt, self._is_ready = key, state / "approvals.salt", False
        self._box = Box(None, b"", "approvals")
        self._earlier: Path | None = state / EARLIER

    async def changes(self, seen: int = -1, timeout: float = 0.0) -> int:
        """A number that rises when requests are answered; wait for a higher one than `seen`, see `Store.signal`. (Who
        waits looks at all requests then: woken by each other's as well, many would look thousands of times.)"""
        return await self._store.signal(TABLE, seen, timeout)

    async def opened(
        self, request: ApprovalRequest, binding: Binding, *, besides: Collection[str], most: int
    ) -> ApprovalRequest | None:
        """A request with this binding that is open already, `besides` those that other calls wait for; else this one,
        now stored; `None` if its principal has `most` that are open."""
        bounds = _bounds(binding, await self._ready())

        def decide(stored: Sequence[_Stored]) -> tuple[list[Change], ApprovalRequest | None]:
            theirs = [each for each in stored if each.request.state == "open"]
            for each in theirs:
                if _is_this(each.binding, bounds) and each.request.id not in besides:
                    return [], each.request
            if len(theirs) >= most:  # those of another key nobody can answer: they are not among these
                return [], None
            new: list[Change] = [self._put(_Stored(request, bounds[0]), request.expires - request.created)]
            return new, request

        return await self._decided(request.principal, decide)

    async def settled(self, binding: Binding, *, id: str = "", besides: Collection[str] = ()) -> ApprovalRequest | None:
        """The answer to a call, if there is one: to its request `id`, or to any `besides` those that other calls wait
        for. A yes to this call alone is used up by this."""
        bounds = _bounds(binding, await self._ready())

        def decide(stored: Sequence[_Stored]) -> tuple[list[Change], ApprovalRequest | None]:
            for each in stored:
                if any(_reaches(each, bound) for bound in bounds):
                    return [], each.request
            rows = [each for each in stored if _is_this(each.binding, bounds) and _is_answered(each.request)]
            mine = [each for each in rows if (each.request.id == id if id else each.request.id not in besides)]
            for each in sorted(mine, key=lambda each: each.request.state):  # approved ones come first
                if each.request.state == "approved":
                    return [self._again(each, replace(each.request, state="used"))], each.request
                told: list[Change] = []
                if not binding.place:  # else a no holds for all of its run, which would ask again and again
                    told.append(self._again(each, each.request, place=each.request.id))
                return told, each.request
            denied = [each.request for each in rows if each.request.state == "denied" and binding.place]
            return [], denied[0] if denied else None

        return await self._decided(binding.principal, decide)

    async def answered(
        self, requests: Collection[ApprovalRequest], state: Literal["approved", "denied"], scope: ApprovalScope,
        by: str, said: str,
    ) -> Collection[str]:  # fmt: skip
        """Answer requests. Returns: the ids of those that were open; the first answer counts."""
        ids = {request.id for request in requests}

        def decide(stored: Sequence[_Stored]) -> tuple[list[Change], list[str]]:
            open_ = [each for each in stored if each.request.id in ids and each.request.state == "open"]
            answers = [replace(each.request, state=state, scope=scope, by=by, said=said) for each in open_]
            changes: list[Change] = [self._again(each, answer) for each, answer in zip(open_, answers, strict=True)]
            return [*changes, Notify(TABLE)] if changes else [], [each.request.id for each in open_]

        return await self._decided(None, decide)

    async def withdrawn(self, request: ApprovalRequest) -> None:
        """Remove a request that is open, because another answer covers it."""

        def decide(stored: Sequence[_Stored]) -> tuple[list[Change], None]:
            ours = [each for each in stored if each.request.id == request.id and each.request.state == "open"]
            return [Delete(TABLE, _key(each.request)) for each in ours], None

        await self._decided(request.principal, decide)

    async def found(self, id: str) -> ApprovalRequest | None:
        """The request of this id."""
        return next((each for each in await self.all() if each.id == id), None)

    async def all(self) -> Sequence[ApprovalRequest]:
        """All requests, the oldest first."""
        await self._ready()
        return [each.request for each in await self._read(None)]

    async def unread(self) -> int:
        """How many cannot be read: with another key they can be answered."""
        await self._ready()
        return len([each for each in await scan_all(self._store, TABLE) if self._said(each) is None])

    async def _decided(self, principal: str | None, decide: Callable[[Sequence[_Stored]], tuple[list[Change], T]]) -> T:
        """Make the changes that follow from the requests of a principal, or of all, as they are now."""
        await self._ready()

        async def attempt() -> T:
            turn = await self._store.get(TURNS, TABLE)  # taken before reading: what changes meanwhile is a conflict
            changes, result = decide(await self._read(principal))
            if changes:
                taken = Put(TURNS, TABLE, b"", expected=turn.version if turn else 0)
                await self._store.commit(*changes, taken)
            return result

        return await retry(attempt, TABLE)

    async def _read(self, principal: str | None) -> list[_Stored]:
        records = await scan_all(self._store, TABLE, "" if principal is None else f"{json.dumps(principal)} ")
        return await run_in_thread(self._opened, records) if records else []

    def _opened(self, records: Sequence[Record]) -> list[_Stored]:
        """The requests of records, the oldest first. One that was sealed with another key, changed or made of another,
        or that says itself that its time is over, is none."""
        found, now = [], self._clock()
        for record in records:
            stored = self._said(record)
            if stored is not None and stored.request.expires > now and _key(stored.request) == record.key:
                found.append(stored)
        return sorted(found, key=lambda each: (each.request.created, each.request.id))

    def _said(self, record: Record) -> _Stored | None:
        """What a record says; `None` if it cannot be read."""
        try:
            content: dict[str, Any] = json.loads(self._box.opened(record.value, record.key.encode()))
            binding = Binding(**content.pop("binding"))
            lists = {name: tuple(content[name]) for name in ("lines", "scopes")}
            return _Stored(ApprovalRequest(**{**content, **lists}), binding)
        except (StateError, ValueError, TypeError, LookupError):
            return None

    def _again(self, stored: _Stored, request: ApprovalRequest, **bound: str) -> Put:
        """A request that is stored already, as it is now. It expires when it was said to."""
        changed = replace(stored, request=request, binding=replace(stored.binding, **bound))
        return self._put(changed, max(1.0, request.expires - self._clock()))

    def _put(self, stored: _Stored, ttl: float) -> Put:
        key = _key(stored.request)
        content = json.dumps({**asdict(stored.request), "binding": asdict(stored.binding)}).encode()
        return Put(TABLE, key, self._box.sealed(content, key.encode()), ttl=ttl)

    async def _ready(self) -> Box:
        """What seals. Takes over what an earlier version has stored."""
        if not self._is_ready:
            salt = await shared_salt(self._store, "approvals", self._salt) if self._key is not None else b""
            self._box = await run_in_thread(Sealing(self._key, salt, "approvals", before=self._before).box, "approvals")
            self._is_ready = True
        if self._earlier is not None:
            await take_over(self._store, self._earlier, _EARLIER, self._taken_over, whose=TABLE)
            self._earlier = None
        return self._box

    def _taken_over(self, rows: Sequence[Any]) -> list[Put]:
        puts, now = [], self._clock()
        for row in rows:
            stored = _earlier(dict(zip(_COLUMNS, row, strict=True)), self._box)
            if stored is not None and stored.request.expires > now:
                puts.append(self._put(stored, stored.request.expires - now))
        return puts


def _key(request: ApprovalRequest) -> str:
    return f"{json.dumps(request.principal)} {request.id}"


def _bounds(binding: Binding, box: Box) -> Sequence[Binding]:
    """A binding as it is stored, and as it may have been stored with the key before. Its hashes are of what a call is
    about, which others might guess."""
    hashes = zip(box.all_keyed(binding.exact), box.all_keyed(binding.alike), strict=True)
    return [replace(binding, exact=exact, alike=alike) for exact, alike in hashes]


def _is_this(stored: Binding, bounds: Sequence[Binding]) -> bool:
    return any(
        (stored.principal, stored.place, stored.exact) == (each.principal, each.place, each.exact) for each in bounds
    )


def _is_answered(request: ApprovalRequest) -> bool:
    return request.state == "denied" or (request.state == "approved" and request.scope == "once")


def _reaches(stored: _Stored, bound: Binding) -> bool:
    """Whether a yes reaches further than its call, and so far."""
    given, scope = stored.binding, stored.request.scope
    if stored.request.state != "approved" or (given.principal, given.alike) != (bound.principal, bound.alike):
        return False
    in_session = scope == "session" and given.session == bound.session != ""
    return in_session or (scope == "run" and given.run == bound.run)


def _earlier(row: dict[str, Any], box: Box) -> _Stored | None:
    """A request of a row of an earlier version; `None` if it was sealed with another key, or changed."""
    text, bound = row.pop("shown"), {name: row[name] for name in Binding.__dataclass_fields__}
    try:
        content = text if isinstance(text, bytes) else text.encode()
        shown: dict[str, Any] = json.loads(box.opened(content, row["id"].encode()))
        if shown.pop("row", None) != (row if box.seals else None):
            return None
        shown |= {"lines": tuple(shown["lines"]), "scopes": tuple(shown["scopes"]), "by": row["who"]}
        rest = {key: row[key] for key in ("id", "principal", "run", "created", "expires", "state", "scope", "said")}
        return _Stored(ApprovalRequest(**shown, **rest), Binding(**bound))
    except (StateError, ValueError, TypeError, LookupError):
        return None
