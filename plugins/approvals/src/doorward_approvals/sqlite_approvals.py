"""Requests and their answers in one SQLite file, which any number of processes share. What people are shown of a call
is sealed there, if there is a key, with all that a request is bound to and its answer: a row that somebody changes, or
makes of others, is no request.

Whatever goes wrong with the file, nobody is taken to have said yes: a broken one is put aside, what cannot be opened is
not there, and people are asked anew.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from doorward import StateError
from doorward.engines import Box, Sealing
from doorward.files import SqliteFile, SqliteLayout

from doorward_approvals.binding import Binding
from doorward_approvals.request import ApprovalRequest, ApprovalScope

if TYPE_CHECKING:
    from sqlite_utils import Database

WAIT_SECONDS = 5.0
"""Seconds to wait for another process that is writing."""

_COLUMNS: dict[str, Any] = {
    "id": str, "state": str, "principal": str, "run": str, "place": str, "exact": str, "alike": str, "session": str,
    "scope": str, "who": str, "said": str, "created": float, "expires": float, "shown": str,
}  # fmt: skip

_MADE = """CREATE TABLE "requests" (
   "id" TEXT PRIMARY KEY,
   "state" TEXT,
   "principal" TEXT,
   "run" TEXT,
   "place" TEXT,
   "exact" TEXT,
   "alike" TEXT,
   "session" TEXT,
   "scope" TEXT,
   "who" TEXT,
   "said" TEXT,
   "created" REAL,
   "expires" REAL,
   "shown" TEXT
)"""


def _table(db: Database) -> None:
    db.table("requests").create(_COLUMNS, pk="id")


LAYOUT = SqliteLayout((_table,), "SELECT count(*) FROM (SELECT 1 FROM requests LIMIT 1)", made=_MADE)

_SHOWN = ("function", "effect", "arguments", "rule", "reason", "lines", "scopes", "always", "kind")
"""The fields of a request that people read only: no statement looks for them."""

_THIS_CALL = "principal = :principal AND place = :place AND exact = :exact"
_INSERT = f"INSERT INTO requests VALUES ({', '.join(f':{name}' for name in _COLUMNS)})"  # noqa: S608
_UPDATE = (
    "UPDATE requests SET state = :state, place = :place, scope = :scope, who = :who, said = :said, shown = :shown "
    "WHERE id = :id"
)
_ANSWERED = "(state = 'denied' OR (state = 'approved' AND scope = 'once'))"
_FURTHER = (
    "state = 'approved' AND principal = :principal AND alike = :alike AND "
    "((scope = 'run' AND run = :run) OR (scope = 'session' AND session = :session AND session != ''))"
)


class SqliteApprovals:
    """Requests of any number of processes, in one file, which the first request makes. Each method is one step that
    others see as a whole. `now` is in seconds since the epoch: what has expired by then is not there any more. All
    raise StateError. `key` reveals the `vault_key`."""

    def __init__(self, path: Path, key: Callable[[], str] | None = None) -> None:
        self.path = path
        self._sealing = Sealing(key, path.with_suffix(".salt"), "approvals")
        hint = "Requests for approval are gone. Calls that wait for one are asked about anew."
        self._file = SqliteFile(path, LAYOUT, event="approvals_put_aside", hint=hint)
        self._log = path.with_name(f"{path.name}-wal")

    def version(self) -> object:
        """Something cheap that differs once anything has changed."""
        return _stamp(self.path), _stamp(self._log)

    def opened(
        self, request: ApprovalRequest, binding: Binding, *, besides: Collection[str], most: int
    ) -> ApprovalRequest | None:
        """A request with this binding that is open already, `besides` those that other calls wait for; else this one,
        now stored; `None` if its principal has `most` that are open."""
        box = self._box()
        with self._writing(request.created) as db:
            bound = _bound(binding, box)
            for row in db.execute(f"SELECT * FROM requests WHERE state = 'open' AND {_THIS_CALL}", bound):  # noqa: S608
                if row["id"] not in besides and (found := _request(row, box)) is not None:
                    return found
            theirs = db.execute("SELECT * FROM requests WHERE state = 'open' AND principal = ?", [request.principal])
            if sum(_request(row, box) is not None for row in theirs) >= most:  # those of another key nobody can answer
                return None
            shown = {key: value for key, value in asdict(request).items() if key in _SHOWN}
            values = bound | {key: getattr(request, key) for key in ("id", "created", "expires")}
            values |= {"state": "open", "scope": "once", "who": "", "said": ""}
            db.execute(_INSERT, values | {"shown": _sealed(shown, values, box)})
            return request

    def settled(
        self, binding: Binding, now: float, *, id: str = "", besides: Collection[str] = ()
    ) -> ApprovalRequest | None:
        """The answer to a call, if there is one: to its request `id`, or to any `besides` those that other calls wait
        for. A yes to this call alone is used up by this."""
        if not self._file.place():
            return None
        box = self._box()
        with self._writing(now) as db:
            bound = _bound(binding, box)
            row = db.execute(f"SELECT * FROM requests WHERE {_FURTHER} LIMIT 1", bound).fetchone()  # noqa: S608
            if row is not None and (found := _request(row, box)) is not None:
                return found
            rows = db.execute(f"SELECT * FROM requests WHERE {_ANSWERED} AND {_THIS_CALL}", bound).fetchall()  # noqa: S608
            rows = [row for row in rows if _request(row, box) is not None]
            mine = [row for row in rows if (row["id"] == id if id else row["id"] not in besides)]
            for row in sorted(mine, key=lambda row: str(row["state"])):  # approved ones come first
                if row["state"] == "approved":
                    _change(db, row, box, {"state": "used"})
                elif not binding.place:  # else a no holds for all of its run, which would ask again and again
                    _change(db, row, box, {"place": row["id"]})
                return _request(row, box)
            denied = [row for row in rows if row["state"] == "denied" and binding.place]
            return _request(denied[0], box) if denied else None

    def answered(
        self,
        ids: Collection[str],
        state: Literal["approved", "denied"],
        scope: ApprovalScope,
        by: str,
        said: str,
        now: float,
    ) -> Collection[str]:
        """Answer requests. Returns: the ids of those that were open; the first answer counts."""
        if not self._file.place():
            return ()
        box, answered = self._box(), []
        with self._writing(now) as db:
            for id in ids:
                row = db.execute("SELECT * FROM requests WHERE id = ? AND state = 'open'", [id]).fetchone()
                if row is not None and _request(row, box) is not None:
                    _change(db, row, box, {"state": state, "scope": scope, "who": by, "said": said})
                    answered.append(id)
        return answered

    def withdrawn(self, id: str) -> None:
        """Remove a request that is open, because another answer covers it."""
        with self._writing(0.0) as db:
            db.execute("DELETE FROM requests WHERE id = ? AND state = 'open'", [id])

    def found(self, id: str, now: float) -> ApprovalRequest | None:
        """The request of this id."""
        return next((each for each in self.all(now) if each.id == id), None)

    def all(self, now: float) -> Sequence[ApprovalRequest]:
        """All requests, the oldest first."""
        with self._file.errors():
            db = self._file.found(WAIT_SECONDS)
            if db is None:
                return []
            with contextlib.closing(db):
                db.row_factory = sqlite3.Row
                rows = db.execute("SELECT * FROM requests WHERE expires > ? ORDER BY created, id", [now]).fetchall()
        box = self._box()
        return [found for row in rows if (found := _request(row, box)) is not None]

    def _box(self) -> Box:
        return self._sealing.box("approvals")

    @contextlib.contextmanager
    def _writing(self, now: float) -> Iterator[sqlite3.Connection]:
        """A connection within a transaction, in which nothing is left that has expired."""
        with self._file.errors(), self._file.transaction(WAIT_SECONDS, "secure_delete = ON") as db:
            db.row_factory = sqlite3.Row
            db.execute("DELETE FROM requests WHERE expires <= ?", [now])
            yield db


def _bound(binding: Binding, box: Box) -> dict[str, Any]:
    """The columns of a binding. Its hashes are of what a call is about, which others might guess."""
    bound = asdict(binding)
    return bound | {name: box.keyed(bound[name]) for name in ("exact", "alike")}


def _opened(row: sqlite3.Row, box: Box) -> dict[str, Any]:
    """What people are shown of a row. Raises: StateError, ValueError if it was sealed with another key, or changed."""
    text = row["shown"]
    content = box.opened(text if isinstance(text, bytes) else text.encode(), row["id"].encode())
    shown: dict[str, Any] = json.loads(content)
    if shown.pop("row", None) != (_proven(row) if box.seals else None):
        raise ValueError("the row was changed")
    return shown


def _sealed(shown: Mapping[str, Any], row: Mapping[str, Any] | sqlite3.Row, box: Box) -> bytes | str:
    """The content of the column `shown`, which proves the others where there is a key."""
    if not box.seals:
        return json.dumps(shown)
    return box.sealed(json.dumps({**shown, "row": _proven(row)}).encode(), row["id"].encode())


def _proven(row: Mapping[str, Any] | sqlite3.Row) -> dict[str, Any]:
    return {name: row[name] for name in _COLUMNS if name != "shown"}


def _change(db: sqlite3.Connection, row: sqlite3.Row, box: Box, to: Mapping[str, str]) -> None:
    """Change columns of a row, in a transaction in which it was read."""
    new = {**_proven(row), **to}
    db.execute(_UPDATE, new | {"shown": _sealed(_opened(row, box), new, box)})


def _request(row: sqlite3.Row, box: Box) -> ApprovalRequest | None:
    """The request of a row; `None` if it was sealed with another key, or changed."""
    try:
        shown = _opened(row, box)
    except (StateError, ValueError):
        return None
    shown |= {"lines": tuple(shown["lines"]), "scopes": tuple(shown["scopes"])}
    rest = {key: row[key] for key in ("id", "principal", "run", "created", "expires", "state", "scope", "said")}
    rest["by"] = row["who"]
    return ApprovalRequest(**shown, **rest)


def _stamp(path: Path) -> object:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
