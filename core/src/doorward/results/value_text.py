"""A value in words: its type, the names of its fields, and whether a text holds JSON."""

from __future__ import annotations

import ast
import json
import re
from itertools import islice
from typing import Any

from doorward.data.clean_text import clean_text
from doorward.data.wording import clean

MAX_TEXT_CHARS = 20_000
"""Characters of a text that is parsed to find out what it holds; a longer one is judged by its beginning."""

_MAX_LITERAL_CHARS = 500
"""Characters of a text that is parsed as a Python literal, which is slow; a longer one is judged by its beginning."""

_MAX_ANSWER_CHARS = 400
"""Characters of the description of an answer."""

_JSON_START = re.compile(r'\s*(?:\{\s*"|\[\s*(?:\{\s*"|"|\[|-?\d|\]))')
_LITERAL_START = re.compile(r"\s*(?:\{\s*'|\[\s*[{(]?\s*')")


class Cut(list[Any]):
    """The first items of a list, with the length of the whole."""

    def __init__(self, whole: list[Any], first: list[Any]) -> None:
        super().__init__(first)
        self.length = len(whole)


def told(function: str, answer: Any, member: str = "") -> str:
    """The beginning of a sentence: which function answered, and what its answer, or a member of it, looks like."""
    what = clean(described(answer), _MAX_ANSWER_CHARS)
    return f"{function} answered {f'{shown_key(member)!r} as ' if member else ''}{what}"


def may_hold(text: str) -> bool:
    """Whether a text begins like a list or an object: a cheap test before `holds`."""
    return text.lstrip()[:1] in ("{", "[")


def holds(text: str) -> str:
    """What a text holds in writing: "JSON", "a Python literal", or ""."""
    if not may_hold(text):
        return ""
    if len(text) > MAX_TEXT_CHARS:
        return "JSON" if _JSON_START.match(text) else "a Python literal" if _LITERAL_START.match(text) else ""
    text = text.strip()
    for what, read in (("JSON", json.loads), ("a Python literal", ast.literal_eval)):
        try:
            if read is ast.literal_eval and len(text) > _MAX_LITERAL_CHARS:
                return what if _LITERAL_START.match(text) else ""
            if isinstance(read(text), (dict, list)):
                return what
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return ""


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
