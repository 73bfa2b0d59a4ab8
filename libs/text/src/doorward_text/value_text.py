"""A value in words: its type, the names of its fields, and whether a text holds JSON."""

from __future__ import annotations

from itertools import islice
from typing import Any

from doorward.texts import clean
from doorward.values import clean_text

from doorward_text.held_text import holds

_MAX_ANSWER_CHARS = 400
"""Characters of the description of an answer."""


class Cut(list[Any]):
    """The first items of a list, with the length of the whole."""

    def __init__(self, whole: list[Any], first: list[Any]) -> None:
        super().__init__(first)
        self.length = len(whole)


def told(function: str, answer: Any, member: str = "") -> str:
    """The beginning of a sentence: which function answered, and what its answer, or a member of it, looks like."""
    what = clean(described(answer), _MAX_ANSWER_CHARS)
    return f"{function} answered {f'{shown_key(member)!r} as ' if member else ''}{what}"


def described(value: Any, depth: int = 3) -> str:
    """A value in words, with the names of its fields: `a dict with items (a list of 2, first a dict with id, name),
    total`."""
    match value:
        case dict() if not value:
            return "an empty dict"
        case dict() if depth:
            fields = [f"{shown_key(k)}{_inside(v, depth)}" for k, v in islice(value.items(), 12)]
            return f"a dict with {', '.join(fields)}{f', … {len(value) - 12} more' if len(value) > 12 else ''}"
        case list() if not value:
            return "an empty list"
        case list() if depth:
            length = value.length if isinstance(value, Cut) else len(value)
            return f"a list of {length}, {'first ' * (length > 1)}{described(value[0], depth - 1)}"
        case str():
            return as_text(what) if (what := holds(value)) else "a str"
        case None:
            return "None"
    return f"{'an' if isinstance(value, int) and not isinstance(value, bool) else 'a'} {type(value).__name__}"


def _inside(value: Any, depth: int) -> str:
    return f" ({described(value, depth - 1)})" if isinstance(value, (dict, list)) else ""


def as_text(what: str) -> str:
    """How to read a text that `holds` this."""
    reader = "json.loads" if what == "JSON" else "`import ast` at the top, ast.literal_eval"
    return f"text that holds {what}: {reader} reads it"


def shown_key(key: Any) -> str:
    """A key that is safe to show: it comes from an API, so it is cleaned and shortened."""
    text = " ".join(clean_text(str(key)[:400]).split())
    return text if len(text) <= 40 else f"{text[:39]}…"
