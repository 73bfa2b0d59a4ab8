"""What agents see of a server whose functions have changed since they were reviewed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from doorward import Function
from doorward.administration import json_digest
from doorward.texts import closure as schema_closure
from doorward_cli import Change, Known, addresses_a_model, changes, reviewable_words

from doorward_pins.lock_file import PinnedServer, record, same_record, with_references

_REVIEWED, _NEW = "_reviewed", "_new"
"""Suffixes of definitions: as they were reviewed, and new ones without their words."""
_WORDS = {"title", "description", "$comment", "default", "example", "examples"}
_BY_NAME = {"properties", "patternProperties"}
"""Keys whose tables are by names, which may be any."""
_STRICTNESS = ("read", "write", "destructive")


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes of one function since it was reviewed. If it `waits`, agents see it as it was reviewed."""

    function: str
    changes: Sequence[Change]
    waits: bool


class Review:
    """Compares the functions of one server with those that were reviewed."""

    def __init__(
        self,
        pinned: PinnedServer,
        functions: Iterable[Function],
        definitions: Mapping[str, Any],
        effect: Callable[[Function], str],
        allowed: Iterable[str],
    ) -> None:
        self._pinned, self._effect = pinned, effect
        self._functions = {each.name: each for each in functions}
        self._definitions = definitions
        self.differences = self._compared(frozenset(allowed))

    def _compared(self, allowed: frozenset[str]) -> list[Difference]:
        old, new = self._pinned.functions, self._functions
        same = all(self._definitions.get(name) == each for name, each in self._pinned.definitions.items())
        changed = [
            n for n in old.keys() | new.keys() if not (same and n in old and n in new and same_record(old[n], new[n]))
        ]
        found: dict[str, list[Change]] = {}
        was = {name: self._known(old[name], self._pinned.definitions) for name in changed if name in old}
        now = {name: self._known(new[name], self._definitions) for name in changed if name in new}
        for change in changes(was, now):
            found.setdefault(change.function, []).append(change)
        return [
            Difference(name, of_name, any(each.kind not in allowed for each in of_name))
            for name, of_name in sorted(found.items())
        ]

    def _known(self, function: Function, definitions: Mapping[str, Any]) -> Known:
        reached = schema_closure([function.parameters, function.returns], definitions.get)
        return Known(function, reached, self._effect(function))

    def version(self, name: str) -> str:
        """A digest of a function as it is upstream and as it was reviewed, with all to which they refer."""
        known = (
            (self._functions.get(name), self._definitions),
            (self._pinned.functions.get(name), self._pinned.definitions),
        )
        return json_digest(
            [
                [record(each), schema_closure([each.parameters, each.returns], definitions.get)] if each else []
                for each, definitions in known
            ]
        )

    def texts(self, name: str) -> tuple[str, str]:
        """The texts of a function as they were reviewed, and as they are; empty where there is none."""
        both = self._pinned.functions.get(name), self._functions.get(name)
        was, now = ("\n".join(filter(None, (each.summary, each.description))) if each else "" for each in both)
        return was, now

    def served(self) -> tuple[list[Function], dict[str, Any]]:
        """The functions that agents see, and further definitions to which they refer."""
        waiting = {each.function: {change.kind for change in each.changes} for each in self.differences if each.waits}
        functions, more = [], dict[str, Any]()
        for name, function in self._functions.items():
            if (kinds := waiting.get(name)) is None:
                functions.append(function)
            elif name in self._pinned.functions:  # else nobody has reviewed any of it
                functions.append(self._held(function, more, keeps_shape="narrowed" not in kinds))
        return functions, more

    def _held(self, new: Function, more: dict[str, Any], *, keeps_shape: bool) -> Function:
        """A function with its reviewed words, and its reviewed shape unless that can be called no more. Of what it does
        the stricter holds."""
        old = self._pinned.functions[new.name]
        reached = schema_closure([new.parameters, new.returns], self._definitions.get)
        if keeps_shape or any(addresses_a_model(name, is_name=True) for name in reached):
            shapes: list[Any] = [old.parameters, old.returns]
            definitions: Mapping[str, Any] = self._pinned.definitions
            suffix = _REVIEWED
        else:
            reviewed = self._reviewed_words()
            shapes = [_without_words(each, reviewed) for each in (new.parameters, new.returns)]
            definitions, suffix = self._definitions, _NEW
        for name, each in schema_closure(shapes, definitions.get).items():
            if name + suffix not in more:
                plain = each if suffix == _REVIEWED else _without_words(each, self._reviewed_words())
                more[name + suffix] = with_references(plain, suffix)
        parameters, returns = (with_references(each, suffix) for each in shapes)
        laxer = _STRICTNESS.index(self._effect(new)) < _STRICTNESS.index(self._effect(old))
        does = old if laxer else new
        return replace(
            new, summary=old.summary, description=old.description, parameters=parameters, returns=returns,
            read_only=does.read_only, destructive=does.destructive, guessed_read=does.guessed_read,
            guessed_destructive=does.guessed_destructive, idempotent=old.idempotent and new.idempotent,
        )  # fmt: skip

    def _reviewed_words(self) -> set[str]:
        shapes = [[each.parameters, each.returns] for each in self._pinned.functions.values()]
        return reviewable_words([shapes, self._pinned.definitions])


def _without_words(schema: Any, reviewed: set[str]) -> Any:
    """A schema without titles, descriptions and examples that nobody has reviewed, and without values and names that
    seem to address a model."""
    if isinstance(schema, list):
        return [_without_words(each, reviewed) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _BY_NAME and isinstance(value, Mapping):
            kept[key] = {
                name: _without_words(each, reviewed)
                for name, each in value.items()
                if not addresses_a_model(name, is_name=True)
            }
        elif key in {"enum", "required"} and isinstance(value, list):
            is_name = key == "required"
            kept[key] = [each for each in value if not addresses_a_model(str(each), is_name=is_name)]
        elif key not in _WORDS or (isinstance(value, str) and value in reviewed):
            kept[key] = _without_words(value, reviewed)
    return kept
