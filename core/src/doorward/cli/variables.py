"""`.env`: the values that the configuration refers to, readable for nobody but its owner, and kept out of git."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from doorward import files

_STUB = "# Values for ${…} in doorward.toml, one NAME=value a line. Never commit this file.\n"


def write_env(file: Path, values: Mapping[str, str] | None = None) -> list[Path]:
    """Make the file if it is not there, append the values, and keep it out of git. What stands in it stays.

    Returns: the files that were written. Raises: ConfigError.
    """
    written = []
    before = file.read_text(encoding="utf-8") if file.exists() else None
    if before is None or values:
        text = _STUB if before is None else before
        text += "" if text.endswith("\n") or not text else "\n"
        files.write(file, (text + "".join(f"{name}={quoted(value)}\n" for name, value in (values or {}).items())).encode(), private=True)
        written.append(file)
    ignored = file.parent / ".gitignore"
    lines = ignored.read_text(encoding="utf-8") if ignored.exists() else "" if _in_git(file) else None
    if lines is not None and file.name not in lines.split():
        files.write(ignored, f"{lines}{'' if lines.endswith(chr(10)) or not lines else chr(10)}{file.name}\n".encode())
        written.append(ignored)
    return written


def quoted(value: str) -> str:
    """A value as python-dotenv reads it."""
    if re.fullmatch(r"[\w./:@%+,-]*", value, re.ASCII):
        return value
    if re.search(r"[^\x20-\x7e]", value):  # line breaks would not all come back from between single quotes
        escaped = re.sub(r'[\\"]', r"\\\g<0>", value).replace("\n", r"\n").replace("\r", r"\r")
        return f'"{escaped}"'
    return "'" + re.sub(r"[\\']", r"\\\g<0>", value) + "'"


def _in_git(file: Path) -> bool:
    return any((folder / ".git").exists() for folder in file.resolve().parents)
