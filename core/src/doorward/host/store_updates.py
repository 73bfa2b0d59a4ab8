"""What those who store something do alike: change a record whatever others do meanwhile, and take over what an earlier
version kept in a file of its own."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from doorward.data.offload import off_loop
from doorward.host.files import check_own
from doorward.host.logs import log
from doorward.model.errors import ConfigError, StateError
from doorward.model.storage import Change, Conflict, Put

if TYPE_CHECKING:
    from doorward.model.storage import Record, Store

T = TypeVar("T")

ATTEMPTS = 200
"""How often to try again while others change the same record. Each time one of them gets done."""

PAUSE_SECONDS = 0.002
"""The longest pause before the second attempt; that before each further one is a little longer."""

TAKEN_OVER = "taken over"
"""The table that says what was taken over."""


async def update(
    store: Store, table: str, key: str, change: Callable[[bytes | None], tuple[bytes | None, T]], *, ttl: float
) -> T:
    """Change a record, which then lasts for `ttl` seconds. `change` gets its value, `None` if there is none, and
    returns the new one (`None`: leave it as it is) and a result, which is returned. It is called again if somebody else
    was quicker, so it changes nothing else.

    Raises: StateError; what `change` raises.
    """

    async def attempt() -> T:
        found = await store.get(table, key)
        value, result = change(found.value if found else None)
        if value is not None:
            await store.commit(Put(table, key, value, found.version if found else 0, ttl))
        return result

    return await retry(attempt, table)


async def retry(attempt: Callable[[], Awaitable[T]], what: str) -> T:
    """The result of what reads, decides and commits, which is done again for as long as others are quicker. `what` is
    stored, in words. Raises: StateError; what `attempt` raises."""
    for number in range(1, ATTEMPTS + 1):
        with contextlib.suppress(Conflict):
            return await attempt()
        await asyncio.sleep(random.uniform(0, PAUSE_SECONDS * min(number, 10)))  # noqa: S311
    raise StateError(f"a record of {what!r} is changed by others all the time", hint="Try again.")


async def scan_all(store: Store, table: str, prefix: str = "") -> list[Record]:
    """All records of a table whose keys begin with `prefix`, ordered by their keys. Raises: StateError."""
    found: list[Record] = []
    while page := await store.scan(table, prefix, after=found[-1].key if found else None):
        found += page
    return found


async def take_over(
    store: Store, file: Path, statement: str, changes: Callable[[Sequence[Any]], Sequence[Change]], *, whose: str
) -> None:
    """Store what an earlier version kept in a SQLite file, once for all processes and for ever: the `changes` made of
    the rows of `statement`. The file stays as it is; one that cannot be read is logged. `whose` names those who take it
    over, for there may be several. Raises: StateError.
    """
    name = f"{whose} {file.name}"
    if await store.get(TAKEN_OVER, name) or (rows := await off_loop(_rows_of, file, statement)) is None:
        return
    with contextlib.suppress(Conflict):  # another process has done it just now
        await store.commit(Put(TAKEN_OVER, name, b"", expected=0), *changes(rows))


def _rows_of(file: Path, statement: str) -> list[Any] | None:
    """The rows; `None` if there is no file."""
    import sqlite3

    try:
        if not check_own(file):
            return None
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=5.0)) as db:
            return db.execute(statement).fetchall()
    except (sqlite3.Error, OSError, ConfigError) as error:
        log.warning("not_taken_over", path=str(file), why=str(error))
        return []
