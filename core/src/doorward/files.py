"""Files and folders for this user alone, which no other user can read or replace."""

from __future__ import annotations

from doorward.host.files import alone, check_own, flocked, own_file, own_folder, write_own

__all__ = [
    "alone",
    "check_own",
    "flocked",
    "own_file",
    "own_folder",
    "write_own",
]
