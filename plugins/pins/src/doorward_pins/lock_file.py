"""`doorward.lock`: the functions of servers as a person last reviewed them, one a line, so that version control shows
which have changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from doorward import ConfigError, Function
from doorward.administration import dump_json, json_digest
from doorward.files import write_file
from doorward.texts import closure as schema_closure

VERSION = 1
"""The format of the file."""

_FIELDS = (
    "summary", "description", "parameters", "returns",
    "read_only", "destructive", "idempotent", "guessed_read", "guessed_destructive",
)  # fmt: skip
"""What is pinned of a function."""
_REFERENCE = "#/$defs/"


@dataclass
class PinnedServer:
    """The functions of one server as they were reviewed, by name, and the definitions to which they refer."""

    functions: dict[str, Function] = field(default_factory=dict)
    definitions: dict[str, Any] = field(default_factory=dict)

    def pin(self, function: Function, definitions: Mapping[str, Any]) -> None:
        """Pin a function in place of what was pinned under its name. Definitions of the same name that others refer to
        as they were before stay beside the new ones."""
        shapes = [function.parameters, function.returns]
        reached = schema_closure(shapes, definitions.get)
        if any(name in self.definitions and self.definitions[name] != each for name, each in reached.items()):
            suffix = "_" + json_digest([reached])[:8]
            reached = {name + suffix: with_references(each, suffix) for name, each in reached.items()}
            parameters, returns = (with_references(each, suffix) for each in shapes)
            function = _with(function, parameters=parameters, returns=returns)
        self.functions[function.name] = function
        self.definitions |= reached

    def drop_unused_definitions(self) -> None:
        shapes = [[each.parameters, each.returns] for each in self.functions.values()]
        self.definitions = schema_closure(shapes, self.definitions.get)


class LockFile:
    """The file. It is read each time, and written as a whole."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self) -> dict[str, PinnedServer]:
        """The pinned servers, by their modules. Raises: ConfigError if the file cannot be used."""
        try:
            found = json.loads(self.file.read_bytes())
            if found["version"] != VERSION:
                raise ValueError(f"its version is {found['version']}")
            return {
                server: PinnedServer(
                    {name: _with(Function(server, name), **fields) for name, fields in each["functions"].items()},
                    each["definitions"],
                )
                for server, each in found["servers"].items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            hint = "Restore it from version control, or remove it and run `doorward pins --accept`."
            raise ConfigError(f"{self.file}: cannot be used: {error}", hint=hint) from None

    def write(self, servers: Mapping[str, PinnedServer]) -> None:
        """Raises: ConfigError; then the file is unchanged."""
        blocks = [
            f"{json.dumps(name)}: {{"
            f'"functions": {_lines({key: record(f) for key, f in each.functions.items()})},\n'
            f'"definitions": {_lines(each.definitions)}}}'
            for name, each in sorted(servers.items())
        ]
        text = f'{{"version": {VERSION}, "servers": {{\n' + ",\n".join(blocks) + "\n}}\n"
        write_file(self.file, text.encode())


def with_references(schema: Any, suffix: str) -> Any:
    """A schema whose references lead to definitions with this suffix."""
    if isinstance(schema, Mapping):
        return {
            key: value + suffix
            if key == "$ref" and isinstance(value, str) and value.startswith(_REFERENCE)
            else with_references(value, suffix)
            for key, value in schema.items()
        }
    return [with_references(each, suffix) for each in schema] if isinstance(schema, list) else schema


def same_record(one: Function, other: Function) -> bool:
    """Whether two functions are equal in all that is pinned."""
    return record(one) == record(other)


def record(function: Function) -> dict[str, Any]:
    """What is pinned of a function."""
    return {name: getattr(function, name) for name in _FIELDS}


def _with(function: Function, **fields: Any) -> Function:
    return replace(function, **{name: value for name, value in fields.items() if name in _FIELDS})


def _lines(table: Mapping[str, Any]) -> str:
    lines: Iterable[str] = (f"{json.dumps(name)}: {dump_json(each).decode()}" for name, each in sorted(table.items()))
    return "{\n" + ",\n".join(lines) + "\n}" if table else "{}"
