"""PostgreSQL, by psycopg: each call is a read-only transaction of its own, within a time that the server keeps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from doorward import ApiError, LimitExceeded, ServerError

from doorward_sql import model
from doorward_sql.model import Column, Rows, Table

_TABLES = """
SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), coalesce(obj_description(c.oid, 'pg_class'), ''),
  a.attname, format_type(a.atttypid, a.atttypmod), coalesce(col_description(c.oid, a.attnum), ''), NOT a.attnotnull,
  coalesce((SELECT array_position(i.indkey::int2[], a.attnum) FROM pg_index i
    WHERE i.indrelid = c.oid AND i.indisprimary), -1),
  (SELECT f.confrelid::regclass::text FROM pg_constraint f
    WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.conkey = ARRAY[a.attnum] LIMIT 1)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname = ANY($1) AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY n.nspname, c.relname, a.attnum
"""
_WRITES = """
SELECT rolsuper, EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY($1)
  AND c.relkind IN ('r', 'p') AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
FROM pg_roles WHERE rolname = current_user
"""
_START_SECONDS = 10
_AT_ONCE = 10
"""Rows that are fetched together: with the largest rows, they have to fit into memory."""
_BOUNDED = (
    "SELECT bounded.* FROM ({}) AS bounded WHERE CASE WHEN octet_length(bounded::text) <= {} THEN true "
    "ELSE ('{}' || octet_length(bounded::text))::boolean END"
)
"""The same rows; one that is too large is an error of the server, which then has sent nothing of it."""
_TOO_LARGE = "doorward: too many bytes in a row: "


class Postgres:
    """A database behind an address."""

    dialect = "postgres"

    def __init__(self, name: str, address: str, schemas: Sequence[str]) -> None:
        self._name, self._address, self._schemas = name, address, list(schemas)

    async def warnings(self) -> list[str]:
        _, ((superuser, writes),) = await self._rows(_WRITES, [self._schemas], 1, 30.0)
        if superuser:
            return ["the role of `database` is a superuser: name one that may read these tables, and nothing else"]
        return ["the role of `database` may write: calls are read-only all the same; one that cannot is safer"] * writes

    async def tables(self) -> list[Table]:
        _, rows = await self._rows(_TABLES, [self._schemas], 100_000, 30.0)
        grouped: dict[tuple[str, str], list[Any]] = {}
        for row in rows:
            grouped.setdefault((row[0], row[1]), []).append(row)
        return [
            Table(
                name, schema, each[0][2], each[0][3],
                [Column(row[4], row[5], row[6], row[7]) for row in each],
                [row[4] for row in sorted(each, key=lambda row: row[8]) if row[8] >= 0],
                [f"{row[4]} → {row[9]}" for row in each if row[9]],
            )
            for (schema, name), each in grouped.items()
        ]  # fmt: skip

    async def rows(
        self, statement: str, values: Any, most: int, seconds: float
    ) -> tuple[list[str], list[Sequence[Any]]]:
        bounded = _BOUNDED.format(statement, model.MAX_ROW_BYTES, _TOO_LARGE)
        return await self._rows(bounded, values, most, seconds, _AT_ONCE)

    async def _rows(
        self, statement: str, values: Any, most: int, seconds: float, at_once: int = 1000
    ) -> tuple[list[str], list[Sequence[Any]]]:
        from psycopg import AsyncRawServerCursor

        async with self._connected(seconds) as connection, AsyncRawServerCursor(connection, "doorward") as cursor:
            await cursor.execute(statement, values)
            rows = Rows()
            while len(rows.all) < most and (some := await cursor.fetchmany(min(at_once, most - len(rows.all)))):
                for row in some:
                    rows.add(row)
            return [column.name for column in cursor.description or ()], rows.all

    @asynccontextmanager
    async def _connected(self, seconds: float) -> AsyncIterator[Any]:
        """Raises: ServerError, ApiError, LimitExceeded; no message has the address."""
        import psycopg
        from psycopg import errors

        settings = (
            f"-c default_transaction_read_only=on -c statement_timeout={int(seconds * 1000)} -c search_path=public"
            " -c standard_conforming_strings=on"  # what is written counts on it
        )
        try:
            connection = await psycopg.AsyncConnection.connect(
                self._address, options=settings, connect_timeout=_START_SECONDS, application_name="doorward"
            )
        except psycopg.Error as error:
            raise ServerError(f"{self._name}: the database cannot be reached: {_brief(error)}") from None
        async with connection:
            await connection.set_read_only(True)
            try:
                yield connection
            except errors.QueryCanceled:
                raise LimitExceeded(f"{self._name}: the database took too long", hint="Ask for less.") from None
            except errors.InvalidTextRepresentation as error:
                if _TOO_LARGE in str(error):
                    why = f"{self._name}: a row has more than {model.MAX_ROW_BYTES // 2**20} MiB"
                    raise LimitExceeded(why, hint="Ask for fewer columns, or a part: left(column, 1000).") from None
                raise ApiError(f"{self._name}: {_brief(error)}", status=400) from None
            except psycopg.OperationalError as error:
                raise ServerError(f"{self._name}: {_brief(error)}") from None
            except psycopg.Error as error:
                raise ApiError(f"{self._name}: {_brief(error)}", status=400) from None


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:500]
