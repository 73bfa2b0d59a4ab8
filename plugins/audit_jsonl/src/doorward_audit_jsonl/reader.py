"""Reads an audit log: the lines that fit, and whether all are those that were written."""

from __future__ import annotations

import contextlib
import json
import os
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from doorward import ConfigError

from doorward_audit_jsonl.key import KEY_BYTES, key_path
from doorward_audit_jsonl.log_file import all_files
from doorward_audit_jsonl.verify import Verdict, verify

Fields = Mapping[str, str | Collection[str]]
"""Fields of lines, each with its value, or some of which it has one."""


class AuditReader:
    """The audit log of a gateway, for whoever shows it. Both methods read files: they are for a thread. Who may see
    which lines is left to the caller."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def last(self, count: int, only: Fields, *, failed: bool = False) -> list[dict[str, Any]]:
        """The last lines that fit, the oldest first: see `fits`. Raises: OSError."""
        return [*deque((line for line in Tail(self._path).read() if fits(line, only, failed=failed)), maxlen=count)]

    def verify(self) -> Verdict:
        """Whether the log is whole. Raises: OSError; TimeoutError if another process holds it; ConfigError if its key
        cannot be used."""
        return verify(self._path, read_key(key_path(self._path)))


def read_key(path: Path) -> bytes:
    """The key of a log. Raises: ConfigError."""
    try:
        key = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the key of the audit log cannot be read: {error.strerror}", place=str(path)) from None
    if len(key) != KEY_BYTES:
        raise ConfigError(f"this is no key of an audit log: it has not {KEY_BYTES} bytes", place=str(path))
    return key


class Tail:
    """The lines of a log, of which each is read once, whatever files it has by then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: dict[tuple[int, int], int] = {}

    def read(self) -> Iterator[dict[str, Any]]:
        """The lines that can be read and were not, the oldest first. One that is still being written comes later."""
        for file in all_files(self._path):
            with file.open("rb") as opened:
                stat = os.fstat(opened.fileno())
                which = stat.st_dev, stat.st_ino
                opened.seek(self._read.get(which, 0))
                for line in opened:
                    if not line.endswith(b"\n"):
                        break
                    self._read[which] = self._read.get(which, 0) + len(line)
                    with contextlib.suppress(ValueError):
                        if isinstance(found := json.loads(line), dict):
                            yield found


def fits(line: Mapping[str, Any], only: Fields, *, failed: bool) -> bool:
    """Whether a line has these fields, and is of what failed, if only that is wanted."""
    return all(
        line.get(name) == value if isinstance(value, str) else line.get(name) in value for name, value in only.items()
    ) and (not failed or line.get("ok") is False)
