"""Small pieces of the texts of functions: a comment, a literal, a summary of what does not fit."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any

from doorward.texts import MAX_KEY_CHARACTERS, clean, visible

PYTHON_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "array": "list",
    "object": "dict",
}
"""Types of JSON and their names in Python."""

_MAX_NAMES_CHARACTERS = 200
"""Characters for the names of the fields that did not fit."""


def commented(code: str, about: str, note: str, mark: str = "#") -> str:
    """A line of code with a comment, which begins with `mark`."""
    comment = f"{about} ({note})" if about and note else about or note
    return f"{code}  {mark} {comment}" if comment else code


def literal(value: Any, limit: int = 60, nesting: int = 8) -> str | None:
    """A JSON value as Python writes it; `None` if that would be longer than `limit`."""
    text: str | None = None
    match value:
        case None | bool():
            text = str(value)
        case str() if len(value) <= limit:
            quoted = json.dumps(value, ensure_ascii=False)
            if not quoted.isprintable():
                quoted = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in quoted)
            text = visible(quoted)
        case int() if value.bit_length() <= 64:
            text = str(value)
        case float() if value - value == 0:
            text = repr(value)
        case list() if nesting and len(value) <= limit:
            items = [literal(v, limit, nesting - 1) for v in value]
            text = None if None in items else f"[{', '.join(filter(None, items))}]"
        case dict() if nesting and len(value) <= limit:
            pairs = [(literal(k, limit), literal(v, limit, nesting - 1)) for k, v in value.items()]
            text = None if any(None in pair for pair in pairs) else "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    return text if text is not None and len(text) <= limit else None


def python_types(types: Iterable[str]) -> str:
    """Types of JSON as a Python annotation: their union."""
    names = dict.fromkeys(PYTHON_TYPES.get(each, each) for each in types)
    return " | ".join(sorted(names, key=lambda name: name == "None"))


def enumerated(keys: Iterable[str], limit: int) -> str:
    """As many of these names as fit."""
    return clean(", ".join(key[:MAX_KEY_CHARACTERS] for key in islice(keys, limit // 2 + 2)), limit)


def more_fields(keys: Collection[str], mark: str = "#") -> str:
    """The last line of a class that has more fields than fit."""
    return f"    {mark} … {len(keys)} more field{'s' * (len(keys) > 1)}: {enumerated(keys, _MAX_NAMES_CHARACTERS)}"


def examples(values: Sequence[str]) -> str:
    """The first few of many values, and how many more there are."""
    shown = list(values[:1])
    for value in values[1:]:
        if sum(map(len, shown)) + len(value) > 60:
            break
        shown.append(value)
    rest = len(values) - len(shown)
    return f"{', '.join(shown)}, ... {rest} more" if rest else ", ".join(shown)


def as_above(keys: Sequence[str], above: Collection[str], how: str, mark: str = "#") -> str:
    """The line that replaces fields which the text has shown before: it names them, or all others if shorter."""
    listed, others = ", ".join(keys), ", ".join(key for key in above if key not in set(keys))
    which = f", all but {others}" if others else ", all of them"
    return f"    {mark} {clean(how + (which if len(which) < len(listed) else f': {listed}'), 600)}"


def size(lines: Iterable[str]) -> int:
    """Characters of these lines, with their line breaks."""
    return sum(len(line) + 1 for line in lines)
