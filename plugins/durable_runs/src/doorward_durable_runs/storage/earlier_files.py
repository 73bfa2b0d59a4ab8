"""The files in which earlier versions kept their journals, one for each run: what they hold is taken over once."""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from doorward import ConfigError, StateError, log
from doorward.administration import run_in_thread as off_loop
from doorward.files import flocked, own_file
from doorward_durable_runs.sealing import Sealing
from doorward_durable_runs.storage.frames import NOT_KNOWN, Frame, opened, understood
from doorward_durable_runs.storage.given import Given

if TYPE_CHECKING:
    from doorward_durable_runs.sealing import Box

MAGIC = b"doorward run 1\n"
"""The beginning of each file: no other file is ever touched."""

_HEAD, _SUM = struct.Struct(">cII"), struct.Struct(">I")
"""The kind of a frame, its length and its checksum; and that of these: a wrong length looks like an end."""

_HINT = "Set vault_key to the key that it was, and start again. What the run had sent is not known."


class EarlierFiles:
    """The files of a folder, of which each is removed when it is taken over. What cannot be read stays for `keep`
    seconds, for it may be sealed with a key that comes back."""

    def __init__(
        self, folder: Path, key: Callable[[], str] | None, keep: float, before: Callable[[], str] | None = None
    ) -> None:
        self._folder, self._keep = folder, keep
        self._sealing = Sealing(key, folder / "salt", "runs", '; or set [runs] durable = "never"', before)

    def any(self) -> bool:
        """Whether there is one."""
        return not self._folder.is_symlink() and any(self._folder.glob("*-*.run"))

    async def take_over(self, adopt: Callable[[Given, Sequence[Frame]], Awaitable[None]]) -> None:
        """Raises: StateError, ConfigError."""
        if self._folder.is_symlink():
            log.warning("not_taken_over", path=str(self._folder), why="it is a link", hint="Put its folder there.")
            return
        for path in sorted(self._folder.glob("*-*.run")):
            with ExitStack() as held:
                if (found := await off_loop(self._read, path, held)) is not None:
                    await adopt(*found)
                    path.unlink(missing_ok=True)
        with suppress(OSError):
            if not any(self._folder.glob("*.run")):
                (self._folder / "salt").unlink(missing_ok=True)
                self._folder.rmdir()

    def _read(self, path: Path, held: ExitStack) -> tuple[Given, Sequence[Frame]] | None:
        """A run, which no earlier version can go on with while it is `held`; `None` if one is running it, or if it
        cannot be read."""
        run = path.stem.rpartition("-")[2]
        try:
            number = own_file(path, os.O_RDONLY, known=_is_journal)
            held.callback(os.close, number)
            if not flocked(number):
                return None
            with open(number, "rb", closefd=False) as file:
                return _run_in(file.read(), self._sealing.box(f"run {run}"), run)
        except (OSError, ConfigError, StateError) as error:
            with suppress(OSError):
                if path.lstat().st_mtime < time.time() - self._keep:
                    path.unlink()
            log.warning("not_taken_over", path=str(path), why=str(error), hint=_HINT)
            return None


def _is_journal(number: int) -> bool:
    return os.pread(number, len(MAGIC), 0) == MAGIC


@understood()
def _run_in(content: bytes, box: Box, run: str) -> tuple[Given, Sequence[Frame]]:
    """What a file holds; a last frame that was not written to its end is left out.

    Raises: StateError if one is damaged: what follows it may say that a call went out.
    """
    found: list[Frame] = []
    at = len(MAGIC)
    while (start := at + _HEAD.size + _SUM.size) <= len(content):
        kind, length, crc = _HEAD.unpack_from(content, at)
        whole = _SUM.pack(zlib.crc32(content[at : at + _HEAD.size])) == content[at + _HEAD.size : start]
        payload = content[start : start + length]
        if whole and len(payload) < length:
            break
        if not whole or zlib.crc32(payload) != crc:
            raise StateError("a stored run cannot be read: it is damaged", hint=NOT_KNOWN)
        found.append((kind, opened(payload, kind, len(found), box)))
        at = start + length
    kind, said = found[0]
    if kind != b"H" or said["run"] != run:
        raise ValueError("it is a copy")
    return Given.read(said), found
