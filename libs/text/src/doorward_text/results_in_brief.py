"""What a function gives, in a few words for an answer of a search: `list[Issue]`, `{items: list[Issue]}`, `str`."""

from __future__ import annotations

from typing import Any

from doorward.texts import Reader, kinds, table, variants
from doorward.values import is_plain

from doorward_text.classes import class_name
from doorward_text.dialect import PYTHON

MAX_CHARS = 60
"""Characters of the whole."""

MAX_KEYS = 3
"""Keys of an object without a name that are told."""

_MAX_ENVELOPE = 8
"""An object of more keys is a thing, and not only what a list comes in."""

_MAX_DEPTH = 3


def in_brief(schema: Any, reader: Reader) -> str:
    """The result's schema in a few words; "" if it says nothing, or too much. Objects have their names in the document,
    or else their first keys. A list is told with the key under which it comes."""
    text = _told(schema, reader, _MAX_DEPTH)
    return text if len(text) <= MAX_CHARS else ""


def _told(schema: Any, reader: Reader, depth: int) -> str:
    if depth < 0 or not reader.burn():
        return ""
    name, resolved = reader.resolve(schema)
    if (offered := variants(resolved)) and not table(resolved.get("properties")):
        return next((text for each in offered[:2] if (text := _told(each, reader, depth - 1))), "")
    match [kind for kind in kinds(resolved) if kind != "null"]:
        case ["array"]:
            return f"list[{_told(resolved.get('items'), reader, depth - 1) or PYTHON.any}]"
        case ["object"]:
            return _object(name, reader.properties(resolved, hidden="writeOnly"), reader, depth)
        case [one]:
            return PYTHON.types.get(one, "")
    return ""


def _object(name: str, properties: dict[str, Any], reader: Reader, depth: int) -> str:
    lists = [key for key, each in properties.items() if is_plain(key) and _is_list(each, reader)]
    if len(lists) == 1 and len(properties) <= _MAX_ENVELOPE and depth == _MAX_DEPTH:
        items = _told(properties[lists[0]], reader, depth - 1)
        if items:
            return f"{{{lists[0]}: {items}}}"
    if name:
        return class_name(name)
    keys = [key for key in properties if is_plain(key)]
    shown = keys[:MAX_KEYS] + ["…"] * (len(properties) > MAX_KEYS)
    return f"{{{', '.join(shown)}}}" if keys else ""


def _is_list(schema: Any, reader: Reader) -> bool:
    return reader.burn() and "array" in kinds(reader.resolve(schema)[1])
