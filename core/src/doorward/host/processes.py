"""The processes that share a folder: each has an id there, and the others can tell whether it lives."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path

from doorward.host.files import flocked, own_file, own_folder, refuse_link
from doorward.model.errors import ConfigError

_ID = re.compile(r"[0-9a-f]{8}")


class Process:
    """This process in a folder. It holds the lock of a file there, which is called after its id, from the first use of
    the id on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._id = ""
        self._number: int | None = None

    @property
    def id(self) -> str:
        """Its id. Where the folder cannot be written, nobody can tell that it lives."""
        if not self._id:
            self._id = secrets.token_hex(4)
            with contextlib.suppress(OSError, ConfigError):
                own_folder(self.folder, private=True)
                self._forget_dead()
                self._number = own_file(self.folder / self._id, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                flocked(self._number)
        return self._id

    def knows(self, named: str) -> bool:
        """Whether something was named by another process that lives: the name begins with its id."""
        id = named[:8]
        return id != self._id and _ID.fullmatch(id) is not None and self._lives(id)

    def close(self) -> None:
        """Let the others know that it is over."""
        if self._number is not None:
            os.close(self._number)
            with contextlib.suppress(OSError):
                (self.folder / self._id).unlink()
            self._id, self._number = "", None

    def _lives(self, id: str) -> bool:
        try:
            refuse_link(self.folder)
            number = own_file(self.folder / id, os.O_RDONLY)
        except (OSError, ConfigError):
            return False
        try:
            return not flocked(number)
        finally:
            os.close(number)

    def _forget_dead(self) -> None:
        """Remove what processes have left that were killed."""
        for file in self.folder.iterdir():
            if _ID.fullmatch(file.stem) and not self._lives(file.stem):
                file.unlink(missing_ok=True)
