"""What is known of answers that nobody has seen yet: by their schema, or by what was observed of earlier ones."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.administration import in_place_of
from doorward.texts import Reader, kinds, table, variants

if TYPE_CHECKING:
    from doorward import Function
    from doorward.searching import Catalog

_SHOWN_NAMES = 30

_COMPARED = 100
"""Characters of a name that are compared: the time grows with their square."""


class Answers:
    """The shapes of answers of all functions."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def lacks(self, function: Function, path: Sequence[str | int], *, near: bool = True) -> str:
        """Why an answer of a function has no such part, as far as that is known; "" if it may have one. `near`: names
        like a wrong one are wanted, which takes long."""
        seen = self._catalog.notes.result(function)
        schemas = [function.returns, *([seen.schema] if seen else [])]
        reader = Reader(partial(self._catalog.definition, function.server))
        told = [_lacks(reader, schema, path, near) for schema in schemas if schema]
        return told[0] if told and all(told) else ""


def _lacks(reader: Reader, schema: Any, path: Sequence[str | int], with_near: bool) -> str:
    for number, key in enumerate(path):
        resolved = reader.resolve(schema)[1]
        fields = reader.properties(resolved, hidden="")
        where = "".join(f"[{before!r}]" for before in path[:number])
        there = f"there is no {key!r} in it{f' at {where}' if where else ''}"
        kind = "object" if isinstance(key, str) else "array"
        if (has := kinds(resolved)) and kind not in has and not variants(resolved):
            return f"{there}, which is no {kind}"
        if isinstance(key, str) and key not in fields:
            parts = [resolved, *(reader.resolve(variant)[1] for variant in variants(resolved))]
            if not fields or any(part.get("additionalProperties", False) is not False for part in parts):
                return ""
            if not with_near:
                return there
            near = difflib.get_close_matches(key[:_COMPARED], fields, n=1)
            return f"{there}{in_place_of(key[:_COMPARED], [*near, *fields][:_SHOWN_NAMES])}"
        schema = reader.part(schema, key)
        if not table(schema):
            return ""
    return ""
