"""What is known of answers that nobody has seen yet: by their schema, or by what was observed of earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.data.near_names import in_place_of
from doorward.describe.schemas import Reader, table, variants
from doorward.describe.signatures import with_result

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog
    from doorward.catalog.schema_inference import SchemaInference
    from doorward.model.functions import Function

_SHOWN_NAMES = 30


class Answers:
    """The shapes of answers of all functions."""

    def __init__(self, catalog: Catalog, observed: SchemaInference) -> None:
        self._catalog, self._observed = catalog, observed

    def lacks(self, function: Function, path: Sequence[str | int]) -> str:
        """Why an answer of a function has no such part, as far as that is known; "" if it may have one."""
        schemas = [function.returns, with_result(function, self._observed.of(function)).returns]
        reader = Reader(partial(self._catalog.definition, function.server))
        told = [_lacks(reader, schema, path) for schema in schemas if schema]
        return told[0] if told and all(told) else ""


def _lacks(reader: Reader, schema: Any, path: Sequence[str | int]) -> str:
    for number, key in enumerate(path):
        resolved = reader.resolve(schema)[1]
        fields = reader.properties(resolved, hidden="")
        if isinstance(key, str) and key not in fields:
            parts = [resolved, *(reader.resolve(variant)[1] for variant in variants(resolved))]
            if not fields or any(part.get("additionalProperties", False) is not False for part in parts):
                return ""
            where = "".join(f"[{before!r}]" for before in path[:number])
            near = in_place_of(key, [*fields][:_SHOWN_NAMES])
            return f"there is no {key!r} in it{f' at {where}' if where else ''}{near}"
        schema = reader.part(schema, key)
        if not table(schema):
            return ""
    return ""
