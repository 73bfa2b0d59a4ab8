"""Forgets stored runs whose time is over, and the oldest of principals who have too many.

Of each file no more is read than its head, and of those that may be too many where their frames begin: runs are large,
and there are many.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from doorward import ConfigError, StateError, log
from doorward.files import flocked, own_file
from doorward_durable_runs.files import frames

if TYPE_CHECKING:
    from doorward_durable_runs.sealing import Box
    from doorward_durable_runs.settings import RunSettings


Head = tuple[str, float, float]
"""Whose run a file is of, when it was made, and when its time is over."""


def sweep(
    paths: Sequence[Path], settings: RunSettings, box_of: Callable[[str], Box], now: float, heads: dict[Path, Head]
) -> None:
    """Remove what is to be forgotten of these files: what is too old, and what a principal has more than are kept. Of
    that, those that ended go first, and the older before the newer; a run that a process has is never touched. `heads`
    are those that were read before, to which others are added."""
    theirs: dict[str, list[tuple[float, Path]]] = {}
    for path in paths:
        try:
            if path not in heads:
                heads[path] = _head(path, box_of)
            principal, created, expires = heads[path]
        except (OSError, ConfigError, StateError):  # encrypted with another key, or its process died at its first write
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < now - settings.keep * 3600:
                    path.unlink()
            continue
        if expires > now or not _removed(path):
            theirs.setdefault(principal, []).append((created, path))
    for principal, runs in theirs.items():
        left = [path for _, path in sorted(runs)]
        for ended in (True, False):
            for path in left[:] if len(left) > settings.most else ():
                if len(left) > settings.most and _removed(path, ended=ended):
                    left.remove(path)
                    if not ended:
                        run = path.stem.rpartition("-")[2]
                        hint = "It had not ended. [runs] most says how many are kept of a principal."
                        log.warning("run_forgotten", run=run, principal=principal, most=settings.most, hint=hint)


@frames.understood()
def _head(path: Path, box_of: Callable[[str], Box]) -> Head:
    """Raises: StateError, ConfigError, OSError."""
    run = path.stem.rpartition("-")[2]
    with _opened(path, os.O_RDONLY) as number:
        said = frames.head(number, box_of(run))
    if said["run"] != run:
        raise ValueError("it is a copy")
    return str(said["principal"]), float(said["created"]), float(said["expires"])


def _removed(path: Path, *, ended: bool | None = None) -> bool:
    """Remove a file, if no process has it, and if its run has ended, or has not. Returns: whether it is gone."""
    try:
        with _opened(path, os.O_RDWR) as number:
            if not flocked(number) or (ended is not None and ended != (b"O" in frames.kinds(number))):
                return False
            path.unlink(missing_ok=True)
            return True
    except FileNotFoundError:
        return True
    except (OSError, ConfigError):
        return False


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    number = own_file(path, flags, known=frames.are_in)
    try:
        yield number
    finally:
        os.close(number)
