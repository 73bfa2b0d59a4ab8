"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from doorward.errors import ConfigError


def write(file: Path, content: bytes) -> None:
    """Make a file, and its folder, or replace it.

    Raises: ConfigError; the file is as it was then.
    """
    file = file.resolve()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f".{file.name}.{os.getpid()}")
        new.write_bytes(content)
        if file.exists():
            shutil.copymode(file, new)  # it may hold secrets that only its owner may read
        new.replace(file)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", place=str(file)) from None
