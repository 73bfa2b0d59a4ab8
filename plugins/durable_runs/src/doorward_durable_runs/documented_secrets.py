"""The arguments that the document of a function marks as secrets: whoever is shown a call does not see these.

Such a mark is `format: password`. `writeOnly` says no more than that a value does not come back, which is so of many
keys that lead to other records: it counts where the name is that of a secret, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doorward import Function
from doorward.administration import REDACTED, is_named_secret
from doorward.recording import planned
from doorward.texts import Definitions, Reader, listed, table, variants

_MAX_FORMS = 200
"""Variants of one part of a schema that are looked at."""

Forms = Sequence[Mapping[str, Any]]
"""All that a schema says of one value: itself and its variants, without references."""


class DocumentedSecrets:
    """Those of the functions of one server. `hidden` are the texts that were taken out of arguments so far, empty ones
    apart."""

    def __init__(self, definitions: Definitions) -> None:
        self._reader = Reader(definitions)
        self._known: dict[tuple[int, ...], tuple[Sequence[Any], Forms]] = {}
        self.hidden: set[str] = set()

    def without(self, function: Function, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments with `[secret]` in place of each value that is marked."""
        self._reader.refuel()
        forms = self._forms([function.parameters])
        return {name: self._without(value, name, _fields(forms, name)) for name, value in arguments.items()}

    def out_of(self, text: str) -> str:
        """A line of a program, or of a rule, without the texts that are hidden, where they stand as words."""
        for hidden in sorted(self.hidden, key=len, reverse=True):
            for form in {hidden, json.dumps(hidden)[1:-1], repr(hidden)[1:-1]}:
                if form in text:
                    text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", REDACTED, text)
        return text

    def _without(self, value: Any, name: str, schemas: Sequence[Any]) -> Any:
        if value is None or isinstance(value, bool) or planned(value) is not None:
            return value
        forms = self._forms(schemas)
        if any(_is_marked(form, name) for form in forms):
            self.hidden.update(_texts(value))
            return REDACTED
        match value:
            case Mapping():
                return {key: self._without(part, str(key), _fields(forms, str(key))) for key, part in value.items()}
            case list() | tuple():
                items = [form.get("items") for form in forms]
                first = [listed(form.get("prefixItems"), len(value)) for form in forms]
                return [
                    self._without(part, name, [*items, *(each[at] for each in first if at < len(each))])
                    for at, part in enumerate(value)
                ]
        return value

    def _forms(self, schemas: Sequence[Any]) -> Forms:
        schemas = [each for each in schemas if table(each)]
        key = tuple(map(id, schemas))
        if key not in self._known:
            found: list[Mapping[str, Any]] = []
            todo = schemas.copy()
            while todo and len(found) < _MAX_FORMS:
                resolved = self._reader.resolve(todo.pop())[1]
                found.append(resolved)
                todo += variants(resolved)
            self._known[key] = schemas, found  # kept, so that no id is given twice
        return self._known[key][1]


def _fields(forms: Forms, name: str) -> list[Any]:
    """What is said of the field of this name."""
    return [table(form.get("properties")).get(name, form.get("additionalProperties")) for form in forms]


def _is_marked(form: Mapping[str, Any], name: str) -> bool:
    return form.get("format") == "password" or (form.get("writeOnly") is True and is_named_secret(name))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case Mapping():
            for part in value.values():
                yield from _texts(part)
        case list() | tuple():
            for part in value:
                yield from _texts(part)
        case str() | int() | float() if not isinstance(value, bool):
            yield from filter(None, [str(value)])
