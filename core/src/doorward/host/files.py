"""Files that are written whole or not at all, files that nobody else has a hand in, and paths as the configuration has
them."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doorward.model.errors import ConfigError

LOCK_WAIT_SECONDS = 30.0
"""Seconds to wait for another process that is at the same file."""

_SAFE_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def write(file: Path, content: bytes, *, private: bool = False, follow: bool = True) -> None:
    """Make a file, and its folder, or replace it. A link stays one, and a file's mode stays; `private` is for its owner
    only. Without `follow` it takes the place of whatever has its name, in a folder that is ours.

    Raises: ConfigError; the file is as it was then.
    """
    file = file.resolve() if follow else file
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        if follow:
            file.parent.mkdir(parents=True, exist_ok=True)
        else:
            own_folder(file.parent)
        there = (
            file.exists()
        )  # what it holds may be for its owner only: so is what takes its place, from the first byte on
        with open(
            os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private or there else 0o666), "wb"
        ) as opened:
            opened.write(content)
        if there and not private:
            shutil.copymode(file, new)
        new.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise ConfigError(f"cannot be written: {error.strerror}", place=str(file)) from None


def own_folder(folder: Path) -> None:
    """Make a folder for this user only, or take one that is there: who else may write in it could put links in the
    place of our files.

    Raises: ConfigError if it is another user's, or others may write in it; OSError.
    """
    for missing in reversed(
        [each for each in (folder, *folder.parents) if not each.exists()]
    ):  # mkdir would make its parents for all
        missing.mkdir(exist_ok=True, mode=0o700)
    if not folder.is_dir():
        raise ConfigError(
            "cannot be used: it is no folder", place=str(folder), hint="Remove it, or choose another path."
        )
    if folder.is_symlink():
        _check_owner(folder.lstat(), folder, others=(0,))
    found = folder.stat()
    _check_owner(found, folder)
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o022:
        hint = f"See whether all in it is yours, then: chmod 700 {folder}"
        raise ConfigError("other users may write in this folder, so it is not used", place=str(folder), hint=hint)


def own_file(file: Path, flags: int) -> int:
    """A descriptor of a regular file of this user, which nobody else can read; with `os.O_CREAT` it is made if there is
    none. No link is followed, and no device or pipe touched.

    Raises: ConfigError if there is anything else in its place; OSError.
    """
    check_own(file)
    number = os.open(file, flags | _SAFE_OPEN_FLAGS, 0o600)
    try:
        _check_file(found := os.fstat(number), file)
        if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(number, 0o600)
    except BaseException:
        os.close(number)
        raise
    return number


def check_own(file: Path) -> bool:
    """Whether there is a file. It is not opened: to close a second descriptor would drop the locks that SQLite holds.

    Raises: ConfigError if it is anything but a regular file of this user; OSError.
    """
    try:
        _check_file(file.lstat(), file)
    except FileNotFoundError:
        return False
    return True


def _check_file(found: os.stat_result, file: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "no regular file"
        raise ConfigError(
            f"is {what}, so it is not touched", place=str(file), hint="Remove it, or configure the path of a file."
        )
    _check_owner(found, file)
    if found.st_nlink > 1:
        hint = "Remove it, or copy it to a file of its own."
        raise ConfigError("has another name as well (a hard link), so it is not touched", place=str(file), hint=hint)


def _check_owner(found: os.stat_result, path: Path, others: tuple[int, ...] = ()) -> None:
    if os.name == "posix" and found.st_uid not in (os.geteuid(), *others):
        hint = "Give it to the user who runs Doorward (chown), or choose another path; the state folder's is DOORWARD_STATE_DIR."
        raise ConfigError(f"belongs to another user ({found.st_uid}), so it is not used", place=str(path), hint=hint)


def flocked(number: int, patience: float = 0.0) -> bool:
    """Whether an open file is ours alone, of all processes that ask so, within some seconds. Where the system cannot
    tell, it is."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:
        return True
    end = time.monotonic() + patience
    while True:
        try:
            flock(number, LOCK_EX | LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.02)
        except OSError:
            return True


@contextlib.contextmanager
def alone(file: Path, patience: float = LOCK_WAIT_SECONDS) -> Iterator[None]:
    """No other process changes a file meanwhile that asks for the same: what one adds, or takes away, the other would
    undo. Where the system cannot, nobody is kept waiting.

    Raises: ConfigError if another process does not come to an end.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            folder = os.open(file.resolve().parent, os.O_RDONLY)
            stack.callback(os.close, folder)
            if not flocked(folder, patience):
                raise ConfigError(
                    f"another process has held it for {patience:g} s", place=str(file), hint="Is one of them stuck?"
                )
        yield


def beside(config: Path, value: Any) -> Any:
    """A path that exists, or a list of such, as seen from the configuration's folder; anything else as it is."""
    if isinstance(value, list):
        return [beside(config, each) for each in value]
    if not isinstance(value, str) or not Path(value).exists():
        return value
    return Path(os.path.relpath(value, config.resolve().parent)).as_posix()
