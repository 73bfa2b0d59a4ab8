"""The key for the hashes of an audit log, in a file beside it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from doorward import ConfigError

KEY_BYTES = 32

KEY_WAIT_SECONDS = 5.0
"""How long to wait for another process that is making the key."""


def key_path(log: Path) -> Path:
    """Where the key of a log is."""
    return log.with_name(f"{log.name}.key")


def key_at(path: Path) -> tuple[bytes, bool]:
    """The key for the hashes, made by the first process that needs it, and whether it is new.

    Raises: ConfigError if it is broken: with another one the log would prove nothing any more.
    """
    from doorward.files import alone, check_own, own_file, write_own

    with alone(path, KEY_WAIT_SECONDS):
        if new := not check_own(path):
            write_own(path, secrets.token_bytes(KEY_BYTES))
    if path.stat().st_size != KEY_BYTES:
        hint = "Put it back from a backup. If there is none, move log and key away: both are begun anew then."
        raise ConfigError(
            f"the key of the audit log is broken: it has not {KEY_BYTES} bytes", place=str(path), hint=hint
        )
    with open(own_file(path, os.O_RDONLY), "rb") as file:
        return file.read(KEY_BYTES), new
