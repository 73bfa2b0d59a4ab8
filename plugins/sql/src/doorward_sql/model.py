"""What a database has, and what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from doorward import LimitExceeded

MAX_ANSWER_BYTES = 64 * 2**20
"""Characters and bytes of all values that one question is answered."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `type` is as the database calls it."""

    name: str
    type: str
    comment: str = ""
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view, with its primary key, and the columns that refer to others."""

    name: str
    schema: str = ""
    view: bool = False
    comment: str = ""
    columns: Sequence[Column] = ()
    key: Sequence[str] = ()
    refers: Sequence[str] = field(default_factory=tuple)

    @property
    def id(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


class Rows:
    """Rows of an answer, as far as they are not too much."""

    def __init__(self) -> None:
        self.all: list[Sequence[Any]] = []
        self._bytes = 0

    def add(self, row: Sequence[Any]) -> None:
        """Raises: LimitExceeded."""
        self._bytes += sum(len(value if isinstance(value, (str, bytes)) else str(value)) for value in row)
        if self._bytes > MAX_ANSWER_BYTES:
            why = f"the answer has more than {MAX_ANSWER_BYTES // 2**20} MiB"
            raise LimitExceeded(why, hint="Ask for fewer rows, or fewer columns.")
        self.all.append(row)


MAX_ROW_BYTES = 16 * 2**20
"""Bytes of one row, or in SQLite of one value: the database itself refuses more, before anything is sent."""


class Database(Protocol):
    """A database that is only read. Each method connects, asks and disconnects, and raises ServerError or ApiError."""

    dialect: str

    async def tables(self) -> list[Table]: ...

    async def warnings(self) -> list[str]: ...

    async def rows(
        self, statement: str, values: Any, most: int, seconds: float
    ) -> tuple[list[str], list[Sequence[Any]]]:
        """The names of the columns, and at most so many rows. `values` are for the places or the names of the
        statement."""
        ...
