"""Files that are written whole or not at all, files and folders of this user alone, locks between processes."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from doorward.model.errors import ConfigError

LOCK_WAIT_SECONDS = 30.0
"""Seconds to wait for another process that works on the same file."""

MAX_LINKS = 40
"""Links that lead on to links, one after the other."""

_SAFE_OPEN_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)


def write(file: Path, content: bytes, *, private: bool = False, follow: bool = True) -> None:
    """Make a file and its folder, or replace the file. A link of ours stays a link, and a file keeps its mode;
    `private` makes a file that only its owner can read. Without `follow` it is `write_own`.

    Raises: ConfigError; then the file is unchanged.
    """
    try:
        if not follow:
            write_own(file, content)
            return
        file = _led_to(file)
        _make_folders(file.parent)
        _replace(file, content, private=private)
    except OSError as error:
        hint = "Check the owner of its folder, and the room on its disk."
        raise ConfigError(f"cannot be written: {error.strerror}", place=str(file), hint=hint) from None


def write_own(file: Path, content: bytes) -> None:
    """Make or replace a file of this user alone, whole or not at all, in a folder that `own_folder` makes. A link in
    its place is replaced, never followed.

    Raises: ConfigError if its folder is not ours, or anything else is in its place; OSError.
    """
    own_folder(file.parent)
    if not file.is_symlink():
        check_own(file)
    _replace(file, content, private=True)


def _replace(file: Path, content: bytes, *, private: bool) -> None:
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        replaces = not private and file.exists()
        # The old file may be for its owner only. Then the new one must be, from the first byte on.
        mode = 0o600 if private or replaces else 0o666
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE_OPEN_FLAGS, mode), "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
        if replaces:
            shutil.copymode(file, new)
        new.replace(file)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise
    sync_names(file.parent)


def sync_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: what was synced under a new name outlasts a power cut only
    with its name. Where folders cannot be synced (Windows, some network file systems) this does nothing."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _led_to(file: Path) -> Path:
    """Where links of ours lead; the file itself if it is no link.

    Raises: ConfigError if a link belongs to somebody else, or leads to a device or a pipe; OSError.
    """
    for _ in range(MAX_LINKS):
        if not file.is_symlink():
            break
        _check_owner(file.lstat(), file, others=(0,))
        file = file.parent / os.readlink(file)
    else:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    file = file.parent.resolve() / file.name
    if file.exists() and not file.is_file():
        raise _no_file(file)
    return file


def own_folder(folder: Path, *, private: bool = False) -> None:
    """Make a folder for this user only, or check one that exists: anyone else who may write in it could replace our
    files by links. With `private`, nobody else can list it afterwards, and it is no link, not even one of ours.

    Raises: ConfigError if it belongs to another user, or others may write in it; OSError.
    """
    if private:
        refuse_link(folder)
    _make_folders(folder, 0o700)
    if not folder.is_dir():
        raise ConfigError(
            "cannot be used: it is not a folder", place=str(folder), hint="Remove it, or choose another path."
        )
    _check_folder(found := folder.stat(), folder)
    if private and os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            _check_folder(os.fstat(number), folder)
            os.fchmod(number, 0o700)
        finally:
            os.close(number)


def _make_folders(folder: Path, mode: int = 0o777) -> None:
    """Make a folder, and those above it. One by one, because `mkdir(parents=True)` would make the parents readable by
    everyone; and each on the disk, with what is to lie in it. Raises: OSError."""
    for missing in reversed([each for each in (folder, *folder.parents) if not each.exists()]):
        missing.mkdir(exist_ok=True, mode=mode)
        sync_names(missing.parent)


def refuse_link(folder: Path) -> None:
    """Raises: ConfigError if a private folder is a link; those on the way to it may be links."""
    if folder.is_symlink():
        hint = "Put the folder that it leads to in its place. The whole state folder may be a link: DOORWARD_STATE_DIR."
        raise ConfigError("is a link, so it is not used", place=str(folder), hint=hint)


def own_file(file: Path, flags: int, *, known: Callable[[int], bool] = lambda number: True) -> int:
    """A descriptor of a regular file of this user that no other user can read; with `os.O_CREAT` the file is made if
    there is none. Links are not followed, devices and pipes not touched, and nobody else may write in its folder.
    `known` is asked, with the descriptor, whether a file that holds something is what we made; one that is not stays
    as it is.

    Raises: ConfigError if anything else is in its place; OSError.
    """
    with _in_folder(file) as (name, folder):
        # Nothing is opened that is no file: to open a device, or a pipe, may do something.
        with contextlib.suppress(FileNotFoundError):
            _check_file(os.stat(name, dir_fd=folder, follow_symlinks=False), file)
        number = os.open(name, flags & ~os.O_TRUNC | _SAFE_OPEN_FLAGS, 0o600, dir_fd=folder)
    try:
        _check_file(found := os.fstat(number), file)
        if found.st_size and not known(number):
            hint = "Move it away, or configure another path."
            raise ConfigError("is not a file that Doorward made, so it is not touched", place=str(file), hint=hint)
        if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
            os.fchmod(number, 0o600)
        if flags & os.O_TRUNC:
            os.ftruncate(number, 0)
    except BaseException:
        os.close(number)
        raise
    return number


@contextlib.contextmanager
def _in_folder(file: Path) -> Iterator[tuple[Path, int | None]]:
    """A file as it is called in its folder, and a descriptor of that, which has been checked: who puts another folder
    in its place leads us nowhere. Where the system has no such calls, the path as it is."""
    if os.open not in os.supports_dir_fd:
        yield file, None
        return
    folder = os.open(file.parent, _FOLDER_FLAGS)
    try:
        _check_folder(os.fstat(folder), file.parent, others=(0,))
        yield Path(file.name), folder
    finally:
        os.close(folder)


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
        raise _no_file(file, "a link" if stat.S_ISLNK(found.st_mode) else "not a regular file")
    _check_owner(found, file)
    if found.st_nlink > 1:
        hint = "Remove it, or copy it to a file of its own."
        raise ConfigError("has another name as well (a hard link), so it is not touched", place=str(file), hint=hint)


def _no_file(file: Path, what: str = "not a regular file") -> ConfigError:
    hint = "Remove it, or configure the path of a file."
    return ConfigError(f"is {what}, so it is not touched", place=str(file), hint=hint)


def _check_folder(found: os.stat_result, folder: Path, others: tuple[int, ...] = ()) -> None:
    for link in (each for each in (folder, *folder.parents) if each.is_symlink()):
        _check_owner(link.lstat(), link, others=(0,))
    _check_owner(found, folder, others)
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o022:
        hint = f"Choose a folder of its own; or, if this is one and everything in it is yours: chmod 700 {folder}"
        raise ConfigError("other users may write in this folder, so it is not used", place=str(folder), hint=hint)


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


def shared_secret(file: Path, size: int) -> bytes:
    """Random bytes in a file of this user alone, made once: all processes that ask get the same, before and after a
    power cut.

    Raises: ConfigError if anything else is in its place; OSError.
    """
    own_folder(file.parent)
    number = own_file(file, os.O_RDWR | os.O_CREAT)
    try:
        flocked(number, 10)
        if len(found := os.pread(number, size, 0)) < size:
            os.pwrite(number, found := os.urandom(size), 0)
            os.fsync(number)
            sync_names(file.parent)
        return found
    finally:
        os.close(number)
