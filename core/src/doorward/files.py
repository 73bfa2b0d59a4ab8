"""Files that are written whole or not at all, and paths as the configuration has them."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doorward.errors import ConfigError


def write(file: Path, content: bytes, *, private: bool = False) -> None:
    """Make a file, and its folder, or replace it. A link stays one, and a file's mode stays; `private` is for its owner only.

    Raises: ConfigError; the file is as it was then.
    """
    file = file.resolve()
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        there = file.exists()  # what it holds may be for its owner only: so is what takes its place, from the first byte on
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private or there else 0o666), "wb") as opened:
            opened.write(content)
        if there and not private:
            shutil.copymode(file, new)
        new.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise ConfigError(f"cannot be written: {error.strerror}", place=str(file)) from None


@contextlib.contextmanager
def alone(file: Path) -> Iterator[None]:
    """No other process changes a file meanwhile that asks for the same: what one adds, or takes away, the other would undo. Where the
    system cannot, nobody is kept waiting."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            folder = os.open(file.resolve().parent, os.O_RDONLY)
            stack.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield


def beside(config: Path, value: Any) -> Any:
    """A path that exists, or a list of such, as seen from the configuration's folder; anything else as it is."""
    if isinstance(value, list):
        return [beside(config, each) for each in value]
    if not isinstance(value, str) or not Path(value).exists():
        return value
    return Path(os.path.relpath(value, config.resolve().parent)).as_posix()
