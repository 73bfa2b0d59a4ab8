"""Whether the lines of an audit log are those that were written: none changed, left out, moved, added or cut off."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from doorward_audit_jsonl.chain import ChainedLine, Head, Link, chain_key, chained, read_head
from doorward_audit_jsonl.head_file import head_path
from doorward_audit_jsonl.log_file import all_files

MAX_PROBLEMS = 100
"""Problems that are told one by one."""

MAX_RUNS_NAMED = 20
"""Runs without an end that are named."""

_RUN = re.compile(rb'"event":"run_(?:(started)|finished)","run":"([^"]+)"')


@dataclass
class Verdict:
    """What was found in the files of a log. `first` and `last` are the places of its lines in the chain."""

    files: int = 0
    lines: int = 0
    first: int = 0
    last: Link = field(default_factory=Link)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    more: int = 0

    def problem(self, text: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(text)
        else:
            self.more += 1

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(path: Path, key: bytes, holds: Link | None = None, stored: Head | None = None) -> Verdict:
    """Look at every line of a log and its older files. `holds` is a line that must be there, as it was noted elsewhere;
    `stored` is a head that the store of several machines has: lines after it may have come since.

    Raises: OSError; TimeoutError if another process holds the log.
    """
    verdict, made = Verdict(), chain_key(key)
    with ExitStack() as opened:
        head, files = _snapshot(path, made, opened)
        verdict.files = len(files)
        walk = _Walk(verdict, made, head, holds, stored)
        for name, descriptor, size in files:
            for number, line in _numbered(descriptor, size):
                walk.line(f"{name}:{number}", line)
        walk.end()
    return verdict


def _snapshot(path: Path, key: bytes, opened: ExitStack) -> tuple[Head | None, list[tuple[str, int, int]]]:
    """The head, and all files as they are at one moment: name, descriptor, size."""
    from doorward.files import flocked

    try:
        number = os.open(head_path(path), os.O_RDONLY)
    except FileNotFoundError:
        number = -1
    try:
        if number >= 0 and not flocked(number, 5.0):
            raise TimeoutError("another process has held the log for 5 s")
        head = read_head(number, key) if number >= 0 else None
        files = []
        for file in all_files(path):
            descriptor = os.open(file, os.O_RDONLY)
            opened.callback(os.close, descriptor)
            files.append((file.name, descriptor, os.fstat(descriptor).st_size))
    finally:
        if number >= 0:
            os.close(number)
    return head, files


def _numbered(descriptor: int, size: int) -> Iterator[tuple[int, bytes]]:
    with open(descriptor, "rb", closefd=False) as file:
        for number, line in enumerate(file, 1):
            if file.tell() > size:
                return
            yield number, line


class _Walk:
    """Follows the chain from line to line. After what is wrong it goes on with what the next line says of itself, so
    that one change is told once."""

    def __init__(
        self, verdict: Verdict, key: bytes, head: Head | None, holds: Link | None, stored: Head | None
    ) -> None:
        self._verdict, self._key, self._head = verdict, key, head or stored
        self._holds, self._stored = holds, stored.last if stored else Link()
        self._last: Link | None = None
        self._unchained = self._torn = 0
        self._under_way: dict[bytes, None] = {}

    def line(self, place: str, line: bytes) -> None:
        self._verdict.lines += 1
        claimed = chained(line) if line.endswith(b"\n") else None
        if claimed is None:
            self._other(place, line)
        elif self._last is None:
            self._first(place, claimed)
        else:
            self._next(place, claimed, self._last)
        if claimed and (run := _RUN.search(claimed.text)):
            if run[1]:
                self._under_way[run[2]] = None
            else:
                self._under_way.pop(run[2], None)
        if claimed and any(b'"event":"%s"' % event in claimed.text for event in (b"head_made", b"key_made")):
            self._verdict.problem(f"{place}: head or key were made anew here: what was cut off before is not missed")
        if claimed and self._holds and claimed.link.n == self._holds.n:
            if claimed.link != self._holds:
                self._verdict.problem(f"{place}: line {claimed.link.n} is not the one that was noted")
            self._holds = None
        if claimed and claimed.link.n == self._stored.n:
            if claimed.link != self._stored:
                self._verdict.problem(f"{place}: line {claimed.link.n} is not the one of which the store knows")
            self._stored = Link()

    def end(self) -> None:
        verdict, head = self._verdict, self._head
        verdict.last = last = self._last or (head.before if head else Link())
        if self._torn:
            verdict.notes.append(f"{self._torn} line(s) were torn when a process was killed, or the disk was full")
        if self._unchained:
            verdict.notes.append(f"{self._unchained} line(s) at the beginning are older than the chain: not proven")
        if runs := [run.decode(errors="replace") for run in self._under_way]:
            named = ", ".join(runs[-MAX_RUNS_NAMED:]) + (" and others" if len(runs) > MAX_RUNS_NAMED else "")
            verdict.notes.append(f"{len(runs)} run(s) have no end: they run now, or died with their process: {named}")
        if head is None:
            verdict.problem("the head is missing, or made with another key: lines may have been cut off at the end")
        elif head.last.n > last.n:
            verdict.problem(f"the last lines are missing: {last.n + 1} to {head.last.n}")
        elif head.last.n == last.n and head.last != last:
            verdict.problem(f"line {last.n}, the last one, is not the one that was written")
        if self._holds:
            verdict.problem(f"line {self._holds.n}, which was noted, is missing")
        if self._stored.n > (head.before.n if head else 0) and not (head and self._stored == head.last):
            verdict.problem(f"line {self._stored.n}, of which the store knows, is missing")

    def _other(self, place: str, line: bytes) -> None:
        try:
            whole = isinstance(json.loads(line), dict)
        except ValueError:
            whole = False
        if not whole:
            self._torn += bool(line.strip())
        elif self._last is None and (self._head is None or not self._head.before.n):
            self._unchained += 1
        else:
            self._verdict.problem(f"{place} is not in the chain: it was changed, or put there")

    def _first(self, place: str, claimed: ChainedLine) -> None:
        before, n = self._head.before if self._head else Link(), claimed.link.n
        self._verdict.first, self._last = n, claimed.link
        if n == 1:  # also where a file was about to be dropped
            before = Link()
        if n > before.n + 1:
            self._verdict.problem(f"the first lines are missing: {before.n + 1} to {n - 1}")
        elif n <= before.n:  # its file was about to be dropped
            self._verdict.notes.append(f"{place} (line {n}), the first one, proves nothing: the line before it is gone")
        elif not before.leads_to(self._key, claimed):
            self._verdict.problem(f"{place} (line {n}) was changed, or written with another key")

    def _next(self, place: str, claimed: ChainedLine, last: Link) -> None:
        n = claimed.link.n
        if last.leads_to(self._key, claimed):
            self._last = claimed.link
        elif n <= last.n:
            self._verdict.problem(f"{place} (line {n}) is not in its place: it follows line {last.n}")
        else:
            if n > last.n + 1:
                between = f"line {n - 1}" if n == last.n + 2 else f"lines {last.n + 1} to {n - 1}"
                self._verdict.problem(f"{place}: {between} before it: missing, moved or changed")
            else:
                self._verdict.problem(f"{place} (line {n}) was changed, or the line before it, or the key is another")
            self._last = claimed.link
