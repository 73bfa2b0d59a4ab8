"""The files of an audit log: lines are appended in turns, and full or old files are moved and dropped."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

from doorward_audit_jsonl.chain import Head, Link, chain_key, chained, read_at
from doorward_audit_jsonl.head_file import NOWHERE, HeadFile, head_path, place_of

TURN_SECONDS = 1.0
"""Seconds for which a line waits for another process that writes; then it waits in memory."""

DAY_SECONDS = 86400.0
"""With a retention, a file is followed by the next one after a day."""

_FIRST_BYTES = b'{"'
"""How each line begins."""

_READ_BYTES = 2**16


class LogFile:
    """One log and its older files: `.1` is the newest of them. `keep` and `retention` (seconds) say how many are kept,
    and for how long; `None` for all. `lost_its_head`: there are lines of a chain, and no head that knows them.

    Raises: ConfigError, OSError if the files cannot be opened, or are not ours.
    """

    def __init__(self, path: Path, key: bytes, max_bytes: int, keep: int | None, retention: float | None) -> None:
        self.path = path
        self._key = chain_key(key)
        self._max_bytes, self._keep, self._retention = max_bytes, keep, retention
        self._name = str(path)
        self._file: int | None = None
        self._place = NOWHERE
        self._began = 0.0
        self._size_now = 0
        self._head = HeadFile(head_path(path), self._key)
        try:
            with self.turn(TURN_SECONDS):
                self._reopen()
                if is_new := self._head.read() is None:
                    self._head.write(Head())
                self.lost_its_head = self._caught_up(self._size()).last.n > 0 and is_new
                self.drop_old()
        except BaseException:
            self.close()
            raise

    def turn(self, patience: float) -> HeadFile:
        """A block in which no other process writes. Raises: OSError if one does for too long."""
        self._head.patience = patience
        return self._head

    def append(self, text: bytes) -> None:
        """Write a line, in a turn: an object of JSON without its last brace. Raises: OSError, ConfigError."""
        there, size = place_of(self._name)  # another process, or logrotate, may have moved the file
        if self._file is None or there != self._place:
            self._reopen()
            size = self._size()
        assert self._file is not None
        head = self._caught_up(size)
        link, line = head.last.next(self._key, text)
        if (written := os.write(self._file, line)) != len(line):
            os.ftruncate(self._file, self._size() - written)
            raise OSError(errno.ENOSPC, "only a part of the line could be written")
        self._size_now = head.size + len(line)
        self._head.end(head.at(link, self._place[1], self._size_now))

    def head(self) -> Head | None:
        """Where the chain ends, as far as its processes have said."""
        with contextlib.suppress(OSError), self.turn(0.0):
            return self._head.read()
        return None

    @property
    def is_over(self) -> bool:
        """Whether, after a line, this file is full or a day old: see `rotate`."""
        return self._size_now >= self._max_bytes or (self._retention is not None and self._is_old())

    def rotate(self) -> None:
        """In a turn, have the next file begin if this one is full, or a day old; and drop what is not kept.

        Raises: OSError; ConfigError if an older file is none of ours: then nothing is moved.
        """
        if self._file is not None and place_of(self._name)[0] != self._place:
            self._reopen()  # another process has moved it
        if self._file is None or not (size := self._size()):
            return
        if size < self._max_bytes and not self._is_old():
            return
        from doorward.files import check_own

        older = _older(self.path)
        for file in older:
            check_own(file)  # all are looked at before one is moved
        kept = older if self._keep is None else older[: max(0, self._keep - 1)]
        self._caught_up(size)  # the lines of a process that was killed before it could say so
        self._drop(reversed(older[len(kept) :]))
        self.close_file()
        for number, file in reversed(list(enumerate(kept, 2))):
            file.replace(f"{self.path}.{number}")
        self.path.replace(first := Path(f"{self.path}.1"))
        self._reopen()
        if self._keep == 0:
            self._drop([first])

    def _is_old(self) -> bool:
        return self._retention is not None and time.time() - self._began > DAY_SECONDS

    def drop_old(self) -> None:
        """In a turn, drop the files whose last line is older than the retention. Raises: OSError."""
        if self._retention is not None:
            for file in reversed(_older(self.path)):
                if time.time() - file.stat().st_mtime < self._retention:
                    break
                self._drop([file])

    def close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def close(self) -> None:
        self.close_file()
        self._head.close()

    def _drop(self, files: Iterator[Path] | list[Path]) -> None:
        """Drop the oldest files, and remember where the chain begins then. The head is written first: a file too many
        is no harm, and is dropped with the next one."""
        for file in files:
            head = self._head.read() or Head()
            last = _last_link(file)
            if last is not None and last.n > head.before.n:
                self._head.write(head._replace(before=last))
            file.unlink()

    def _size(self) -> int:
        assert self._file is not None
        return os.fstat(self._file).st_size

    def _reopen(self) -> None:
        self.close_file()
        from doorward.files import own_file

        self._file = own_file(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, known=_is_log)
        self._place = place_of(self._file)[0]
        self._began = _first_time(self._file) if self._retention is not None else 0.0

    def _caught_up(self, size: int) -> Head:
        """The head, after lines that it does not know yet: their process was killed before it could say so. What is not
        in the chain stays in the file, and `verify` tells it; a line that a kill tore is ended."""
        assert self._file is not None
        head, file = self._head.read() or Head(), self._place[1]
        if head.size == size and head.file == file:
            return head
        last, start = head.last, head.size if head.file == file else 0
        # Lines may have been cut off, or copied away by `logrotate`: the chain goes on after them all the same.
        trusting = not last.n  # there is no head: the chain goes on from what the lines say of themselves
        tail = b""
        for line in _lines(self._file, min(start, size)):
            tail = line
            claimed = chained(line) if line.endswith(b"\n") else None
            if claimed and (trusting or last.leads_to(self._key, claimed)):
                last = claimed.link
        if tail and not tail.endswith(b"\n"):
            os.write(self._file, b"\n")
        head = head.at(last, file, self._size())
        self._head.end(head)
        return head


def _older(path: Path) -> list[Path]:
    """The older files of a log, the newest first."""
    files = {}
    for file in path.parent.glob(f"{path.name}.*"):
        number = file.name[len(path.name) + 1 :]
        if number.isdecimal():
            files[int(number)] = file
    return [files[number] for number in sorted(files)]


def all_files(path: Path) -> list[Path]:
    """The files of a log, the oldest first."""
    return [*reversed(_older(path)), *([path] if path.exists() else [])]


def _lines(number: int, start: int) -> Iterator[bytes]:
    """The lines of an open file from an offset on, each with its end; the last may have none."""
    rest = b""
    while part := read_at(number, start, _READ_BYTES):
        start += len(part)
        *whole, rest = (rest + part).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def _last_link(file: Path) -> Link | None:
    """The place in the chain that the last chained line of a file claims."""
    last: Link | None = None
    with file.open("rb") as opened:
        for line in opened:
            if (claimed := chained(line)) is not None:
                last = claimed.link
    return last


def _first_time(number: int) -> float:
    """The time of the first line of an open file; now, if it has none that says it."""
    from datetime import datetime

    found = read_at(number, 0, 64).partition(b'"time":"')[2].partition(b'"')[0]
    with contextlib.suppress(ValueError):
        return datetime.fromisoformat(found.decode()).timestamp()
    return time.time()


def _is_log(number: int) -> bool:
    """Whether what it holds is an audit log, by its first bytes. A crash may have left fewer of them."""
    return _FIRST_BYTES.startswith(os.read(number, len(_FIRST_BYTES)).partition(b"\n")[0])
