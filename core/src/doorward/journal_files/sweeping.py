"""Forgets stored runs whose time is over, and the oldest of principals who have too many.

Of each file no more is read than its head, and of those that may be too many where their frames begin: runs are large,
and there are many.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from doorward.host.files import flocked, own_file
from doorward.journal_files import frames
from doorward.model.errors import ConfigError, StateError

if TYPE_CHECKING:
    from doorward.config.run_settings import RunSettings
    from doorward.secrets.sealing import Box


def sweep(paths: Iterable[Path], settings: RunSettings, box_of: Callable[[str], Box], now: float) -> None:
    """Remove what is to be forgotten of these files. A run that a process has is never touched; one that has not ended
    only if its time is over, or its principal has twice as many as are kept."""
    theirs: dict[str, list[tuple[float, float, Path]]] = {}
    for path in paths:
        try:
            principal, created, expires = _head(path, box_of)
            theirs.setdefault(principal, []).append((created, expires, path))
        except (OSError, ConfigError, StateError):  # encrypted with another key, or its process died at its first write
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < now - settings.keep * 3600:
                    path.unlink()
    for runs in theirs.values():
        for number, (_, expires, path) in enumerate(sorted(runs, reverse=True), 1):
            if expires <= now or number > 2 * settings.most:
                _remove(path)
            elif number > settings.most:
                _remove(path, if_ended=True)


@frames.understood()
def _head(path: Path, box_of: Callable[[str], Box]) -> tuple[str, float, float]:
    """Whose run a file is of, when it was made, and when it is over. Raises: StateError, ConfigError, OSError."""
    run = path.stem.rpartition("-")[2]
    with _opened(path, os.O_RDONLY) as number:
        said = frames.head(number, box_of(run))
    if said["run"] != run:
        raise ValueError("it is a copy")
    return str(said["principal"]), float(said["created"]), float(said["expires"])


def _remove(path: Path, *, if_ended: bool = False) -> None:
    with contextlib.suppress(OSError, ConfigError), _opened(path, os.O_RDWR) as number:
        if flocked(number) and (not if_ended or b"O" in frames.kinds(number)):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    number = own_file(path, flags, known=frames.are_in)
    try:
        yield number
    finally:
        os.close(number)
