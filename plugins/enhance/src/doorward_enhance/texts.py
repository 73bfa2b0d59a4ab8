"""What a model adds to the documentation of a function, as lines for agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward import Function
from doorward.texts import clean
from doorward_text import dialect_of

from doorward_enhance.enhancement import Enhancement

_MAX_LINE_CHARS = 1000


def lines(function: Function, enhancement: Enhancement, language: str) -> Sequence[str]:
    """The most useful first."""
    texts = [clean(text, _MAX_LINE_CHARS) for text in (enhancement.summary, enhancement.description) if text]
    calls = [example_call(function, example, language) for example in enhancement.examples]
    notes = [clean(f"{name}: {note}", _MAX_LINE_CHARS) for name, note in enhancement.notes.items()]
    return [*dict.fromkeys(texts), *filter(None, calls), *notes]


def example_call(function: Function, arguments: Mapping[str, Any], language: str = "python") -> str:
    """A call with these arguments, as a program writes it; "" if it cannot, or if that would be very long."""
    words = dialect_of(language)
    given = [(name, words.literal(value, _MAX_LINE_CHARS)) for name, value in arguments.items()]
    text = words.example(function.server, function, [(name, value) for name, value in given if value])
    written = all(value and words.takes(name) for name, value in given)
    return text if written and len(text) <= _MAX_LINE_CHARS else ""
