"""What a distribution locks in the configuration of those who use it.

Every layer that is not the distribution's own is checked here: the file, the environment, options of the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from doorward import ConfigError
from doorward.configuration import Config, Index, ServerSettings, is_credential, model_for, tables_of
from pydantic import BaseModel, ValidationError

from doorward_dist.manifest import Manifest, Path, begins, dotted, leaves, path_of

_SETS = {"http", "policy", "principals"}
"""The tables whose lists are sets: their order means nothing."""

_RULES = ("policy", "rules")
"""The list in one of them whose order does."""

_ABSENT = object()


class Locks:
    """The locked keys and tables of a distribution, which `given_by` names. `index` has the plugins that own tables."""

    def __init__(self, manifest: Manifest, given_by: str, index: Index) -> None:
        self._values = dict(leaves(manifest.locked))
        self.tables = manifest.locked_tables()
        self._open = [path_of(text) for text in manifest.open]
        self._given_by = given_by
        self._index = index

    @property
    def keys(self) -> list[str]:
        """The locked keys, and the locked tables in brackets, for people."""
        alone = (path for path in self._values if not any(begins(path, table) for table in self.tables))
        return [*(f"[{dotted(table)}]" for table in self.tables), *map(dotted, alone)]

    def check(self, given: Mapping[str, Any], base: Mapping[str, Any], hint: str) -> None:
        """Check a layer. A value that is the distribution's own is no change, however it is written. `base` is the
        configuration without any user: core's defaults, and the distribution's own layers.

        Raises: ConfigError for what is locked, with a hint where to remove it.
        """
        for path, value in leaves(given):
            if why := self._refusal(path, value, base):
                raise ConfigError(f"{dotted(path)}{_shown(path, value)} {why}", hint=hint)

    def is_locked(self, *path: str) -> bool:
        """Whether nobody may set this key to another value."""
        return bool(self._refusal(path, _ABSENT, {}))

    def _refusal(self, path: Path, value: Any, base: Mapping[str, Any]) -> str:
        for locked, wanted in self._values.items():
            if _concerns(path, value, locked) and not self._same(path, value, wanted, base):
                what = "it" if path == locked else dotted(locked)
                return f"may not be changed: {self._given_by} locks {what}" + (
                    f" to {wanted!r:.100}" if _shown(locked, wanted) else ""
                )
        for table in self.tables:
            if not _concerns(path, value, table) or any(begins(path, opened) for opened in self._open):
                continue
            if not self._same(path, value, _at(base, path), base):
                return f"may not be set: {self._given_by} locks [{dotted(table)}]"
        return ""

    def _same(self, path: Path, given: Any, wanted: Any, base: Mapping[str, Any]) -> bool:
        """Whether two values of a key mean the same: as its model reads them, in the table where they stand."""
        if given is _ABSENT:
            return False
        model = model_for(tables_of(path, self._index), self._index)
        one, other = (_plain(_read(model, base, path, value)) for value in (given, wanted))
        if path[0] in _SETS and path != _RULES and isinstance(one, list) and isinstance(other, list):
            return sorted(map(repr, one)) == sorted(map(repr, other))
        return bool(one == other)


def _concerns(path: Path, value: Any, locked: Path) -> bool:
    """Whether a value stands in what is locked, or in its place. An empty table changes nothing in another one."""
    if value == {} and len(path) <= len(locked):
        return False
    return begins(path, locked) or (len(path) < len(locked) and begins(locked, path))


def _read(model: Any, siblings: Any, path: Path, value: Any) -> Any:
    """The value that a model has at a path; the value itself where there is no model, or where it cannot be read. A key
    that is absent has the model's default."""
    key, *rest = path
    beside = siblings if isinstance(siblings, Mapping) else {}
    if get_origin(model) is dict:
        if value is _ABSENT:  # a default that is written down may count: it hides what holds for all principals
            return value
        inner = get_args(model)[1]
    elif isinstance(model, type) and issubclass(model, BaseModel) and key in model.model_fields:
        inner = model.model_fields[key].annotation
        if not rest:
            try:
                alone = {name: each for name, each in beside.items() if name != key and name in model.model_fields}
                return getattr(model.model_validate(alone if value is _ABSENT else {**alone, key: value}), key)
            except ValidationError:
                return value
    else:
        return value
    if not rest:
        return value
    if key == "servers" and issubclass(model, Config) and len(rest) == 2:
        return _read(ServerSettings, {"source": ""}, (rest[1],), value)
    if get_origin(inner) is not dict:  # perhaps it is optional
        inner = next((each for each in get_args(inner) if each is not type(None)), inner)
    return _read(inner, beside.get(key), tuple(rest), value)


def _plain(value: Any) -> Any:
    """A value without its type, because all that variables of the environment have is text: `"60"` is 60."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(float(value))
        case list() | tuple():
            return [_plain(each) for each in value]
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case str():
            try:
                return str(float(value))
            except ValueError:
                return value.lower() if value.lower() in ("true", "false") else value
        case _:
            return value


def _shown(path: Path, value: Any) -> str:
    """` = value` for a message, unless it may be a credential."""
    return "" if any(map(is_credential, path)) else f" = {value!r:.100}"


def _at(table: Any, path: Path) -> Any:
    for key in path:
        table = table.get(key, _ABSENT) if isinstance(table, Mapping) else _ABSENT
    return table
