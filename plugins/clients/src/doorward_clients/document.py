"""The configuration file of a client: it is read as a whole and changed in one place, and all else is sure to stay."""

from __future__ import annotations

import shutil
import time
import tomllib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from doorward import ConfigError
from doorward.files import write_file

from doorward_clients import jsonc

MAX_FILE_BYTES = 64 * 2**20
"""Largest file that is read. The one of Claude Code grows with its history."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON, JSONC or TOML file, as it was read. A file that does not exist is an empty one."""

    file: Path
    text: str
    data: dict[str, Any]
    raw: bytes | None

    def has(self, keys: Sequence[str]) -> Any:
        """The value under these keys, or `None`."""
        value: Any = self.data
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def put(self, keys: Sequence[str], value: Any) -> Document:
        """The document with this value under these keys. Raises: ConfigError."""
        data = deepcopy(self.data)
        *parents, last = keys
        at = data
        for key in parents:
            at = at.setdefault(key, {})
            if not isinstance(at, dict):
                raise ConfigError(f"{key!r} is not what holds servers", place=str(self.file))
        at[last] = value
        return self._changed(keys, data, value)

    def remove(self, keys: Sequence[str]) -> Document:
        """The document without the value under these keys. Raises: ConfigError."""
        if self.has(keys) is None:
            return self
        data = deepcopy(self.data)
        *parents, last = keys
        at = data
        for key in parents:
            at = at[key]
        del at[last]
        return self._changed(keys, data, None)

    def _changed(self, keys: Sequence[str], data: dict[str, Any], value: Any) -> Document:
        """Change the text, and parse it again: it must hold exactly the wanted data, or it is not written."""
        try:
            text = _edit_toml(self.text, keys, value) if _is_toml(self.file) else _edit_json(self.text, keys, value)
            understood = _parse(self.file, text)
        except ValueError as error:
            raise ConfigError(str(error), place=str(self.file)) from None
        if understood != data and understood != _without_empty(data, keys):
            raise ConfigError(
                "is written in a way that cannot be changed safely",
                place=str(self.file),
                hint="Use --print, and paste.",
            )
        return replace(self, text=text, data=understood)

    def save(self) -> Path | None:
        """Write the document, if it differs from the file. Returns: the path of a copy of the file as it was, if there
        was one.

        Raises: ConfigError, also if the file was changed by somebody else meanwhile.
        """
        content = self.text.encode(errors="surrogatepass")
        if content == self.raw:
            return None
        if (self.file.read_bytes() if self.file.exists() else None) != self.raw:
            raise ConfigError("was changed by somebody else just now", place=str(self.file), hint="Try again.")
        copy = None
        if self.raw is not None:
            copy = _free(self.file.with_name(f"{self.file.name}.{time.strftime('%Y%m%d-%H%M%S')}"))
            write_file(copy, self.raw, private=True)
            shutil.copymode(self.file, copy)
        write_file(self.file, content)
        return copy


def read(file: Path) -> Document:
    """Read a document. Raises: ConfigError if the file is of another kind, or cannot be understood."""
    try:
        if not file.exists():
            return Document(file, "", {}, None)
        if not file.is_file():
            raise ConfigError("is not a file", place=str(file))
        if file.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"has more than {MAX_FILE_BYTES >> 20} MiB", place=str(file))
        raw = file.read_bytes()
        text = raw.decode()
        data = _parse(file, text)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", place=str(file)) from None
    except ValueError as error:
        raise ConfigError(f"cannot be read: {error}", place=str(file), hint="Fix the file.") from None
    if not isinstance(data, dict):
        raise ConfigError("does not hold an object", place=str(file))
    return Document(file, text, data, raw)


def _free(file: Path) -> Path:
    """A path for a copy that does not exist yet: an older copy may be the one that the user wants back."""
    names = (file.with_name(f"{file.name}{more}.bak") for more in chain([""], (f"-{number}" for number in count(2))))
    return next(name for name in names if not name.exists())


def _without_empty(data: Any, keys: Sequence[str]) -> Any:
    """The data without empty tables on the way to these keys: in TOML, a table disappears with its last key."""
    if not keys or not isinstance(data, dict):
        return data
    inner = _without_empty(data.get(keys[0]), keys[1:])
    return {key: inner if key == keys[0] else value for key, value in data.items() if key != keys[0] or inner != {}}


def _is_toml(file: Path) -> bool:
    return file.suffix.lower() == ".toml"


def _parse(file: Path, text: str) -> Any:
    if not _is_toml(file):
        return jsonc.loads(text)
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _edit_json(text: str, keys: Sequence[str], value: Any) -> str:
    return jsonc.remove(text, keys) if value is None else jsonc.put(text, keys, value)


def _edit_toml(text: str, keys: Sequence[str], value: Any) -> str:
    """Raises: ValueError."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    *parents, last = keys
    try:
        document = tomlkit.parse(text)
        table: Any = document
        for key in parents:
            if key not in table:
                table.add(key, tomlkit.table(is_super_table=True))
            table = table[key]
        if value is None:
            del table[last]
        else:
            table[last] = value
        return tomlkit.dumps(document)
    except (TOMLKitError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from None
