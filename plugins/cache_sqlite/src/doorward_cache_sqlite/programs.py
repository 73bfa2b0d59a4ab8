"""The table of cached programs, and the form of a row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from doorward.files import SqliteLayout
from doorward.sandboxing import CachedProgram
from pydantic import TypeAdapter

if TYPE_CHECKING:
    from sqlite_utils import Database

COLUMNS = ("principal", "cache_id", "digest", "used", "program")
"""`used` is the time of the last put or get in seconds since the epoch; `program` is JSON. To add a column: add its
name here, its value in `row_of`, a step in `LAYOUT` that adds it to existing files, and its line in `_MADE`."""

_IN_COLUMNS = ("principal", "cache_id", "digest")
_FIELDS = [f.name for f in fields(CachedProgram) if f.name not in _IN_COLUMNS]


def _table(db: Database) -> None:
    columns = {"principal": str, "cache_id": str, "digest": str, "used": float, "program": str}
    programs = db.table("programs").create(columns, pk=("principal", "cache_id"), not_null=columns)
    programs.create_index(["principal", "digest"], unique=True)
    programs.create_index(["used"], "programs_used")


_MADE = """CREATE TABLE "programs" (
   "principal" TEXT NOT NULL,
   "cache_id" TEXT NOT NULL,
   "digest" TEXT NOT NULL,
   "used" REAL NOT NULL,
   "program" TEXT NOT NULL,
   PRIMARY KEY ("principal", "cache_id")
);
CREATE UNIQUE INDEX "idx_programs_principal_digest" ON "programs" ("principal", "digest");
CREATE INDEX "programs_used" ON "programs" ("used")"""

LAYOUT = SqliteLayout(
    (_table,), "SELECT count(*) FROM (SELECT 1 FROM programs LIMIT 1)", application=0x446F6F72, made=_MADE
)
"""The application id is "Door" in ASCII. The file is made quickly, for an answer waits until its program is stored."""


def row_of(program: CachedProgram, used: float) -> dict[str, Any]:
    """The row of a program. Everything without a column of its own is stored as ASCII JSON,
    which preserves any text."""
    rest = json.dumps({name: getattr(program, name) for name in _FIELDS}, default=dict)
    return {name: getattr(program, name) for name in _IN_COLUMNS} | {"used": used, "program": rest}


def program_of(row: Mapping[str, Any]) -> CachedProgram | None:
    """The program of a row; `None` if we did not write that row."""
    try:
        return _shape().validate_python({**json.loads(row["program"]), **{name: row[name] for name in _IN_COLUMNS}})
    except (ValueError, TypeError, RecursionError):
        return None


@cache
def _shape() -> TypeAdapter[CachedProgram]:
    return TypeAdapter(CachedProgram)
