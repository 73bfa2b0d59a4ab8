"""Shows values that are not known yet, so that no text of a program passes for one.

Where JSON is read by a program, they are listed beside it, as JSON Pointers (RFC 6901). Where a person reads it, they
are marked outside of the quotation marks, where no text can stand.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection
from typing import Any

from doorward.data.planned import readable

_NOT_KNOWN = "(not known yet)"


def shown(value: Any, cut: Callable[[Any], Any] = lambda value: value) -> tuple[Any, list[str]]:
    """A plain value for a reader, after it was `cut`, and the places in it of what is not known."""
    mark, places = secrets.token_hex(8), list[str]()

    def found(part: Any, place: str) -> Any:
        if isinstance(part, str) and part.startswith(mark):
            places.append(place)
            return part.removeprefix(mark)
        return part

    return _each(cut(readable(value, mark)), found), places


def in_words(value: Any, places: Collection[str], written: Callable[[Any], str]) -> str:
    """A value as `written` writes JSON of it; what is not known is at these places, and is said to be so."""
    mark = secrets.token_hex(8)
    marked = _each(value, lambda part, place: f"{mark}{part}" if place in places and isinstance(part, str) else part)
    return re.sub(rf'"{mark}((?:[^"\\]|\\.)*)"', rf'"\1" {_NOT_KNOWN}', written(marked))


def _each(value: Any, change: Callable[[Any, str], Any], place: str = "") -> Any:
    """A value with each of its parts changed that has none of its own. `place` is the JSON Pointer to it."""
    match value:
        case dict():
            keys = {key: str(key).replace("~", "~0").replace("/", "~1") for key in value}
            return {key: _each(part, change, f"{place}/{keys[key]}") for key, part in value.items()}
        case list():
            return [_each(part, change, f"{place}/{number}") for number, part in enumerate(value)]
    return change(value, place)
