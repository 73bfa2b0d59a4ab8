"""Names for secrets: what `.env` holds already, and what is to be added."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from doorward import ConfigError
from dotenv import dotenv_values

from doorward_clients.references import variable

_SCRUBBED = re.compile(r"KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH")
"""Core removes the values of variables that are called so from every output."""


class Variables:
    """The variables that a configuration can refer to. The environment wins over `.env`, so both are looked at."""

    def __init__(self, file: Path, environ: Mapping[str, str] | None = None) -> None:
        """Raises: ConfigError if `.env` cannot be read."""
        try:
            there = dotenv_values(file, interpolate=False) if file.is_file() else {}
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read: {error}", place=str(file)) from None
        self.file = file
        self._there = {name: value for name, value in there.items() if value is not None}
        self._environ = os.environ if environ is None else environ
        self.new: dict[str, str] = {}

    def keep(self, secret: str, *names: str) -> str:
        """A reference to a secret: by the first of these names that is free, or has this very value."""
        wanted = [variable(name) for name in names]
        wanted = [name if _SCRUBBED.search(name) else f"{name}_SECRET" for name in wanted]
        number = 1
        while True:
            for name in wanted:
                name = name if number == 1 else f"{name}_{number}"
                values = {known[name] for known in (self._environ, self._there, self.new) if name in known}
                if values <= {secret}:
                    if name not in self._there:
                        self.new[name] = secret
                    return f"${{{name}}}"
            number += 1

    def has(self, name: str) -> bool:
        """Whether a variable has a value, or will have one."""
        return any(name in known for known in (self._environ, self._there, self.new))

    def used(self, texts: Iterable[str]) -> dict[str, str]:
        """Those to be added that these texts refer to."""
        names = {name for text in texts for name in re.findall(r"\$\{(\w+)\}", text)}
        return {name: value for name, value in self.new.items() if name in names}
