"""The statements of a store, each within a transaction of its caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from doorward.engines import (
    Append,
    Blob,
    Change,
    Conflict,
    Delete,
    DeleteBlob,
    Forget,
    Lease,
    Named,
    Notify,
    Put,
    PutBlob,
    Record,
)

PART_BYTES = 2**18
"""Bytes of a part of a blob: a page of it is read without the rest, and SQLite bounds the size of a value."""

_NEXT = "INSERT INTO numbers VALUES ('version', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1"
_LIVE = "(expires IS NULL OR expires > ?)"
_RECORD = "SELECT key, value, version, expires FROM records WHERE kind = ?"
_SCAN = f"{_RECORD} AND key >= ? AND (? IS NULL OR key > ?) AND {_LIVE} ORDER BY key"
_NAMES: dict[Named, str] = {
    "tables": "SELECT kind AS named FROM records WHERE expires IS NULL OR expires > :now",
    "logs": "SELECT log AS named FROM entries",
    "blobs": "SELECT name AS named FROM blobs WHERE expires IS NULL OR expires > :now",
}
_NAMED = "SELECT DISTINCT named FROM ({}) WHERE :after IS NULL OR named > :after ORDER BY named LIMIT :limit"
_EXPIRED = "DELETE FROM {} WHERE expires <= ?"


def next_version(db: sqlite3.Connection) -> int:
    """Count on, and return the number: that of a commit, or the token of a lease."""
    db.execute(_NEXT)
    return int(db.execute("SELECT value FROM numbers WHERE name = 'version'").fetchone()[0])


def make(db: sqlite3.Connection, change: Change, version: int, now: float) -> None:
    """Make one change of a commit. Raises: Conflict."""
    match change:
        case Put(table, key, value, expected, ttl):
            _require_version(db, table, key, expected, now)
            row = (table, key, value, version, None if ttl is None else now + ttl)
            db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", row)
        case Delete(table, key, expected):
            _require_version(db, table, key, expected, now)
            db.execute("DELETE FROM records WHERE kind = ? AND key = ?", (table, key))
        case Append(log, entries, at):
            if end(db, log) != at:
                raise Conflict(f"the log {log!r} ends elsewhere")
            rows = [(log, position, entry) for position, entry in enumerate(entries, at)]
            db.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
        case Forget(log):
            db.execute("DELETE FROM entries WHERE log = ?", (log,))
        case PutBlob(name, content, ttl):
            db.execute("DELETE FROM blobs WHERE name = ?", (name,))
            expires, starts = None if ttl is None else now + ttl, range(0, max(1, len(content)), PART_BYTES)
            parts = (
                (name, part, content[start : start + PART_BYTES], len(content), expires)
                for part, start in enumerate(starts)
            )
            db.executemany("INSERT INTO blobs VALUES (?, ?, ?, ?, ?)", parts)
        case DeleteBlob(name):
            db.execute("DELETE FROM blobs WHERE name = ?", (name,))
        case Notify(topic):
            db.execute("INSERT OR REPLACE INTO topics VALUES (?, ?)", (topic, version))


def _require_version(db: sqlite3.Connection, table: str, key: str, expected: int | None, now: float) -> None:
    if expected is not None:
        known = record(db, table, key, now)
        if expected != (known.version if known else 0):
            raise Conflict(f"the record {key!r} of {table!r} has changed")


def record(db: sqlite3.Connection, table: str, key: str, now: float) -> Record | None:
    row = db.execute(f"{_RECORD} AND key = ? AND {_LIVE}", (table, key, now)).fetchone()
    return None if row is None else Record(*row)


def scan(
    db: sqlite3.Connection, table: str, prefix: str, after: str | None, limit: int, now: float
) -> Sequence[Record]:
    found: list[Record] = []
    for row in db.execute(f"{_SCAN} LIMIT ?", (table, prefix, after, after, now, limit)):
        if not row[0].startswith(prefix):  # keys with the prefix stand together
            break
        found.append(Record(*row))
    return found


def end(db: sqlite3.Connection, log: str) -> int:
    last = db.execute("SELECT max(position) FROM entries WHERE log = ?", (log,)).fetchone()[0]
    return 0 if last is None else int(last) + 1


def read(db: sqlite3.Connection, log: str, start: int, limit: int) -> Sequence[bytes]:
    wanted = "SELECT content FROM entries WHERE log = ? AND position >= ? ORDER BY position LIMIT ?"
    return [content for (content,) in db.execute(wanted, (log, start, limit))]


def blob(db: sqlite3.Connection, name: str, start: int, size: int | None, now: float) -> Blob | None:
    about = f"SELECT size, expires FROM blobs WHERE name = ? AND part = 0 AND {_LIVE}"  # noqa: S608
    if (found := db.execute(about, (name, now)).fetchone()) is None:
        return None
    stop = found[0] if size is None else min(found[0], start + size)
    first, last = start // PART_BYTES, max(start, stop - 1) // PART_BYTES
    wanted = "SELECT content FROM blobs WHERE name = ? AND part BETWEEN ? AND ? ORDER BY part"
    content = b"".join(part for (part,) in db.execute(wanted, (name, first, last)))
    return Blob(content[start - first * PART_BYTES : max(start, stop) - first * PART_BYTES], *found)


def names(db: sqlite3.Connection, what: Named, after: str | None, limit: int, now: float) -> Sequence[str]:
    found = db.execute(_NAMED.format(_NAMES[what]), {"after": after, "now": now, "limit": limit})
    return [name for (name,) in found]


def lease(db: sqlite3.Connection, name: str) -> tuple[int, float] | None:
    """The token of the last holder, and until when they have it."""
    found: tuple[int, float] | None = db.execute("SELECT token, until FROM leases WHERE name = ?", (name,)).fetchone()
    return found


def set_lease(db: sqlite3.Connection, name: str, token: int, until: float) -> None:
    db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (name, token, until))


def drop_lease(db: sqlite3.Connection, lease: Lease) -> None:
    db.execute("DELETE FROM leases WHERE name = ? AND token = ?", (lease.name, lease.token))


def topic(db: sqlite3.Connection, topic: str) -> int:
    found = db.execute("SELECT value FROM topics WHERE name = ?", (topic,)).fetchone()
    return int(found[0]) if found else 0


def sweep(db: sqlite3.Connection, now: float) -> None:
    """Remove what has expired."""
    for table in ("records", "blobs"):
        db.execute(_EXPIRED.format(table), (now,))
