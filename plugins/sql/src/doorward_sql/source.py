"""The source driver `sql`: a function for each table and view, and one for checked queries."""

from __future__ import annotations

import datetime
import decimal
import json
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from doorward import Call, Compiled, ConfigError, Function, ServerContext, Settings, Skipped
from doorward.administration import json_digest
from doorward.values import clean_text, unique_names

from doorward_sql.model import Column, Database, Table
from doorward_sql.settings import SQLSettings

_FORM = 1
"""Goes up when the same tables become other functions."""
_KINDS = (
    (r"bool", "boolean"),
    (r"int|serial", "integer"),
    (r"real|floa|doub|numeric|decimal|money", "number"),
    (r"json", ""),
)


class SQL:
    """Functions of a database."""

    Settings: ClassVar[type[Settings]] = SQLSettings

    def __init__(self, server: ServerContext[SQLSettings]) -> None:
        self._server, self._settings = server, server.settings
        self._tables: list[Table] | None = None
        self._there: set[str] = set()

    async def fingerprint(self) -> str:
        """The hash of the tables. Raises: ServerError, ConfigError."""
        await self._read()
        settings = [self._settings.queries, self._settings.rows]
        return json_digest({"form": _FORM, "tables": repr(self._tables), "settings": settings})

    async def compile(self) -> Compiled:
        """A function for each table and view. Raises: ServerError, ConfigError."""
        database = self._database
        tables = self._tables if self._tables is not None else await self._read()
        names = unique_names(
            [*(table.id if table.schema not in ("", "public") else table.name for table in tables), "query"]
        )
        functions, skipped = [], []
        for table in tables:
            if not table.columns:
                skipped.append(Skipped(table.id, "it has no columns that may be read"))
                continue
            called = names[table.id if table.schema not in ("", "public") else table.name]
            functions.append(_function(self._server.name, called, table, self._settings.rows))
        if self._settings.queries and functions:
            functions.append(_query(self._server.name, names["query"], database.dialect, tables))
        return Compiled(
            functions, skipped=skipped, warnings=await database.warnings(), description=_about(database, tables)
        )

    async def call(self, call: Call) -> Any:
        """Read. Raises: ApiError, ServerError, InvalidArguments, LimitExceeded."""
        from doorward_sql.check import checked, select

        database, given, data = self._database, call.arguments, call.function.data
        most, offset = self._settings.rows, 0
        if "table" in data:
            table = _table(data)
            values: Any
            tree, values = select(
                table,
                database.dialect,
                given.get("columns") or (),
                given.get("match") or {},
                given.get("order_by") or (),
            )
            most, offset = min(given.get("limit", 100), most), given.get("offset", 0)
            statement = tree.limit(most + 1).offset(offset).sql(dialect=database.dialect)
        else:
            tables = self._tables if self._tables is not None else await self._read()
            statement, values = checked(
                given["statement"], database.dialect, tables, self._there, self._settings.functions,
                given.get("values") or {},
            )  # fmt: skip
        seconds = min(self._settings.timeout, call.time_left) if call.time_left else self._settings.timeout
        columns, rows = await database.rows(statement, values, most + 1, seconds)
        found = [dict(zip(_distinct(columns), map(_plain, row), strict=True)) for row in rows[:most]]
        return {"rows": found, "more": len(rows) > most}

    @staticmethod
    def upstreams(settings: SQLSettings, function: Function | None) -> list[str]:
        """See `doorward.abilities.TellsUpstreams`: the kind of the database; its address may hold a password."""
        return ["sql:database"]

    async def close(self) -> None:
        pass

    async def _read(self) -> list[Table]:
        """The tables that there are for agents. Raises: ServerError, ConfigError."""
        found = await self._database.tables()
        self._there = {table.name.lower() for table in found}
        patterns = self._settings.tables
        self._tables = [t for t in found if any(fnmatchcase(t.id if "." in p else t.name, p) for p in patterns)]
        return self._tables

    @property
    def _database(self) -> Database:
        """Raises: ConfigError."""
        address = self._settings.database.reveal()
        kind, _, rest = address.partition(":")
        if kind == "sqlite" and rest:
            from doorward_sql.sqlite import SQLite

            return SQLite(self._server.name, self._server.folder / rest.removeprefix("//"), self._tables)
        if kind in ("postgresql", "postgres"):
            try:
                from doorward_sql.postgres import Postgres

                __import__("psycopg")
            except ImportError:
                raise ConfigError("PostgreSQL needs psycopg", hint="pip install 'doorward-sql[postgres]'") from None
            return Postgres(self._server.name, address, self._settings.schemas)
        raise ConfigError(
            "`database` is no address of a database",
            place=f"[servers.{self._server.name}]",
            hint="sqlite:PATH or postgresql://USER:PASSWORD@HOST/NAME",
        )


def _function(server: str, name: str, table: Table, most: int) -> Function:
    columns = [column.name for column in table.columns]
    match = {column.name: {"description": _told(column)} for column in table.columns}
    names = {"type": "string", "enum": columns}
    ordering = {"type": "string", "enum": [*columns, *(f"-{column}" for column in columns)]}
    properties = {
        "match": {
            "type": "object", "properties": match, "additionalProperties": False,
            "description": "Values that columns have; a list: one of them; None: no value",
        },
        "columns": {"type": "array", "items": names, "description": "Those to read; all if not given"},
        "order_by": {"type": "array", "items": ordering, "description": "Columns, with a - for the largest first"},
        "limit": {"type": "integer", "minimum": 1, "maximum": most, "default": min(100, most)},
        "offset": {"type": "integer", "minimum": 0, "default": 0},
    }  # fmt: skip
    kind = "view" if table.view else "table"
    comment = clean_text(table.comment)[:500]
    about = [comment, *([f"Key: {', '.join(table.key)}."] if table.key else [])]
    about += [f"{'; '.join(table.refers)}."] if table.refers else []
    return Function(
        server, name, table.id, f"Rows of the {kind} {clean_text(table.id)}{f': {comment[:100]}' if comment else ''}",
        "\n".join(filter(None, about)),
        {"type": "object", "properties": properties, "additionalProperties": False},
        _rows({column.name: _schema(column) for column in table.columns}),
        read_only=True, idempotent=True, tags=(kind,),
        data={"table": table.name, "schema": table.schema, "columns": columns},
    )  # fmt: skip


def _query(server: str, name: str, dialect: str, tables: Sequence[Table]) -> Function:
    properties = {
        "statement": {"type": "string", "description": f"One SELECT in the SQL of {dialect}, with :name for values"},
        "values": {"type": "object", "description": "The values by their names"},
    }
    schema = {"type": "object", "properties": properties, "required": ["statement"], "additionalProperties": False}
    about = f"The tables and views are the functions of this server: {', '.join(sorted(t.id for t in tables))[:1000]}."
    return Function(
        server, name, "query", "Rows of a SELECT over several tables: joins, sums, groups", about, schema, _rows({}),
        read_only=True, idempotent=True, tags=("query",), data={"query": True},
    )  # fmt: skip


def _rows(columns: Mapping[str, Any]) -> dict[str, Any]:
    row = {"type": "object", "properties": dict(columns)}
    return {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": row},
            "more": {"type": "boolean", "description": "Whether there are more than these"},
        },
        "required": ["rows", "more"],
    }


def _schema(column: Column) -> dict[str, Any]:
    kind = next((kind for pattern, kind in _KINDS if re.search(pattern, column.type.lower())), "string")
    if not kind or column.type.endswith("[]"):
        return {"description": _told(column)}
    return {"type": [kind, "null"] if column.nullable else kind, "description": _told(column)}


def _told(column: Column) -> str:
    return clean_text(f"{column.type} {column.comment}".strip())[:300]


def _table(data: Mapping[str, Any]) -> Table:
    return Table(data["table"], data["schema"], columns=[Column(name, "") for name in data["columns"]])


def _about(database: Database, tables: Sequence[Table]) -> str:
    return f"A database ({database.dialect}) with {len(tables)} tables and views, which is only read."


def _distinct(names: Sequence[str]) -> list[str]:
    """The names of columns, of which a query may have several alike."""
    found: dict[str, None] = {}
    for name in names:
        plain, number = name, 1
        while plain in found:
            number += 1
            plain = f"{name}_{number}"
        found[plain] = None
    return [*found]


def _plain(value: Any) -> Any:
    """A value of the database as JSON; a number that JSON cannot hold as text."""
    match value:
        case None | bool() | int() | str() | bytes():
            return value
        case float():
            return value if value - value == 0 else str(value)
        case decimal.Decimal():
            return _number(value)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case memoryview() | bytearray():
            return bytes(value)
        case list() | tuple():
            return [_plain(each) for each in value]
        case dict():
            return json.loads(json.dumps(value, default=str))
        case _:
            return str(value)


def _number(value: decimal.Decimal) -> Any:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and abs(value) < 2**53:
        return int(value)
    near = float(value)
    return near if decimal.Decimal(repr(near)) == value else str(value)
