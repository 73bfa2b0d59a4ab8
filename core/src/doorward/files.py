"""Files and folders for this user alone, which no other user can read or replace."""

from __future__ import annotations

from doorward.host.cached_file import CachedFile, stamp
from doorward.host.files import (
    alone,
    beside,
    check_own,
    flocked,
    own_file,
    own_folder,
    refuse_link,
    sync_names,
    write_own,
)
from doorward.host.files import write as write_file

__all__ = [
    "CachedFile",
    "alone",
    "beside",
    "check_own",
    "flocked",
    "own_file",
    "own_folder",
    "refuse_link",
    "stamp",
    "sync_names",
    "write_file",
    "write_own",
]
