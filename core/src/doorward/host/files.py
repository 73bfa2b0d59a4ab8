"""Files that are written whole or not at all, files and folders of this user alone, locks between processes."""

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
"""Seconds to wait for another process that works on the same file."""

_SAFE_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def write(file: Path, content: bytes, *, private: bool = False, follow: bool = True) -> None:
    """Make a file and its folder, or replace the file. A link stays a link, and a file keeps its mode; `private` makes
    a file that only its owner can read. Without `follow`, a link is replaced too, and the folder must be ours.

    Raises: ConfigError; then the file is unchanged.
    """
    file = file.resolve() if follow else file
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        if follow:
            file.parent.mkdir(parents=True, exist_ok=True)
        else:
            own_folder(file.parent)
        replaces = file.exists()
        # The old file may be for its owner only. Then the new one must be, from the first byte on.
        mode = 0o600 if private or replaces else 0o666
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as opened:
            opened.write(content)
        if replaces and not private:
            shutil.copymode(file, new)
        new.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise ConfigError(f"cannot be written: {error.strerror}", place=str(file)) from None


def own_folder(folder: Path) -> None:
    """Make a folder for this user only, or check one that exists: anyone else who may write in it could replace our
    files by links.

    Raises: ConfigError if it belongs to another user, or others may write in it; OSError.
    """
    # One by one, because `mkdir(parents=True)` would make the parents readable by everyone.
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        missing.mkdir(exist_ok=True, mode=0o700)
    if not folder.is_dir():
        raise ConfigError(
            "cannot be used: it is not a folder", place=str(folder), hint="Remove it, or choose another path."
        )
    if folder.is_symlink():
        _check_owner(folder.lstat(), folder, others=(0,))
    found = folder.stat()
    _check_owner(found, folder)
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o022:
        hint = f"Check that everything in it is yours, then: chmod 700 {folder}"
        raise ConfigError("other users may write in this folder, so it is not used", place=str(folder), hint=hint)


def own_file(file: Path, flags: int) -> int:
    """A descriptor of a regular file of this user that no other user can read; with `os.O_CREAT` the file is made if
    there is none. Links are not followed, devices and pipes not touched.

    Raises: ConfigError if anything else is in its place; OSError.
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
    """Whether there is a file. It is not opened: to close a second descriptor drops the locks that SQLite holds.

    Raises: ConfigError if it is anything but a regular file of this user; OSError.
    """
    try:
        _check_file(file.lstat(), file)
    except FileNotFoundError:
        return False
    return True


def _check_file(found: os.stat_result, file: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "not a regular file"
        raise ConfigError(
            f"is {what}, so it is not touched", place=str(file), hint="Remove it, or configure the path of a file."
        )
    _check_owner(found, file)
    if found.st_nlink > 1:
        hint = "Remove it, or copy it to a file of its own."
        raise ConfigError("has another name as well (a hard link), so it is not touched", place=str(file), hint=hint)


def _check_owner(found: os.stat_result, path: Path, others: tuple[int, ...] = ()) -> None:
    if os.name == "posix" and found.st_uid not in (os.geteuid(), *others):
        hint = (
            "Give it to the user who runs Doorward (chown), or choose another path; "
            "the state folder's is DOORWARD_STATE_DIR."
        )
        raise ConfigError(f"belongs to another user ({found.st_uid}), so it is not used", place=str(path), hint=hint)


def flocked(number: int, patience: float = 0.0) -> bool:
    """Lock an open file. Returns: whether no other process holds this lock after `patience` seconds at the latest; True
    where the system has no such locks."""
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
    """A block in which no other process changes a file, if all use this: else one would undo the other's changes. Where
    the system has no such locks, nobody waits.

    Raises: ConfigError if another process does not release it in time.
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
    """A path that exists, or a list of them, relative to the configuration's folder; any other value unchanged."""
    if isinstance(value, list):
        return [beside(config, each) for each in value]
    if not isinstance(value, str) or not Path(value).exists():
        return value
    return Path(os.path.relpath(value, config.resolve().parent)).as_posix()
