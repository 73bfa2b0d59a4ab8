"""What Doorward remembers, in a PostgreSQL database that gateways of any number of machines share.

Each commit is one transaction, and two round trips. If the connection is lost while it ends, the database is asked what
became of it. Nothing depends on the session of a connection, so a pooler that gives one for each transaction serves.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from doorward import ConfigError, Secret, Settings, StateError, log
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
    StaleLease,
    require_once,
)
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from pydantic import Field, PositiveFloat, PositiveInt, field_validator

from doorward_store_postgres import statements

if TYPE_CHECKING:
    from doorward import PluginContext

T = TypeVar("T")

PLUGIN_API = 1

PART_BYTES = 2**18
"""Bytes of a part of a blob: a page of it is read without the rest."""

POLL_SECONDS = 1.0
"""How often to look whether another process has notified a topic, where its notice does not arrive."""

SWEEP_SECONDS = 60.0
"""How often what has expired is removed, where anything is written."""

RETRY_SECONDS = 0.2
"""How long to wait before a statement is tried again on another connection."""

_PASSING = ("08", "40", "57P")
"""The beginnings of codes of errors (appendix A of PostgreSQL's manual) that pass: connections, conflicts with other
transactions, a server that stops or starts."""


class PostgresSettings(Settings):
    """`[stores.postgres]`"""

    url: Secret = Field(description="The database: postgresql://user:${PASSWORD}@host/database")
    schema_name: str = Field("doorward", description="The schema of the tables; it is made if it is not there")
    connections: PositiveInt = Field(8, description="The most connections of one process; one more waits for notices")
    wait: PositiveFloat = Field(
        10.0, description="Seconds to wait for a connection or for another's lock, also while the database starts anew"
    )
    listen: bool = Field(
        True, description="Be woken by notices of others; false where a pooler gives a connection a transaction"
    )

    @field_validator("schema_name")
    @classmethod
    def _plain(cls, value: str) -> str:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,50}", value):
            raise ValueError("must be small letters, digits and underscores, not beginning with a digit")
        return value


_Check = tuple[psycopg.AsyncCursor[Any], Callable[[Any], bool], StateError]
"""The answer of a statement, what must hold of its row, and what is raised if that does not."""


class _Unknown(Exception):
    """The connection was lost while a transaction ended."""

    def __init__(self, transaction: str, version: int) -> None:
        super().__init__(transaction)
        self.transaction, self.version = transaction, version


class PostgresStore:
    """A `doorward.engines.Store`."""

    Settings = PostgresSettings
    lasts = True
    distributed = True

    def __init__(self, context: PluginContext[PostgresSettings], *, clock: Callable[[], float] | None = None) -> None:
        self._settings, self._clock = context.settings, clock
        self._schema = context.settings.schema_name
        self._opening = asyncio.Lock()
        self._pool: AsyncConnectionPool | None = None
        self._listener: asyncio.Task[None] | None = None
        self._woken: dict[str, asyncio.Event] = {}
        self._swept = -SWEEP_SECONDS

    async def commit(self, *changes: Change, fences: Sequence[Lease] = (), sync: bool = False) -> int:
        require_once(changes)
        version = await self._tried(lambda db: self._commit(db, changes, fences, sync))
        for change in changes:
            if isinstance(change, Notify):
                self._wake(_digest(change.topic))
        if time.monotonic() > self._swept + SWEEP_SECONDS:
            self._swept = time.monotonic()
            for sweep in statements.SWEEP:
                await self._rows(sweep)
        return version

    async def _commit(
        self, db: psycopg.AsyncConnection[Any], changes: Sequence[Change], fences: Sequence[Lease], sync: bool
    ) -> int:
        """Make all changes in one transaction. Raises: Conflict, StaleLease, _Unknown, psycopg.Error."""
        began: tuple[int, str] | None = None
        checks: list[_Check] = []

        async def do(statement: str, **values: Any) -> psycopg.AsyncCursor[Any]:
            return await db.execute(statements.in_schema(self._schema, statement), self._with_now(values))

        try:
            async with db.pipeline(), db.transaction():
                await db.execute(statements.WAIT.format(int(self._settings.wait * 1000)).encode())
                if sync:
                    await db.execute(statements.SYNC.encode())
                await do(statements.LOCK, keys=sorted({*map(_lock, changes)}))
                await do(statements.NEXT)
                for lease in fences:
                    held = await do(statements.HELD, name=lease.name.encode(), token=lease.token)
                    checks.append((held, bool, _stale(lease)))
                for change in changes:
                    checks += await self._change(do, change)
                numbers = await (await do(statements.NUMBERS)).fetchone()  # now all before it has been answered, too
                for cursor, holds, refusal in checks:
                    if not holds(await cursor.fetchone()):
                        raise refusal
                began = numbers
        except psycopg.OperationalError:
            if began is None:
                raise  # it did not end, so nothing was made
            raise _Unknown(began[1], began[0]) from None
        return began[0] if began else 0

    async def _change(self, do: Callable[..., Awaitable[psycopg.AsyncCursor[Any]]], change: Change) -> list[_Check]:
        """Ask for one change. Returns: what must hold, so that all are made."""
        checks: list[_Check] = []
        match change:
            case Put(table, key, expected=expected) | Delete(table, key, expected=expected):
                names = {"kind": table.encode(), "key": key.encode()}
                if expected is not None:
                    now = await do(statements.VERSION, **names)
                    refusal = Conflict(f"the record {key!r} of {table!r} has changed")
                    checks.append((now, lambda row: (row[0] if row else 0) == expected, refusal))
                if isinstance(change, Put):
                    await do(statements.PUT, **names, value=change.value, ttl=change.ttl)
                else:
                    await do(statements.DELETE, **names)
            case Append(name, entries, at):
                end = await do(statements.END, log=name.encode())
                checks.append((end, lambda row: row[0] == at, Conflict(f"the log {name!r} ends elsewhere")))
                await do(statements.APPEND, log=name.encode(), at=at, entries=[*entries])
            case Forget(name):
                await do(statements.FORGET, log=name.encode())
            case PutBlob(name, content, ttl):
                parts = [content[at : at + PART_BYTES] for at in range(0, max(1, len(content)), PART_BYTES)]
                await do(statements.DELETE_BLOB, name=name.encode())
                await do(statements.PUT_BLOB, name=name.encode(), parts=parts, size=len(content), ttl=ttl)
            case DeleteBlob(name):
                await do(statements.DELETE_BLOB, name=name.encode())
            case Notify(topic):
                await do(statements.NOTIFY, name=topic.encode())
                await do(statements.TELL, channel=self._schema, topic=_digest(topic))
        return checks

    async def get(self, table: str, key: str) -> Record | None:
        found = await self._rows(statements.RECORD, kind=table.encode(), key=key.encode())
        return _record(found[0]) if found else None

    async def scan(
        self, table: str, prefix: str = "", *, after: str | None = None, limit: int = 1000
    ) -> Sequence[Record]:
        behind = None if after is None else after.encode()
        names = {"kind": table.encode(), "prefix": prefix.encode(), "after": behind}
        return [_record(row) for row in await self._rows(statements.SCAN, **names, limit=limit)]

    async def end(self, log: str) -> int:
        return int((await self._rows(statements.END, log=log.encode()))[0][0])

    async def read(self, log: str, start: int = 0, *, limit: int = 1000) -> Sequence[bytes]:
        return [row[0] for row in await self._rows(statements.READ, log=log.encode(), start=start, limit=limit)]

    async def blob(self, name: str, start: int = 0, size: int | None = None) -> Blob | None:
        first = start // PART_BYTES
        last = 2**31 - 1 if size is None else max(start, start + size - 1) // PART_BYTES
        found = await self._rows(statements.BLOB, name=name.encode(), first=first, last=last)
        if not found:
            return None
        content = b"".join(part for *_, part in found if part is not None)
        begin = start - first * PART_BYTES
        return Blob(content[begin : None if size is None else begin + size], *found[0][:2])

    async def names(self, what: Named, *, after: str | None = None, limit: int = 1000) -> Sequence[str]:
        behind = None if after is None else after.encode()
        wanted = statements.NAMES.format(statements.NAMED[what])
        return [bytes(name).decode() for (name,) in await self._rows(wanted, after=behind, limit=limit)]

    async def acquire(self, name: str, seconds: float) -> Lease | None:
        found = await self._rows(statements.ACQUIRE, name=name.encode(), seconds=seconds)
        return Lease(name, found[0][0]) if found else None

    async def renew(self, lease: Lease, seconds: float) -> None:
        if not await self._rows(statements.RENEW, name=lease.name.encode(), token=lease.token, seconds=seconds):
            raise _stale(lease)

    async def release(self, lease: Lease) -> None:
        await self._rows(statements.RELEASE, name=lease.name.encode(), token=lease.token)

    async def signal(self, topic: str, seen: int = -1, timeout: float = 0.0) -> int:
        end = time.monotonic() + timeout
        while True:
            woken = asyncio.Event()
            if timeout > 0:
                woken = self._woken.setdefault(_digest(topic), woken)
                if self._settings.listen and self._listener is None:
                    self._listener = asyncio.create_task(self._listen())
            found = await self._rows(statements.TOPIC, name=topic.encode())
            number, left = found[0][0] if found else 0, end - time.monotonic()
            if number > seen or left <= 0:
                return number
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, POLL_SECONDS)):
                    await woken.wait()

    async def layout(self) -> tuple[int, int]:
        """See `doorward.abilities.TellsLayout`."""
        try:
            async with await psycopg.AsyncConnection.connect(await self._conninfo(), autocommit=True) as db:
                with contextlib.suppress(psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                    return await self._layout(db), statements.LAYOUT
        except psycopg.Error as error:
            raise self._failed(error) from None
        return 0, statements.LAYOUT

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])
        if self._pool is not None:
            await self._pool.close()

    def _wake(self, topic: str) -> None:
        self._woken.pop(topic, asyncio.Event()).set()

    async def _listen(self) -> None:
        """Wake those who wait for topics that others notify. A connection that is lost is made again; meanwhile, and
        where notices do not arrive at all, waiters look for themselves."""
        while True:
            with contextlib.suppress(psycopg.Error):
                async with await psycopg.AsyncConnection.connect(await self._conninfo(), autocommit=True) as db:
                    await db.execute(f"LISTEN {self._schema}".encode())
                    async for notice in db.notifies():
                        self._wake(notice.payload)
            await asyncio.sleep(POLL_SECONDS)

    async def _rows(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        """The rows of one statement, which is its own transaction."""

        async def rows(db: psycopg.AsyncConnection[Any]) -> list[tuple[Any, ...]]:
            cursor = await db.execute(statements.in_schema(self._schema, statement), self._with_now(values))
            return await cursor.fetchall() if cursor.description else []

        return await self._tried(rows)

    def _with_now(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values, "now": None if self._clock is None else self._clock()}

    async def _tried(self, work: Callable[[psycopg.AsyncConnection[Any]], Awaitable[T]]) -> T:
        """What `work` returns, tried again while the trouble may pass. Work that was not made may be made again, and
        what a statement of one row reads or takes by itself is not known to the caller before it returns.

        Raises: StateError."""
        end = time.monotonic() + self._settings.wait
        while True:
            try:
                async with self._connection() as db:
                    return await work(db)
            except _Unknown as unknown:
                if await self._became(unknown, end):
                    return unknown.version  # type: ignore[return-value]  # only commits end so
                if time.monotonic() > end:
                    raise StateError(
                        "the database of the store was lost", hint="Nothing was stored: try again."
                    ) from None
            except psycopg.Error as error:
                passing = (error.sqlstate or "08").startswith(_PASSING) and isinstance(error, psycopg.OperationalError)
                if not passing or time.monotonic() > end:
                    raise self._failed(error) from None
            await asyncio.sleep(RETRY_SECONDS)

    async def _became(self, unknown: _Unknown, end: float) -> bool:
        """Whether a transaction was made whose end was lost. Raises: StateError if that cannot be known."""
        while True:
            with contextlib.suppress(psycopg.Error):
                async with self._connection() as db:
                    cursor = await db.execute(statements.STATUS, {"transaction": unknown.transaction})
                    status = (await cursor.fetchone() or ("",))[0]
                    if status in ("committed", "aborted"):
                        return bool(status == "committed")
            if time.monotonic() > end:
                raise StateError(
                    "the database was lost while something was stored, which may be there or not",
                    hint="Look whether it was made, before it is made again.",
                )
            await asyncio.sleep(RETRY_SECONDS)

    @contextlib.asynccontextmanager
    async def _connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        if self._pool is None:
            async with self._opening:
                if self._pool is None:
                    self._pool = await self._opened()
        async with self._pool.connection() as db:
            yield db

    async def _opened(self) -> AsyncConnectionPool:
        """A pool of connections to a database that has the tables of this version. The first connection is made without
        it: a pool does not tell why it has none."""
        conninfo = await self._conninfo()
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, prepare_threshold=None) as db:
            await self._migrate(db)
        pool = AsyncConnectionPool(
            conninfo,
            min_size=1,
            max_size=self._settings.connections,
            timeout=self._settings.wait,
            kwargs={"autocommit": True, "prepare_threshold": None},  # a pooler may give another session each time
            open=False,
        )
        await pool.open()
        return pool

    async def _migrate(self, db: psycopg.AsyncConnection[Any]) -> None:
        """Make the tables, or bring them to this version. Replicas that start at once wait for one another."""
        with contextlib.suppress(psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            if await self._layout(db) >= statements.LAYOUT:
                return
        async with db.transaction():
            await db.execute(statements.LOCK.encode(), {"keys": [_number(f"layout of {self._schema}")]})
            await db.execute(statements.in_schema(self._schema, statements.MAKE_LAYOUT))
            found = await self._layout(db)
            for migration in statements.MIGRATIONS[found:]:
                await db.execute(statements.in_schema(self._schema, migration))
            if found < statements.LAYOUT:
                layout = {"version": statements.LAYOUT, "oldest": statements.OLDEST}
                await db.execute(statements.in_schema(self._schema, statements.SET_LAYOUT), layout)

    async def _layout(self, db: psycopg.AsyncConnection[Any]) -> int:
        """The version of the tables; 0 before they are made. Raises: StateError if this version cannot use them."""
        row = await (await db.execute(statements.in_schema(self._schema, statements.READ_LAYOUT))).fetchone()
        version, oldest = row or (0, 0)
        if oldest > statements.LAYOUT:
            raise StateError(
                f"the tables in the schema {self._schema!r} are of version {version}, which needs a newer Doorward",
                hint="Update doorward-store-postgres, or set another `schema_name` in [stores.postgres].",
            )
        return int(version)

    async def _conninfo(self) -> str:
        """How to connect, so that a dead host is noticed. Raises: ConfigError."""
        try:
            return make_conninfo(
                await self._settings.url.get(),
                connect_timeout=max(2, int(self._settings.wait)),
                tcp_user_timeout=int(self._settings.wait * 1000),
                application_name="doorward",
            )
        except psycopg.ProgrammingError:  # its text would show the password
            raise ConfigError(
                "url is no address of a database",
                place="[stores.postgres]",
                hint="Write postgresql://user:${PASSWORD}@host/database.",
            ) from None

    def _failed(self, error: psycopg.Error) -> StateError:
        """What is said of an error to whoever asked; the log has what the database says, which may name hosts and
        users."""
        log.error("store_failed", error=str(error).strip()[:500], code=error.sqlstate)
        if isinstance(error, psycopg.errors.LockNotAvailable):
            return StateError("the store is busy", hint="Try again.")
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            may = f"It needs CREATE in the database, or a schema {self._schema!r} of its own."
            return StateError("the user of the database may not do this", hint=f"{may} The log has the details.")
        if isinstance(error, (psycopg.errors.ProgramLimitExceeded, psycopg.DataError)):
            return StateError("the database does not take this name or value", hint="The log has the details.")
        what = "cannot be reached" if isinstance(error, (PoolTimeout, psycopg.OperationalError)) else "has failed"
        return StateError(f"the database of the store {what}", hint="The operator's log has the details.")


def _record(row: tuple[Any, ...]) -> Record:
    key, value, version, expires = row
    return Record(bytes(key).decode(), value, version, expires)


def _stale(lease: Lease) -> StaleLease:
    return StaleLease(f"the lease {lease.name!r} is lost", hint="Another process goes on with its work.")


def _lock(change: Change) -> int:
    """The number of what a change names: two that have the same wait for each other."""
    match change:
        case Put(table, key) | Delete(table, key):
            return _number("record", table, key)
        case Append(log=name) | Forget(log=name):
            return _number("log", name)
        case PutBlob(name=name) | DeleteBlob(name=name):
            return _number("blob", name)
        case Notify(topic):
            return _number("topic", topic)


def _number(*names: str) -> int:
    digest = blake2b("\0\0".join(names).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _digest(topic: str) -> str:
    """A topic as a notice names it: those are short, and texts without zeros."""
    return blake2b(topic.encode(), digest_size=16).hexdigest()
