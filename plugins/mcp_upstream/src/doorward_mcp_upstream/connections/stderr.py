"""The log of a server: its standard error, and lines of its standard output that are no messages."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from doorward import ConfigError
from doorward.files import own_file, own_folder
from doorward.values import clean_text

_MAX_LINES = 200
"""Lines that are kept in memory."""
_MAX_LINE_CHARACTERS = 2000
"""Characters that are kept of a line."""
_MAX_PARTIAL_CHARACTERS = 64 * 2**10
"""Characters without an end of line that are taken as a line."""
_OVERLAP_CHARACTERS = 1024
"""Characters of such a line that are scrubbed again with the next one: a secret may lie across both."""
_MAX_FILE_BYTES = 2**20
"""Size after which a new file is begun. The one before is kept as `stderr.log.1`."""


class StderrLog:
    """A bounded log, in memory and in a file that only its owner can read, without secrets and terminal controls."""

    def __init__(self, path: Path, scrub: Callable[[str], str]) -> None:
        self._path = path
        self._scrub = scrub
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self._partial = ""
        self._size: int | None = None

    def feed(self, data: bytes) -> None:
        """Add bytes that were read."""
        *lines, self._partial = (self._partial + data.decode(errors="replace")).split("\n")
        if len(self._partial) > _MAX_PARTIAL_CHARACTERS:
            text = self._scrub(self._partial)
            lines.append(text[:-_OVERLAP_CHARACTERS])
            self._partial = text[-_OVERLAP_CHARACTERS:]
        self.add(*lines)

    def flush(self) -> None:
        """Take the rest as a line: nothing more will come from this process."""
        rest, self._partial = self._partial, ""
        self.add(rest)

    def add(self, *lines: str) -> None:
        """Add whole lines."""
        # Once for all lines: a secret may lie across two of them. Cleaned first: a colour code may stand within it.
        said = self._scrub(clean_text("\n".join(lines)))
        clean = [line for text in said.split("\n") if (line := text[:_MAX_LINE_CHARACTERS].strip())]
        if clean:
            self._lines.extend(clean)
            with contextlib.suppress(OSError, ConfigError):  # a log that cannot be written must not stop a call
                self._write("".join(f"{line}\n" for line in clean).encode(errors="replace"))

    def tail(self, lines: int = 5, characters: int = 600) -> str:
        """The last lines, to be quoted in an error."""
        text = "\n".join([*self._lines][-lines:])
        return text if len(text) <= characters else f"… {text[-characters:]}"

    def forget(self) -> None:
        """Forget the lines of an earlier process: they explain nothing about a new one."""
        self._partial = ""
        self._lines.clear()

    def _write(self, data: bytes) -> None:
        if self._size is None:
            own_folder(self._path.parent)
            self._size = self._path.stat().st_size if self._path.exists() else 0
        if self._size > _MAX_FILE_BYTES:
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            self._size = 0
        descriptor = own_file(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            self._size += os.write(descriptor, data[-_MAX_FILE_BYTES:])
        finally:
            os.close(descriptor)
