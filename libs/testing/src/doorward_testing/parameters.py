"""A function whose parameters have schemas of every kind."""

from __future__ import annotations

from typing import Any

from doorward import Function
from doorward.texts import FunctionTexts


class Definitions:
    """What is asked of a catalog where arguments are bound: definitions of schemas, and `texts`."""

    def __init__(self, texts: FunctionTexts | None = None, **definitions: Any) -> None:
        self.texts, self._definitions = texts or FunctionTexts(), definitions

    def definition(self, server: str, name: str) -> Any:
        return self._definitions.get(name)


CARD = {
    "type": "object",
    "required": ["kind", "number"],
    "properties": {
        "kind": {"const": "card"},
        "number": {"type": "string"},
        "holder": {"type": "object", "required": ["name"]},
    },
}
BANK = {
    "type": "object",
    "required": ["kind", "iban"],
    "properties": {"kind": {"const": "bank"}, "iban": {"type": "string"}},
}
PARAMETERS = {
    "type": "object",
    "properties": {
        "owner": {"type": "string"},
        "count": {"type": "integer", "minimum": 1, "maximum": 100},
        "state": {"enum": ["open", "closed", "all"]},
        "code": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "title": {"type": "string", "minLength": 2, "maxLength": 5},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "items": {
            "type": "array",
            "items": {"type": "object", "required": ["sku"], "properties": {"qty": {"type": "integer"}}},
        },
        "since": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        "payment": {"anyOf": [{"$ref": "#/$defs/Card"}, {"$ref": "#/$defs/Bank"}]},
        "level": {"const": 3},
        "flag": {"type": "boolean"},
        "maybe": {"type": ["string", "null"]},
        "ratio": {"type": "number"},
        "size": {"anyOf": [{"enum": ["small", "large"]}, {"type": "integer"}]},
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "encoded": {"type": "string", "format": "byte", "maxLength": 4},
        "none": False,
    },
    "required": ["owner"],
    "additionalProperties": False,
}
FUNCTION = Function("shop", "buy", parameters=PARAMETERS)
