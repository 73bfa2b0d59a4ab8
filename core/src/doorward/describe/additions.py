"""What a model adds to the documentation of a function, as an agent reads it: marked, and apart from what the document
says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doorward.data.wording import clean
from doorward.describe.dialect import PYTHON, Dialect
from doorward.model.enhancement import Enhancement
from doorward.model.functions import Function

MAX_CARD_CHARS = 800
"""Characters that a card has for it."""

MAX_FULL_CHARS = 6000
"""Characters that it has where the whole signature was asked for."""

_MARK = "By a model, not by the API's document:"
_MAX_LINE_CHARS = 1000


def added(function: Function, enhancement: Enhancement, room: int, words: Dialect = PYTHON) -> str:
    """Comments for the end of a card, in at most `room` characters."""
    lines, room = [f"{words.mark} {_MARK}"], room - len(_MARK)
    for line in _lines(function, enhancement, words):
        room -= len(line) + 5
        if room >= 0:
            lines.append(f"{words.mark}   {line}")
    return "\n".join(lines) if len(lines) > 1 else ""


def in_a_hit(enhancement: Enhancement) -> str:
    """A summary for a search result; "" if the document's own is to stand there."""
    return f"by a model: {enhancement.summary}" if enhancement.summary else ""


def call(function: Function, arguments: Mapping[str, Any], words: Dialect = PYTHON) -> str:
    """A call with these arguments, as a program writes it; "" if it cannot, or if that would be very long."""
    given = [(name, words.literal(value, _MAX_LINE_CHARS)) for name, value in arguments.items()]
    text = words.example(function.server, function, [(name, value) for name, value in given if value])
    written = all(value and words.takes(name) for name, value in given)
    return text if written and len(text) <= _MAX_LINE_CHARS else ""


def _lines(function: Function, enhancement: Enhancement, words: Dialect) -> Iterator[str]:
    """The most useful first."""
    for text in dict.fromkeys((enhancement.summary, enhancement.description)):
        if text:
            yield clean(text, _MAX_LINE_CHARS)
    for example in enhancement.examples:
        if written := call(function, example, words):
            yield written
    for name, note in enhancement.notes.items():
        yield clean(f"{name}: {note}", _MAX_LINE_CHARS)
