"""Small files that are read again when they change."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


def stamp(found: os.stat_result) -> tuple[int, ...]:
    """A value that changes whenever the file changes."""
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


class CachedFile(Generic[T]):
    """The result of `parse` for a file, kept until the file changes. A link is followed each time, so it may be pointed
    at another file."""

    def __init__(self, file: Path, parse: Callable[[bytes], T], max_bytes: int) -> None:
        self.file, self._parse, self._max_bytes = file, parse, max_bytes
        self._read: tuple[tuple[int, ...], T] | None = None

    def get(self) -> T:
        """Raises: OSError, also if this is not a regular file or has more than `max_bytes`; and what `parse` raises."""
        found = self.file.stat()
        if self._read is None or self._read[0] != stamp(found):
            self._read = stamp(found), self._parse(self._bytes(found))
        return self._read[1]

    def _bytes(self, found: os.stat_result) -> bytes:
        if not stat.S_ISREG(found.st_mode):  # a pipe or a device could make us wait for ever
            raise OSError(0, "it is not a regular file")
        with self.file.open("rb") as opened:
            content = opened.read(self._max_bytes + 1)
        if len(content) > self._max_bytes:
            raise OSError(0, f"it has more than {self._max_bytes // 1024} KiB")
        return content
