"""What arguments should be, for the hint of an error about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorward import Function
from doorward.texts import Definitions

from doorward_text.cards import class_at
from doorward_text.signatures import parameter_lines, signature

_MAX_CLASSES_SHOWN = 2
"""Mistakes for which the error shows the right class."""


def correct_form(function: Function, definitions: Definitions, places: Sequence[Sequence[Any]], language: str) -> str:
    """The classes of the wrong values, and the lines of parameters without a class; or the whole signature if it is
    unknown which parameter was meant."""
    classes = {tuple(place): class_at(function, definitions, place, language) for place in places[:_MAX_CLASSES_SHOWN]}
    bare = {next(iter(place), "") for place, text in classes.items() if not text}
    lines = parameter_lines(function, definitions, bare, language)
    told = ["\n".join(["In the signature:", *lines]) if lines else ""]
    if len(lines) < len(bare):
        told = [f"The right signature:\n{signature(function, definitions, language=language)}"]
    return "\n\n".join(filter(None, dict.fromkeys([*told, *classes.values()])))
