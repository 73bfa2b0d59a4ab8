"""The database behind the store: lost connections, restarts, killed processes, replicas that start, and passwords."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import structlog
from doorward import ConfigError, PluginContext, StateError
from doorward.configuration import Secrets, validate
from doorward.engines import Append, Conflict, Notify, Put, PutBlob
from doorward_store_postgres import PostgresStore, statements

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

_schemas = (f"own_{number}" for number in itertools.count())

_PROCESS = """
import asyncio, sys
from pathlib import Path
from doorward import PluginContext
from doorward.configuration import Secrets, validate
from doorward.engines import Append, Put
from doorward_store_postgres import PostgresStore

async def main():
    url, schema = sys.argv[1:]
    given = {"url": url, "schema_name": schema}
    settings = validate(PostgresStore.Settings, given, secrets=Secrets(environ={}), place="test")
    store = PostgresStore(PluginContext("postgres", settings, Path()))
    for number in range(100_000):
        await store.commit(Put("t", "last", str(number).encode()), Append("log", [b"x" * 1000], number))
        print(number, flush=True)

asyncio.run(main())
"""


@pytest.fixture
def schema() -> str:
    return next(_schemas)


def made(url: str, schema: str, **options: Any) -> PostgresStore:
    given = {"url": url, "schema_name": schema, **options}
    settings = validate(PostgresStore.Settings, given, secrets=Secrets(environ={}), place="test")
    return PostgresStore(PluginContext("postgres", settings, Path()))


@contextlib.asynccontextmanager
async def opened(url: str, schema: str, **options: Any) -> AsyncIterator[PostgresStore]:
    store = made(url, schema, **options)
    try:
        yield store
    finally:
        await store.close()


async def end_connections(url: str) -> None:
    """Have the database end the connections of all stores, as it does when it is restarted."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        await db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'doorward' AND pid <> pg_backend_pid()"
        )


async def test_a_lost_connection_is_no_error(postgres: str, schema: str) -> None:
    """Reads and commits of idle connections that the database has ended are made on others, once."""
    async with opened(postgres, schema) as store:
        await store.commit(Append("log", [b"0"], 0))
        for number in range(1, 4):
            await end_connections(postgres)
            assert await store.end("log") == number
            await end_connections(postgres)
            await store.commit(Append("log", [b"n"], number), Notify("topic"))
        assert len(await store.read("log")) == 4


@pytest.mark.parametrize("made_it", [True, False], ids=["made", "not made"])
async def test_a_commit_whose_end_was_lost(
    postgres: str, schema: str, monkeypatch: pytest.MonkeyPatch, made_it: bool
) -> None:
    """The database is asked: what was made is reported as made, once, and what was not is made."""
    async with opened(postgres, schema) as store:
        await store.commit(Append("log", [b"0"], 0))
        lost, whole = 0, psycopg.AsyncConnection.transaction

        @contextlib.asynccontextmanager
        async def transaction(db: Any) -> AsyncIterator[Any]:
            nonlocal lost
            async with whole(db) as inner:
                yield inner
                lost += 1
                if not made_it and lost == 1:
                    await db.close()
            if lost == 1:
                raise psycopg.OperationalError("the connection is lost before the answer arrives")

        monkeypatch.setattr(psycopg.AsyncConnection, "transaction", transaction)
        version = await store.commit(Append("log", [b"1"], 1), Put("t", "k", b"1", expected=0))
        assert lost == (1 if made_it else 2)
        record = await store.get("t", "k")
        assert record is not None
        assert record.version == version
        assert [*await store.read("log")] == [b"0", b"1"]


async def test_kill_9_keeps_what_was_reported(postgres: str, schema: str) -> None:
    """Each commit that was reported is there, of others all or nothing, and nobody waits for the dead process."""
    process = subprocess.Popen([sys.executable, "-c", _PROCESS, postgres, schema], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    reported = -1
    for line in process.stdout:
        reported = int(line)
        if reported >= 20:
            process.send_signal(signal.SIGKILL)
            break
    reported = max([reported, *map(int, process.stdout.read().split())])
    process.wait()
    async with opened(postgres, schema) as store:
        last = await store.get("t", "last")
        assert last is not None
        assert int(last.value) in (reported, reported + 1)
        assert await store.end("log") == int(last.value) + 1
        await store.commit(Append("log", [b"the next"], int(last.value) + 1))


async def test_replicas_that_start_at_once_make_the_tables_once(postgres: str, schema: str) -> None:
    """And a later one finds them."""
    stores = [made(postgres, schema) for _ in range(6)]
    done = await asyncio.gather(*(store.commit(Put("t", str(n), b"")) for n, store in enumerate(stores)))
    assert len({*done}) == 6
    assert len(await stores[0].scan("t")) == 6
    for store in stores:
        await store.close()


async def test_tables_of_a_newer_version(postgres: str, schema: str) -> None:
    """They are used as long as they say that this version may, and left alone otherwise."""
    async with opened(postgres, schema) as store:
        await store.commit(Put("t", "k", b"1"))
    async with await psycopg.AsyncConnection.connect(postgres, autocommit=True) as db:
        layout = {"version": statements.LAYOUT + 1, "oldest": statements.LAYOUT}
        await db.execute(statements.in_schema(schema, statements.SET_LAYOUT), layout)
        async with opened(postgres, schema) as store:
            assert await store.get("t", "k") is not None
            assert await store.layout() == (statements.LAYOUT + 1, statements.LAYOUT)
        layout["oldest"] += 1
        await db.execute(statements.in_schema(schema, statements.SET_LAYOUT), layout)
        async with opened(postgres, schema) as store:
            for use in (lambda: store.get("t", "k"), store.layout):
                with pytest.raises(StateError, match="needs a newer Doorward"):
                    await use()


async def test_two_commits_in_opposite_order_end(postgres: str, schema: str) -> None:
    """Many that name the same things in any order never wait for each other in a circle, and versions only rise."""
    async with opened(postgres, schema) as one, opened(postgres, schema) as other:
        names = ["a", "b", "c", "d"]
        orders = [*itertools.permutations(names)]
        done = await asyncio.gather(
            *((one, other)[n % 2].commit(*(Put("t", name, b"") for name in order)) for n, order in enumerate(orders))
        )
        versions = [record.version for record in await one.scan("t")]
        assert versions == [max(done)] * 4


@pytest.mark.parametrize("listen", [True, False])
async def test_waiters_are_woken_without_notices_too(postgres: str, schema: str, listen: bool) -> None:
    """Also after the connection that listens was lost."""
    async with opened(postgres, schema, listen=listen) as one, opened(postgres, schema) as other:
        for _ in range(2):
            seen = await one.signal("topic")
            waiting = asyncio.create_task(one.signal("topic", seen, 30))
            await asyncio.sleep(0)
            await other.commit(Notify("topic"))
            async with asyncio.timeout(20):
                assert await waiting > seen
            await end_connections(postgres)


async def test_a_password_is_shown_nowhere(schema: str) -> None:
    """Neither where it is wrong, nor where nobody listens, nor where the address cannot be read."""
    password = "hunter2-and-more"
    with structlog.testing.capture_logs() as logs:
        for url, error in (
            (f"postgresql://doorward:{password}@127.0.0.1:1/x", StateError),
            (f"postgresql:/doorward:{password}@127.0.0.1", ConfigError),
            (f"host=127.0.0.1 password={password} port=1 nonsense", ConfigError),
        ):
            async with opened(url, schema, wait=0.5) as store:
                with pytest.raises(error) as raised:
                    await store.get("t", "k")
                assert password not in f"{raised.value} {raised.value.hint} {raised.value!r}"
    assert password not in str(logs)
    assert "refused" in logs[0]["error"]


async def test_a_name_that_is_too_long_is_said(postgres: str, schema: str) -> None:
    """An index has no room for it: nothing is stored, and the next commit goes on."""
    random = "".join(chr(0x4E00 + number * 37 % 20_000) for number in range(5000))
    async with opened(postgres, schema) as store:
        with pytest.raises(StateError, match="does not take this name"):
            await store.commit(Put("t", "k", b"1"), Put("t", random, b"1"))
        assert await store.get("t", "k") is None
        await store.commit(Put("t", "k", b"1"))


async def statements_of(postgres: str, schema: str, do: Callable[[PostgresStore], Awaitable[Any]]) -> int:
    """How many messages a step sends to the database, that each wait for an answer."""
    async with opened(postgres, schema) as store:
        await store.get("t", "k")
        sent, whole = 0, psycopg.AsyncConnection.execute

        async def execute(db: Any, *args: Any, **options: Any) -> Any:
            nonlocal sent
            sent += db._pipeline is None
            return await whole(db, *args, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(psycopg.AsyncConnection, "execute", execute)
            store._swept = float("inf")
            await do(store)
        return sent


async def test_a_read_is_one_statement(postgres: str, schema: str) -> None:
    """Commits are made in one pipeline, whatever they hold; reads and leases ask once."""
    big = [Put("t", str(n), b"x", expected=0) for n in range(20)] + [PutBlob("x", b"1" * 2**20), Append("l", [b"1"], 0)]
    assert await statements_of(postgres, schema, lambda store: store.commit(*big)) == 0
    assert await statements_of(postgres, schema, lambda store: store.get("t", "1")) == 1
    assert await statements_of(postgres, schema, lambda store: store.blob("x", 2**18 - 1, 2)) == 1
    assert await statements_of(postgres, schema, lambda store: store.acquire("lease", 5)) == 1


async def test_a_refused_commit_leaves_the_connection_in_order(postgres: str, schema: str) -> None:
    """With one connection: after each refusal the next commit is made on it."""
    async with opened(postgres, schema, connections=1) as store:
        await store.commit(Put("t", "k", b"1"))
        for _ in range(5):
            with pytest.raises(Conflict):
                await store.commit(Put("t", "other", b"1"), Put("t", "k", b"2", expected=0))
            await store.commit(Put("t", "k", b"1"))
        assert await store.get("t", "other") is None
