"""`.env`: the values that the configuration refers to. Only its owner can read it, and it is kept out of git."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from doorward import ConfigError
from doorward.configuration import is_credential
from doorward.files import check_own, write_file

_ENV_HEADER = "# Values for ${…} in doorward.toml, one NAME=value a line. Never commit this file.\n"


class Variables:
    """The variables that a configuration can refer to: those of the environment, which win, and those of `.env`."""

    def __init__(self, file: Path, environ: Mapping[str, str] | None = None) -> None:
        """Raises: ConfigError if `.env` cannot be read."""
        from dotenv import dotenv_values

        try:
            there = dotenv_values(file, interpolate=False) if file.is_file() else {}
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read: {error}", place=str(file)) from None
        self.file = file
        self.there = {name: value for name, value in there.items() if value is not None}
        self._environ = os.environ if environ is None else environ
        self.new: dict[str, str] = {}

    def keep(self, secret: str, *names: str) -> str:
        """A reference to a secret, by the first of these names that is free or already has this value."""
        wanted = [variable(name) for name in names]
        wanted = [name if is_credential(name) else f"{name}_SECRET" for name in wanted]
        number = 1
        while True:
            for name in wanted:
                name = name if number == 1 else f"{name}_{number}"
                values = {known[name] for known in (self._environ, self.there, self.new) if name in known}
                if values <= {secret}:
                    if name not in self.there:
                        self.new[name] = secret
                    return f"${{{name}}}"
            number += 1

    def has(self, name: str) -> bool:
        """Whether a variable has a value, or will have one."""
        return any(name in known for known in (self._environ, self.there, self.new))


def variable(text: str) -> str:
    """A valid name for a variable, made of any text: `github-token` → `GITHUB_TOKEN`."""
    name = re.sub(r"[^A-Z0-9]+", "_", text.upper()[:100]).strip("_") or "VALUE"
    if not name[0].isalpha() or name.startswith("DOORWARD_"):  # DOORWARD_… are keys of the configuration
        name = f"MCP_{name}"
    return name


def write_env(file: Path, values: Mapping[str, str] | None = None) -> list[Path]:
    """Make the file if there is none, append the values, and keep it out of git. Its other lines stay.

    Returns: the files that were written. Raises: ConfigError.
    """
    written = []
    before = file.read_text(encoding="utf-8") if check_own(file) else None
    if before is None or values:
        text = _ENV_HEADER if before is None else before
        text += "" if text.endswith("\n") or not text else "\n"
        text += "".join(f"{name}={quoted(value)}\n" for name, value in (values or {}).items())
        write_file(file, text.encode(), private=True)
        written.append(file)
    ignored = file.parent / ".gitignore"
    lines = ignored.read_text(encoding="utf-8") if ignored.is_file() else "" if _in_git(file) else None
    if lines is not None and file.name not in lines.split():
        write_file(ignored, f"{lines}{'' if lines.endswith(chr(10)) or not lines else chr(10)}{file.name}\n".encode())
        written.append(ignored)
    return written


def quoted(value: str) -> str:
    """A value as python-dotenv reads it."""
    if re.fullmatch(r"[\w./:@%+,-]*", value, re.ASCII):
        return value
    if re.search(r"[^\x20-\x7e]", value):  # single quotes do not preserve every line break
        escaped = re.sub(r'[\\"]', r"\\\g<0>", value).replace("\n", r"\n").replace("\r", r"\r")
        return f'"{escaped}"'
    return "'" + re.sub(r"[\\']", r"\\\g<0>", value) + "'"


def _in_git(file: Path) -> bool:
    return any((folder / ".git").exists() for folder in file.resolve().parents)
