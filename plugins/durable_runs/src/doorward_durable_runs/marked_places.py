"""Shows what stands for something else in the arguments of a planned call, so that no text of a program passes for it:
an answer that is not known yet, or the bytes of a file.

Where JSON is read by a program, the places are listed beside it, as JSON Pointers (RFC 6901). Where a person reads it,
they are marked outside of the quotation marks, where no text can stand.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doorward.recording import planned

if TYPE_CHECKING:
    from doorward.sandboxing import Planned

PLANNED_TEXT = ", known once the plan is committed>"
"""The end of the `repr` of an unknown value in a sandbox."""

Places = Mapping[str, Sequence[str]]
"""JSON Pointers, by what stands there."""

WORDS = {"unknown": "not known yet", "files": "a file"}
"""What may stand in a place, and how a person is told."""


def shown(
    value: Any, files: Mapping[str, str], cut: Callable[[Any], Any] = lambda value: value
) -> tuple[Any, dict[str, tuple[str, ...]]]:
    """Arguments for a reader, after they were `cut`, and the places of what is told in words in them. `files` are the
    words for the bytes of files, by their places."""
    mark = secrets.token_hex(8)
    places: dict[str, list[str]] = {}

    def mark_one(part: Any, place: str) -> Any:
        if place in files:
            return f"{mark}f{files[place]}"
        return f"{mark}u{told(unknown)}" if (unknown := planned(part)) is not None else part

    def find_one(part: Any, place: str) -> Any:
        if not isinstance(part, str) or not part.startswith(mark):
            return part
        places.setdefault("files" if part[len(mark)] == "f" else "unknown", []).append(place)
        return part[len(mark) + 1 :]

    found = _each(cut(_each(value, mark_one)), find_one)
    return found, {kind: tuple(each) for kind, each in places.items()}


def in_words(value: Any, places: Places, written: Callable[[Any], str]) -> str:
    """A value as `written` writes JSON of it, with words behind what stands in these places."""
    mark = secrets.token_hex(8)
    kinds = {place: kind for kind, each in places.items() for place in each}

    def mark_one(part: Any, place: str) -> Any:
        return f"{mark}{kinds[place][0]}{part}" if place in kinds and isinstance(part, str) else part

    text = written(_each(value, mark_one))
    for kind, words in WORDS.items():
        text = re.sub(rf'"{mark}{kind[0]}((?:[^"\\]|\\.)*)"', rf'"\1" ({words})', text)
    return text


def _each(value: Any, change: Callable[[Any, str], Any], place: str = "") -> Any:
    """A value with each of its parts changed, from above. `place` is the JSON Pointer to it."""
    value = change(value, place)
    match value:
        case dict():
            return {
                key: _each(part, change, f"{place}/{str(key).replace('~', '~0').replace('/', '~1')}")
                for key, part in value.items()
            }
        case list():
            return [_each(part, change, f"{place}/{number}") for number, part in enumerate(value)]
    return value


def told(unknown: Planned) -> str:
    """An unknown value in words: `answer of 2: .id`."""
    which = f"answer of {unknown.call}" if unknown.call > 0 else f"answer of dependent read {-unknown.call}"
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in unknown.path)
    return f"{which}: {path}" if path else which
