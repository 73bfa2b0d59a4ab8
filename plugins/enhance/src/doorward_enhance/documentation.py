"""What is sent of a function: its documentation and its schemas, as text of a bounded size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from doorward import Function
from doorward.texts import PARAMETERS, Definitions, clean
from doorward_text import describe_class, response_type

from doorward_enhance.enhancement import Documentation

MAX_TEXT_CHARS = 12_000
_MAX_ABOUT_CHARS = 300
_RESULT_TOKENS = 300
"""What the types of the result take of the text."""

_SERVER = "api"
"""Stands for the name of the server, which is configuration."""


def documentation(
    function: Function, about: str, definitions: Definitions, cleared: Callable[[str], str]
) -> Documentation:
    """What a model is told of a function; the API says this `about` itself. `cleared` takes secrets out of a text."""
    function = replace(function, server=_SERVER)
    whole = describe_class(function, definitions, PARAMETERS) or ""
    result, classes = response_type(function, definitions, budget=_RESULT_TOKENS)
    text = "\n\n".join(filter(None, [whole, f"# The result is of the type {result}.\n{classes}".strip()]))
    return Documentation(
        cleared(function.name), cleared(text)[:MAX_TEXT_CHARS], cleared(clean(about, _MAX_ABOUT_CHARS))
    )
