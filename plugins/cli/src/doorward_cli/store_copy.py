"""All that a store holds, read, counted, and copied to another one.

Leases and topics are left out: they are of processes that run now.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

from doorward import StateError
from doorward.engines import Append, Put, PutBlob, scan_all

if TYPE_CHECKING:
    from doorward.engines import Change, Named, Store

Key = tuple[str, ...]
"""`("record", table, key)`, `("log", name)` or `("blob", name)`."""

Row = tuple[bytes, float | None]
"""What is compared of a row: the hash of its content, and when it expires."""

CLOCKS_SECONDS = 120.0
"""How far the ends of the same row in two stores may lie apart: their clocks differ, and copying takes time."""

COMMIT_ROWS, COMMIT_BYTES = 200, 2**22
"""How much is stored at once: so many rows, or one more than so many bytes."""


async def read(store: Store) -> dict[Key, Row]:
    """All rows. Raises: StateError."""
    return {key: row async for key, row in _rows(store)}


async def _rows(store: Store) -> AsyncIterator[tuple[Key, Row]]:
    async for table in _names(store, "tables"):
        for record in await scan_all(store, table):
            yield ("record", table, record.key), (_hash(record.value), record.expires)
    async for log in _names(store, "logs"):
        yield ("log", log), (_hash(*[entry async for entry in _entries(store, log)]), None)
    async for name in _names(store, "blobs"):
        if (blob := await store.blob(name)) is not None:
            yield ("blob", name), (_hash(blob.content), blob.expires)


async def _names(store: Store, what: Named) -> AsyncIterator[str]:
    after: str | None = None
    while page := await store.names(what, after=after):
        for name in page:
            yield name
        after = page[-1]


async def _entries(store: Store, log: str) -> AsyncIterator[bytes]:
    at = 0
    while page := await store.read(log, at):
        for entry in page:
            yield entry
        at += len(page)


def counted(rows: dict[Key, Row]) -> dict[str, int]:
    """How many rows there are: records of each table, logs and blobs."""
    found = Counter(f"records of {key[1]!r}" if key[0] == "record" else f"{key[0]}s" for key in rows)
    return dict(sorted(found.items()))


async def copied(source: Store, target: Store) -> dict[str, int]:
    """Copy what the target lacks. Returns: how many rows both have.

    Raises: StateError if the target has other rows, or if both are not the same in the end.
    """
    rows, there = await read(source), await read(target)
    if other := [key for key in there if not _is_same(rows, there, key)]:
        hint = "Copy to a store that is empty, or that an earlier copy of the same was made to."
        raise StateError(f"the target holds {len(other)} other rows, such as {_said(other[0])}", hint=hint)
    changes: list[Change] = []
    size = 0
    for key in rows:
        if key in there or (change := await _made(source, key)) is None:
            continue
        changes.append(change)
        size += sum(map(len, change.entries)) if isinstance(change, Append) else len(_content(change))
        if len(changes) >= COMMIT_ROWS or size > COMMIT_BYTES:
            await target.commit(*changes)
            changes, size = [], 0
    await target.commit(*changes)
    now, made = await read(source), await read(target)
    if odd := [key for key in {**now, **made} if not _is_same(now, made, key)]:
        hint = "Has something been stored meanwhile? End what serves, and copy again to an empty store."
        raise StateError(f"{len(odd)} rows are not the same in both, such as {_said(odd[0])}", hint=hint)
    return counted(made)


async def _made(source: Store, key: Key) -> Put | Append | PutBlob | None:
    """What stores a row of the source; `None` if it is over meanwhile."""
    kind, *names = key
    if kind == "log":
        return Append(names[0], [entry async for entry in _entries(source, names[0])], 0)
    if kind == "blob":
        blob = await source.blob(names[0])
        return None if blob is None else PutBlob(names[0], blob.content, _left(blob.expires))
    record = await source.get(names[0], names[1])
    return None if record is None else Put(names[0], names[1], record.value, 0, _left(record.expires))


def _content(change: Put | PutBlob) -> bytes:
    return change.value if isinstance(change, Put) else change.content


def _left(expires: float | None) -> float | None:
    return None if expires is None else max(0.0, expires - time.time())


def _is_same(one: Mapping[Key, Row], other: Mapping[Key, Row], key: Key) -> bool:
    """Whether a row is the same in both; one that is about to expire may be gone in one of them already."""
    rows = [found for each in (one, other) if (found := each.get(key)) is not None]
    ends = [math.inf if expires is None else expires for _, expires in rows]
    if max(ends) < time.time() + CLOCKS_SECONDS:
        return True
    near = max(ends) == min(ends) or max(ends) - min(ends) < CLOCKS_SECONDS
    return len(rows) == 2 and rows[0][0] == rows[1][0] and near


def _hash(*parts: bytes) -> bytes:
    whole = blake2b(digest_size=16)
    for part in parts:
        whole.update(b"%d " % len(part) + part)
    return whole.digest()


def _said(key: Key) -> str:
    return " ".join([key[0], *(f"{part[:60]!r}" for part in key[1:])])
