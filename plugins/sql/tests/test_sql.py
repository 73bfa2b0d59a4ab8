"""A SQLite file and a PostgreSQL server behind the source `sql`: rows, checked queries, and attacks on both walls."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from doorward import ApiError, InvalidArguments, LimitExceeded
from doorward_sql import SQL, model, source
from doorward_sql.check import checked
from doorward_sql.model import Column, Table
from doorward_sql.sqlite import SQLite
from doorward_testing import Host, SourceConformance, check_driver

pytestmark = pytest.mark.anyio

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers (id), cents INTEGER, note TEXT);
CREATE TABLE "odd; DROP TABLE orders" ("a ""b" TEXT);
CREATE TABLE salaries (who TEXT, cents INTEGER);
CREATE VIEW totals AS SELECT customer, sum(cents) AS cents FROM orders GROUP BY customer;
INSERT INTO customers VALUES (1, 'Ana', 'Oslo'), (2, 'Bo', NULL);
INSERT INTO orders VALUES (1, 1, 250, 'x'), (2, 1, 120, NULL), (3, 2, 300, '100% :x');
INSERT INTO "odd; DROP TABLE orders" VALUES ('1');
INSERT INTO salaries VALUES ('Ana', 999983);
"""
JOINED = (
    "WITH big AS (SELECT customer, sum(cents) AS all_cents FROM orders WHERE cents > :least GROUP BY customer) "
    "SELECT c.name, upper(c.name) AS u, all_cents FROM customers AS c JOIN big ON big.customer = c.id "
    "ORDER BY all_cents DESC -- a comment"
)


def shop(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "shop.db")) as db:
        db.executescript(SHOP)
    return folder / "shop.db"


CONFIG = '[servers.shop]\nsource = "sql"\ndatabase = "{}"\ntables = ["[!s]*"]\nrows = 2\n'


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def config(request: pytest.FixtureRequest, host: Host) -> str:
    """The shop in each kind of database."""
    if request.param == "sqlite":
        shop(host.folder)
        return CONFIG.format("sqlite:shop.db")
    psycopg = pytest.importorskip("psycopg", reason="psycopg is absent: pip install 'doorward-sql[postgres]'")
    address = request.getfixturevalue("postgres")
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("DROP SCHEMA public CASCADE")
        db.execute("CREATE SCHEMA public")
        db.execute(SHOP)
    return CONFIG.format(address)


@pytest.fixture
def host(doorward_host: Host) -> Host:
    doorward_host.install("source", "sql", SQL)
    return doorward_host


async def test_rows(config: str, host: Host) -> None:
    """Tables and views are functions with typed rows; values are bound, names are checked, and more rows are told."""
    async with host.gateway(config) as gate:
        await gate.ready()
        names = {function.name for function in gate.catalog.functions("shop")}
        assert names >= {"customers", "orders", "totals", "query"}
        assert "salaries" not in names
        card = (await gate.get_functions(["shop.orders"]))[0]["text"]
        assert "customer → customers" in card
        order = await gate.call("shop.orders", {"match": {"customer": [1, 2], "note": None}, "columns": ["cents"]})
        assert order == {"rows": [{"cents": 120}], "more": False}
        first = await gate.call("shop.orders", {"order_by": ["-cents"], "limit": 2})
        assert ([row["id"] for row in first["rows"]], first["more"]) == ([3, 1], True)
        assert (await gate.call("shop.orders", {"order_by": ["-cents"], "offset": 2}))["rows"][0]["id"] == 2
        assert (await gate.call("shop.totals", {"match": {"customer": 1}}))["rows"][0]["cents"] == 370
        odd = next(name for name in names if name.startswith("odd"))
        assert (await gate.call(f"shop.{odd}"))["rows"] == [{'a "b': "1"}]
        injected = {"match": {"name": "x' OR 1=1 --"}}
        assert (await gate.call("shop.customers", injected))["rows"] == []
        with pytest.raises(InvalidArguments):
            await gate.call("shop.customers", {"match": {'name" OR 1=1 --': "x"}})


async def test_queries(config: str, host: Host) -> None:
    """A query joins, sums and takes values by their names; what would read elsewhere, write or call is refused, and a
    statement that writes is refused by the database, too."""
    async with host.gateway(config) as gate:

        async def query(statement: str, **values: Any) -> Any:
            return (await gate.call("shop.query", {"statement": statement, "values": values}))["rows"]

        assert await query(JOINED, least=100) == [
            {"name": "Ana", "u": "ANA", "all_cents": 370},
            {"name": "Bo", "u": "BO", "all_cents": 300},
        ]
        assert await query("SELECT id FROM orders WHERE note = :x OR note LIKE '100%'", x="100% :x") == [{"id": 3}]
        assert await query("SELECT 1 AS a, 2 AS a") == [{"a": 1, "a_2": 2}]
        for statement in ATTACKS:
            with pytest.raises(InvalidArguments):
                await query(statement)
        with pytest.raises(ApiError):
            await query("SELECT no_such FROM orders")
        source = gate.servers.source("shop")
        for statement in ("DELETE FROM orders", "CREATE TABLE t (a int)", "UPDATE orders SET cents = 0"):
            with pytest.raises(ApiError):
                await source._database.rows(statement, (), 1, 10.0)
        assert len(await query("SELECT id FROM orders WHERE cents > 0")) == 2


ATTACKS = (
    "DELETE FROM orders",
    "SELECT 1; DELETE FROM orders",
    "WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone",
    "SELECT * INTO t FROM orders",
    "SELECT * FROM orders FOR UPDATE",
    "SELECT * FROM salaries",
    "SELECT * FROM public.salaries",
    "SELECT * FROM main.salaries",
    'SELECT * FROM "SALARIES"',
    "SELECT (SELECT max(cents) FROM salaries)",
    "SELECT * FROM orders WHERE EXISTS (SELECT * FROM salaries)",
    "SELECT * FROM salaries WHERE EXISTS (WITH salaries AS (SELECT 1) SELECT * FROM salaries)",
    "WITH a AS (SELECT * FROM salaries), salaries AS (SELECT 1) SELECT * FROM a",
    "WITH pg_authid AS (SELECT 1) SELECT * FROM pg_authid",
    "TABLE salaries",
    "SELECT ('Ana', 999983) IN salaries",
    "SELECT 1 FROM orders WHERE note NOT IN main.salaries",
    "SELECT id FROM orders UNION SELECT cents FROM salaries",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM pg_catalog.pg_authid",
    "SELECT * FROM pg_shadow",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM otherdb.public.orders",
    "SELECT load_extension('x.so')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_catalog.pg_read_file('/etc/passwd')",
    "SELECT * FROM pg_ls_dir('/')",
    "SELECT pg_sleep(100)",
    "SELECT pg_terminate_backend(1)",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "SELECT current_setting('data_directory')",
    "SELECT current_user",
    "SELECT 'salaries'::regclass",
    "SELECT CAST('salaries' AS regclass)",
    "SELECT 10::oid::regrole",
    "SELECT to_regclass('salaries')",
    "SELECT 'x'::xml",
    "SELECT pg_typeof(1)",
    "SELECT version()",
    "SELECT inet_server_addr()",
    "SELECT has_table_privilege('salaries', 'SELECT')",
    "SELECT nextval('s')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT dblink_exec('host=x', 'DROP TABLE orders')",
    "SELECT query_to_xml('SELECT * FROM salaries', true, true, '')",
    "SELECT * FROM generate_series(1, 1000000000)",
    "SELECT * FROM json_each('[1]')",
    "SELECT randomblob(1000000000)",
    "ATTACH 'other.db' AS other",
    "PRAGMA writable_schema = 1",
    "COPY orders TO '/tmp/x'",
    "EXPLAIN ANALYZE DELETE FROM orders",
    "SET ROLE postgres",
    "VACUUM",
    "BEGIN",
    "",
    ";",
    "SELECT :missing",
    "SELECT ?",
    "SELECT $1",
    "SELECT (",
    f"SELECT {'(' * 900}1{')' * 900}",
    "SELECT " + "1+" * 15_000 + "1",
)


async def test_sqlite_keeps_to_its_limits(tmp_path: Path) -> None:
    """The database itself refuses what no check has seen: other files, its own tables, endless work, vast values."""
    database = SQLite("shop", shop(tmp_path))
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
    with pytest.raises(LimitExceeded, match="took too long"):
        await database.rows(endless, (), 1, 0.05)
    for statement in (
        f"ATTACH '{tmp_path / 'other.db'}' AS other",
        "PRAGMA query_only = OFF",
        "SELECT * FROM sqlite_master",
        "SELECT load_extension('x')",
        "SELECT zeroblob(100000000)",
        "INSERT INTO orders VALUES (9, 1, 1, '')",
    ):
        with pytest.raises(ApiError):
            await database.rows(statement, (), 1, 10.0)
    assert not (tmp_path / "other.db").exists()
    for wrong in (2**70, "\ud800"):
        with pytest.raises(InvalidArguments):
            await database.rows("SELECT ?", (wrong,), 1, 10.0)


async def test_sqlite_reads_no_table_beyond_the_list(tmp_path: Path) -> None:
    """Nor by a name that a statement gives, which no check has seen; a view that is there reads what it is made of."""
    file = shop(tmp_path)
    there = [table for table in await SQLite("shop", file).tables() if table.name in ("customers", "totals")]
    database = SQLite("shop", file, there)
    for statement in (
        "SELECT * FROM salaries",
        "SELECT count(*) FROM main.salaries",
        "SELECT 1 FROM main.salaries",
        "WITH x AS (SELECT * FROM salaries) SELECT * FROM x",
        "WITH customers AS (SELECT * FROM salaries) SELECT * FROM customers",
        "SELECT (SELECT max(cents) FROM salaries) FROM customers",
        "SELECT ('Ana', 999983) IN salaries",
        "SELECT * FROM orders",
    ):
        with pytest.raises(ApiError, match=r"prohibited|not authorized"):
            await database.rows(statement, (), 10, 10.0)
    assert (await database.rows("SELECT cents FROM totals WHERE customer = 1", (), 1, 10.0))[1] == [(370,)]
    counted = "WITH x AS (SELECT id FROM customers) SELECT count(*) FROM x, (SELECT 1)"
    assert (await database.rows(counted, (), 1, 10.0))[1] == [(2,)]


async def test_a_vast_row_is_refused_by_the_database(config: str, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """It never comes here, however few rows are asked for."""
    monkeypatch.setattr(model, "MAX_ROW_BYTES", 50_000)
    is_sqlite = "sqlite" in config
    async with host.gateway(config) as gate:
        await gate.ready()
        database = gate.servers.source("shop")._database
        vast = "SELECT hex(zeroblob(20000000)) AS x" if is_sqlite else "SELECT repeat('x', 100000) AS x"
        with pytest.raises(ApiError if is_sqlite else LimitExceeded):
            await database.rows(vast, (), 1, 10.0)
        fits = "SELECT 'x' AS a, 1 AS a UNION ALL SELECT 'y', 2 ORDER BY 2 DESC"
        assert (await database.rows(fits, (), 5, 10.0))[1] == [("y", 2), ("x", 1)]


async def test_an_answer_is_bounded(config: str, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its values together: rows are read until they are too much."""
    monkeypatch.setattr(model, "MAX_ANSWER_BYTES", 2_000)
    async with host.gateway(config.replace("rows = 2", "rows = 1000")) as gate:
        many = " UNION ALL ".join(["SELECT :text AS n FROM orders"] * 100)
        short, long = ({"statement": many, "values": {"text": text}} for text in ("x", "x" * 30))
        assert len((await gate.call("shop.query", short))["rows"]) == 300
        with pytest.raises(LimitExceeded, match="more than"):
            await gate.call("shop.query", long)


@pytest.mark.parametrize(
    ("value", "plain"),
    [("1.10", 1.1), ("7", 7), ("Infinity", "Infinity"), ("NaN", "NaN"), ("0.1234567890123456789", None)],
)
def test_numbers_that_json_cannot_hold_are_texts(value: str, plain: Any) -> None:
    assert source._plain(Decimal(value)) == (value if plain is None else plain)


def test_what_is_sent_is_written_anew() -> None:
    """The database gets no text of an agent: comments are gone, tables have their schema, values are places."""
    tables = [Table("orders", "public", columns=[Column("id", "integer")])]
    sent, values = checked(
        "select id /* x */ from orders where id = :a or id = :b or id = :a", "postgres", tables, {"orders"}, (),
        {"a": 1, "b": 2},
    )  # fmt: skip
    assert sent == 'SELECT id FROM "public"."orders" AS "orders" WHERE id = $1 OR id = $2 OR id = $3'
    assert values == [1, 2, 1]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT user", "SELECT CURRENT_ROLE", "SELECT id, system_user FROM orders", "SELECT current_schema",
        "SELECT current_catalog", "SELECT session_user", "SELECT regclass 'salaries'", "SELECT oid '5'",
        "SELECT 'x'::name", "SELECT 'x'::\"regclass\"",
    ],
)  # fmt: skip
def test_words_of_postgres_that_tell_of_it(statement: str) -> None:
    """Roles, schemas and objects by their names are none of a query's; a column may be called so, in quotes."""
    tables = [Table("orders", "public", columns=[Column("user", "text")])]
    with pytest.raises(InvalidArguments):
        checked(statement, "postgres", tables, {"orders"}, (), {})
    assert checked('SELECT "user" FROM orders', "postgres", tables, {"orders"}, (), {})[0].startswith('SELECT "user"')


class TestSQLConformance(SourceConformance):
    driver = SQL

    def settings(self, host: Any) -> dict[str, Any]:
        if not (host.folder / "shop.db").exists():
            shop(host.folder)
        return {"database": "sqlite:shop.db"}

    def example(self, host: Any) -> tuple[str, dict[str, Any]]:
        return "orders", {"match": {"id": 1}}

    def refused(self, host: Any) -> tuple[str, dict[str, Any]]:
        return "query", {"statement": "SELECT no_such FROM orders"}

    def broken(self, host: Any) -> dict[str, Any]:
        return {"database": "sqlite:no-such.db"}


def test_it_is_installed() -> None:
    """The driver is found under its word in the configuration."""
    assert check_driver("source", "sql") is SQL
