"""The tables of a SQLite file: how an empty file gets them, and how an older file is brought up to date.

`sqlite-utils` makes and changes the tables. To import it takes a tenth of a second or more, so nothing else needs it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database


class NewerFile(Exception):
    """A newer Doorward has changed the tables, and what is in them cannot be made again."""

    def __init__(self, version: int) -> None:
        super().__init__(f"its tables are of version {version}, which needs a newer Doorward")


@dataclass(frozen=True, slots=True)
class SqliteLayout:
    """The tables of a file. The first of `steps` makes them in an empty file, which then has the version `first`
    (SQLite's `user_version`); each further step brings a file from one version to the next. A file of any other version
    is replaced by a new one, or refused if it is newer and `irreplaceable`."""

    steps: tuple[Callable[[Database], None], ...]
    probe: str
    """A statement that every file of this layout can answer at once."""

    first: int = 1
    application: int = 0
    """SQLite's `application_id`."""

    made: str = ""
    """The result of all steps as SQL: somebody may wait while a file is made, and must not wait for sqlite-utils too. A
    test of the layout's owner compares both."""

    irreplaceable: bool = False
    """Whether a file of a newer version is left alone, for what it holds cannot be made again."""

    @property
    def version(self) -> int:
        """The version of a file that has taken all steps."""
        return self.first + len(self.steps) - 1

    def is_current(self, db: sqlite3.Connection) -> bool:
        """Whether a file has the present version of this layout."""
        return _version(db) == (self.application, self.version) and bool(db.execute(self.probe).fetchone())

    def there(self, db: sqlite3.Connection) -> int:
        """The version of a file; 0 if it has another layout, and will be replaced. Raises: NewerFile."""
        application, version = _version(db)
        if application == self.application and version > self.version and self.irreplaceable:
            raise NewerFile(version)
        return version if application == self.application and self.first <= version <= self.version else 0

    def update(self, db: sqlite3.Connection) -> bool:
        """Bring a file of an older version to the present one. Returns: whether the file has this layout at all.
        Raises: NewerFile."""
        if not (version := self.there(db)):
            return False
        if version < self.version:
            self.apply(db)
        db.execute(self.probe).fetchone()
        return True

    def apply(self, db: sqlite3.Connection) -> None:
        """Take the steps that a file has not taken yet, all or none."""
        db.execute("BEGIN IMMEDIATE")
        try:
            version = _version(db)[1]  # another process may have been quicker
            if self.made and version == 0:
                for statement in self.made.split(";"):
                    db.execute(statement)
            else:
                self._take(db, self.steps[max(0, version + 1 - self.first) :])
            db.execute(f"PRAGMA application_id = {self.application}")
            db.execute(f"PRAGMA user_version = {self.version}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    @staticmethod
    def _take(db: sqlite3.Connection, steps: tuple[Callable[[Database], None], ...]) -> None:
        from sqlite_utils import Database

        # Plugins of sqlite-utils are left out: no configuration names them.
        tables = Database(db, recursive_triggers=False, execute_plugins=False)
        for step in steps:
            step(tables)


def _version(db: sqlite3.Connection) -> tuple[int, int]:
    return db.execute("PRAGMA application_id").fetchone()[0], db.execute("PRAGMA user_version").fetchone()[0]
