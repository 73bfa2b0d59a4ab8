"""What a database has, and what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


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
