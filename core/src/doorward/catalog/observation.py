"""What was observed of a function's results where its document gives no schema of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from doorward.model.functions import Schema

Shape = dict[str, Any]
"""What has been observed in one place: JSON types, each with what is inside. `{"array": SHAPE}`;
`{"string": {FORMAT: {}}}`; `{"object": {NAME: SHAPE}}`, or `{"map": SHAPE}` where the names are data. `{}` is nothing
observed."""

TEXT_FORMATS = {"JSON": "holds-JSON", "a Python literal": "holds-a-Python-literal"}
"""The formats of texts that hold something, by what they hold."""


@dataclass(slots=True)
class Observation:
    """What was observed of one function's results; `new` of the `times` are not stored yet."""

    schema_hash: str
    shape: Shape
    times: int
    last: float
    new: int = 0
    changed: bool = False

    @property
    def text(self) -> str:
        """What a result that is text holds in writing, such as "JSON"; "" if nothing is known."""
        return next((what for what, form in TEXT_FORMATS.items() if form in self.shape.get("string", ())), "")

    @property
    def schema(self) -> Schema:
        """The shape as a JSON Schema."""
        return as_schema(self.shape)


def as_schema(whole: Shape) -> dict[str, Any]:
    """A shape as a JSON Schema; what has not been observed may be anything."""
    kinds = [
        _schema(kind, inside) for kind, inside in sorted(whole.items(), key=lambda item: (item[0] == "null", item[0]))
    ]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}


def _schema(kind: str, inside: Shape) -> dict[str, Any]:
    match kind:
        case "array":
            return {"type": "array", "items": as_schema(inside)}
        case "map":
            return {"type": "object", "additionalProperties": as_schema(inside)}
        case "object":
            return {"type": "object", "properties": {name: as_schema(part) for name, part in inside.items()}}
        case "string" if inside:
            return {"type": "string", "format": next(iter(inside))}
    return {"type": kind}
