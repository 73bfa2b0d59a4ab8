"""Files and folders for this user alone, which no other user can read or replace, and SQLite in such a file."""

from __future__ import annotations

from doorward.host.files import alone, check_own, flocked, own_file, own_folder, write_own
from doorward.host.sqlite_file import SqliteFile
from doorward.host.sqlite_layout import SqliteLayout

__all__ = [
    "SqliteFile",
    "SqliteLayout",
    "alone",
    "check_own",
    "flocked",
    "own_file",
    "own_folder",
    "write_own",
]
