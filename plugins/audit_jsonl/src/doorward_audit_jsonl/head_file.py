"""The file with the head of the chain. Its lock says whose turn it is to write; what it holds is read in each turn, for
others may have written."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path
from types import ModuleType

from doorward_audit_jsonl.chain import HEAD_BYTES, Head, head_in, is_head, read_at, write_at

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

Place = tuple[int, int]
"""What tells files apart: their device and their number there."""

NOWHERE: Place = (0, 0)


class HeadFile:
    """As a block it is one in which no other process writes; it raises OSError if one does for too long (`patience`, in
    seconds).

    Raises: ConfigError, OSError if it cannot be opened, or is not ours.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self._path, self._name, self._key = path, str(path), key
        self._last: Head | None = None
        self._content = b""
        self._place = NOWHERE
        self.patience = 0.0
        self._number = self._opened()

    def __enter__(self) -> None:
        if fcntl is None:
            return
        end, pause = time.monotonic() + self.patience, 0.0001
        while True:
            try:
                if self._number < 0:
                    self._number = self._opened()
                fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if place_of(self._name)[0] == self._place:
                    return
                self._replaced()
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise TimeoutError(errno.ETIMEDOUT, "another process holds the log") from None
                time.sleep(pause)
                pause = min(pause * 2, 0.01)

    def __exit__(self, *raised: object) -> None:
        if fcntl is not None:
            fcntl.flock(self._number, fcntl.LOCK_UN)

    def read(self) -> Head | None:
        """The head; `None` if there is none, or none that was made with this key."""
        content = read_at(self._number, 0, HEAD_BYTES)
        if self._last is not None and content == self._content:  # nobody else has written since: it needs no proof
            return self._last
        return head_in(content, self._key)

    def write(self, head: Head) -> None:
        """Raises: OSError."""
        write_at(self._number, 0, head.written(self._key))

    def end(self, head: Head) -> None:
        """Say where the chain ends now. If it cannot be written, whoever writes next catches up."""
        self._last, self._content = head, head.written(self._key)
        with contextlib.suppress(OSError):
            write_at(self._number, 0, self._content)

    def close(self) -> None:
        if self._number >= 0:
            os.close(self._number)
            self._number = -1

    def _opened(self) -> int:
        from doorward.files import own_file

        number = own_file(self._path, os.O_RDWR | os.O_CREAT, known=is_head)
        self._place = place_of(number)[0]
        return number

    def _replaced(self) -> None:
        """Take the head that is there now: somebody has removed ours. What we know of the chain is not forgotten."""
        self.close()
        self._number = self._opened()
        if self._last is not None and self.read() is None:
            self.write(self._last)


def head_path(log: Path) -> Path:
    """Where the head of a log is."""
    return log.with_name(f"{log.name}.head")


def place_of(file: str | int) -> tuple[Place, int]:
    """Which file a path leads to now, or which is open, and its size."""
    try:
        found = os.lstat(file) if isinstance(file, str) else os.fstat(file)
    except FileNotFoundError:
        return NOWHERE, 0
    return (found.st_dev, found.st_ino), found.st_size
