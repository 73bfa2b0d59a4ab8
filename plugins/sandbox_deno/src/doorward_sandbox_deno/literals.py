"""JSON literals in a program's syntax tree, as values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node

NO_LITERAL = object()
"""What stands for the value of anything that is no JSON literal."""

_MAX_LEVELS = 50
_MAX_EXACT = 2**53
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_CODE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))")


def literal(node: Node, level: int = 0) -> Any:
    """The value of a node, or `NO_LITERAL`."""
    try:
        return _value(node, level)
    except (ValueError, LookupError, UnicodeError):
        return NO_LITERAL


def _value(node: Node, level: int) -> Any:
    if level > _MAX_LEVELS or node.has_error:
        raise ValueError
    parts = [child for child in node.named_children if child.type != "comment"]
    match node.type:
        case "string" | "template_string":
            return _string(parts)
        case "number":
            return _number(_source(node))
        case "true" | "false" | "null":
            return _WORDS[node.type]
        case "unary_expression" if _source(node)[0] == "-" and parts[0].type == "number":
            return -_number(_source(parts[0]))
        case "array":
            return [_value(part, level + 1) for part in parts]
        case "object":
            return dict(_pair(part, level + 1) for part in parts)
    raise ValueError


def _pair(node: Node, level: int) -> tuple[str, Any]:
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if node.type != "pair" or key is None or value is None or key.type not in ("string", "property_identifier"):
        raise ValueError
    return (_value(key, level) if key.type == "string" else _source(key)), _value(value, level)


def _number(text: str) -> int | float:
    text = text.replace("_", "").lower()
    if re.fullmatch(r"0[xob][0-9a-f]+|0|[1-9][0-9]*", text):
        number = int(text, 0)
        if number > _MAX_EXACT:
            raise ValueError  # JavaScript would not hold it
        return number
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text) or re.match(r"0\d", text):
        raise ValueError
    number = float(text)
    return int(number) if number.is_integer() and abs(number) <= _MAX_EXACT else number


def _string(parts: list[Node]) -> str:
    text = ""
    for part in parts:
        if part.type == "string_fragment":
            text += _source(part)
        elif part.type == "escape_sequence":
            text += _escaped(_source(part))
        else:
            raise ValueError
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _escaped(text: str) -> str:
    if code := _CODE.fullmatch(text):
        return chr(int(next(filter(None, code.groups())), 16))
    return _ESCAPED.get(text[1:], text[1:])


def _source(node: Node) -> str:
    return (node.text or b"").decode()
