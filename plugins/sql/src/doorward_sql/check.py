"""What a query may be: one SELECT over the tables that are functions, by functions that only compute. sqlglot reads it,
and what is sent is what sqlglot writes of it: the database gets no text of an agent."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlglot
from doorward import InvalidArguments
from sqlglot import exp

from doorward_sql.model import Table

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what it cannot read, it would log

MAX_CHARACTERS = 20_000
"""Characters of a query."""
_FORBIDDEN = (
    exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.Set, exp.Pragma, exp.Attach, exp.Detach, exp.Transaction,
    exp.Commit, exp.Rollback, exp.Use, exp.Copy, exp.Kill, exp.SessionParameter, exp.Parameter, exp.ReadCSV,
    exp.Lateral,
)  # fmt: skip
_FUNCTIONS = frozenset(
    {
        *("abs", "age", "btrim", "char_length", "cardinality", "date", "date_part"),
        *("date_trunc", "datetime", "format", "hex", "ifnull", "instr", "isfinite"),
        *(
            "json",
            "json_array_length",
            "json_extract",
            "json_extract_path",
            "json_extract_path_text",
            "json_type",
            "json_typeof",
        ),
        *(
            "jsonb_array_length",
            "jsonb_extract_path",
            "jsonb_extract_path_text",
            "jsonb_typeof",
            "julianday",
            "length",
            "lower",
        ),
        *("ltrim", "make_date", "max", "min", "nullif", "octet_length", "position"),
        *("quote", "regexp_replace", "replace", "reverse", "round", "rtrim", "sign"),
        *("split_part", "strftime", "strpos", "substr", "substring", "time", "to_char"),
        *("to_date", "to_timestamp", "total", "translate", "trim", "trunc", "typeof"),
        *("unicode", "unixepoch", "upper"),
    }
)
"""Functions that sqlglot has no type for, and that compute and nothing else."""
_TYPED = (
    exp.AggFunc, exp.Cast, exp.TryCast, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Abs,
    exp.Ceil, exp.Floor, exp.Round, exp.Sqrt, exp.Pow, exp.Ln, exp.Log, exp.Exp, exp.Mod, exp.Sign, exp.Trunc,
    exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Substring, exp.StrPosition, exp.Concat, exp.ConcatWs, exp.Replace,
    exp.Left, exp.Right, exp.Reverse, exp.Initcap, exp.StartsWith, exp.Split, exp.SplitPart, exp.RegexpLike,
    exp.RegexpILike, exp.RegexpReplace, exp.Extract, exp.DateTrunc, exp.TimestampTrunc, exp.DateAdd, exp.DateSub,
    exp.DateDiff, exp.Date, exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.Timestamp, exp.StrToDate, exp.StrToTime,
    exp.TimeToStr, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.Year, exp.Month, exp.Day, exp.Hex,
    exp.JSONExtract, exp.JSONExtractScalar, exp.JSONBExtract, exp.JSONBExtractScalar, exp.RowNumber, exp.Rank,
    exp.DenseRank, exp.Lag, exp.Lead, exp.Ntile, exp.And, exp.Or, exp.Xor, exp.Exists, exp.Array, exp.UnixToTime,
    exp.TimeToUnix, exp.Unicode, exp.Chr,
)  # fmt: skip
"""Functions that sqlglot has a type for, and that compute and nothing else."""
_TYPES = frozenset(
    {
        *("SMALLINT", "INT", "BIGINT", "TINYINT", "MEDIUMINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "UUID"),
        *("TEXT", "VARCHAR", "CHAR", "BINARY", "VARBINARY", "BLOB", "BIT", "JSON", "JSONB", "ARRAY", "INTERVAL"),
        *("DATE", "TIME", "TIMETZ", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "DATETIME"),
    }
)
"""Types that a value may be made. One of the database's own names, such as `regclass`, tells what there is."""
_OWN_WORDS = frozenset(
    ("user", "current_user", "session_user", "system_user", "current_role", "current_catalog", "current_schema")
)
"""Words that stand like columns, and tell of the database's roles and names."""
_NAME = re.compile(r"[^\W\d]\w*")
_UNTYPED = (exp.AnonymousAggFunc, exp.CombinedAggFunc)


def checked(
    statement: str,
    dialect: str,
    tables: Collection[Table],
    there: Collection[str],
    functions: Collection[str],
    values: Mapping[str, Any],
) -> tuple[str, Sequence[Any] | Mapping[str, Any]]:
    """The statement as it is sent, and its values. It may read `tables`; `there` are the names of all that the database
    has. Raises: InvalidArguments, which says what is wrong."""
    if len(statement) > MAX_CHARACTERS:
        raise _refused(f"it has more than {MAX_CHARACTERS} characters")
    try:
        trees = sqlglot.parse(statement, dialect=dialect)
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise _refused(f"it cannot be read: {' '.join(str(error).split())[:300]}") from None
    if len(trees) != 1 or not isinstance(tree := trees[0], exp.Query):
        raise _refused("it is not one SELECT")
    known = {(table.schema.lower(), table.name.lower()): table for table in tables}
    known |= {("", table.name.lower()): table for table in tables if table.schema in ("", "public")}
    allowed = _FUNCTIONS | {name.lower() for name in functions}
    named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    if taken := next((name for name in named if name in there or name.startswith(("pg_", "sqlite_"))), None):
        raise _refused(f"{taken[:60]!r} is the name of a table: give what WITH makes another one")
    own_words = _OWN_WORDS if dialect == "postgres" else ()
    order: list[Any] = []
    for node in [*tree.walk(bfs=False)]:
        if isinstance(node, _FORBIDDEN):
            raise _refused(f"{node.key.upper()} is not for queries that only read")
        if isinstance(node, exp.Identifier) and not node.quoted and not _NAME.fullmatch(node.name):
            raise _refused(f"{node.name[:60]!r} is no name")  # the database might read something else
        if isinstance(node, exp.In) and node.args.get("field") is not None:
            raise _refused("IN is followed by no ( )")  # SQLite reads a table there
        if isinstance(node, exp.Column) and not node.this.quoted and node.name.lower() in own_words and not node.table:
            raise _refused(f"{node.name!r} tells of the database: a column of that name is quoted")
        if isinstance(node, exp.DataType) and getattr(node.this, "name", "") not in _TYPES:
            raise _refused(f"the type {node.sql()[:60]!r} is none that a value may be made")
        if isinstance(node, exp.Table):
            _check_table(node, known, named)
        elif isinstance(node, exp.Func) and (not isinstance(node, _TYPED) or isinstance(node, _UNTYPED)):
            name = str(node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
            if name not in allowed or isinstance(node.parent, exp.Dot):
                raise _refused(f"the function {name[:60]!r} is none that may be called")
        elif isinstance(node, exp.Placeholder):
            name = node.name
            if name not in values:
                raise _refused(f"it has no value for :{name[:60]}" if name else "values are given by names: :name")
            if dialect == "postgres":
                order.append(values[name])
                node.replace(exp.Parameter(this=exp.Literal.number(len(order))))
    try:
        text = tree.sql(dialect=dialect, comments=False)
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise _refused(f"it cannot be written: {str(error)[:300]}") from None
    return text, order if dialect == "postgres" else values


def _check_table(node: exp.Table, known: Mapping[tuple[str, str], Table], named: Collection[str]) -> None:
    """Have a table named by its schema, too. Raises: InvalidArguments for what is no table that is a function, nor a
    name that the query gives."""
    if not isinstance(node.this, exp.Identifier):
        raise _refused("what it selects from is no table")
    if node.catalog:
        raise _refused(f"{node.sql()[:100]} is in another database")
    schema, name = node.db.lower(), node.name.lower()
    if not schema and name in named:
        return
    table = known.get((schema, name))
    if table is None:
        there = ", ".join(sorted(".".join(filter(None, each)) for each in known))[:500]
        raise _refused(f"there is no table {node.sql()[:100]}", f"There are: {there}.")
    node.set("this", exp.to_identifier(table.name, quoted=True))
    node.set("db", exp.to_identifier(table.schema or "main", quoted=True))
    if not node.alias:  # columns may be named by the table alone
        node.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))


def _refused(why: str, hint: str = "") -> InvalidArguments:
    return InvalidArguments(f"statement: {why}", hint=hint or "Write one SELECT over the tables of this server.")


def select(
    table: Table, dialect: str, columns: Sequence[str], match: Mapping[str, Any], order: Sequence[str]
) -> tuple[exp.Select, list[Any]]:
    """The SELECT for a table, without its limit, and its values. Raises: InvalidArguments for an unknown column."""
    known = {column.name for column in table.columns}
    if unknown := next(
        (each for each in (*columns, *match, *(o.removeprefix("-") for o in order)) if each not in known), None
    ):
        raise InvalidArguments(f"there is no column {unknown!r}", hint=f"There are: {', '.join(sorted(known))[:500]}.")

    def quoted(name: str) -> exp.Identifier:
        return exp.to_identifier(name, quoted=True)

    values: list[Any] = []

    def value(given: Any) -> exp.Expression:
        values.append(given)
        return exp.Parameter(this=exp.Literal.number(len(values))) if dialect == "postgres" else exp.Placeholder()

    found = exp.Select().select(*(exp.column(quoted(name)) for name in columns or [c.name for c in table.columns]))
    found = found.from_(exp.Table(this=quoted(table.name), db=quoted(table.schema) if table.schema else None))
    for name, wanted in match.items():
        column = exp.column(quoted(name))
        if wanted is None:
            found = found.where(exp.Is(this=column, expression=exp.Null()))
        elif isinstance(wanted, list):
            several = exp.In(this=column, expressions=[value(each) for each in wanted]) if wanted else exp.false()
            found = found.where(several)
        else:
            found = found.where(exp.EQ(this=column, expression=value(wanted)))
    for each in order:
        by = exp.Ordered(this=exp.column(quoted(each.removeprefix("-"))), desc=each.startswith("-"), nulls_first=False)
        found = found.order_by(by)
    return found, values
