"""Texts of an upstream. They are untrusted: shortened, cleaned, and never more than data."""

from __future__ import annotations

import re
from typing import Any

from doorward.values import clean_text, first_sentence

_BLANK = re.compile(r"[^\S\n]*\n\s*\n\s*")


def line(text: Any, limit: int) -> str:
    """A string as one line of at most `limit` characters; anything else is empty."""
    return _cut(" ".join(_visible(text, limit).split()), limit)


def prose(text: Any, limit: int) -> str:
    """A string as plain paragraphs of at most `limit` characters; anything else is empty."""
    return _cut(_BLANK.sub("\n\n", _visible(text, limit)).strip(), limit)


def summed_up(text: str, limit: int) -> tuple[str, str]:
    """The first sentence of a text in one line, and the text after it, or the whole text if that
    sentence was too long."""
    first, rest = first_sentence(text)
    summary = line(first, limit)
    return summary, text if summary.endswith("…") else rest


def _visible(text: Any, limit: int) -> str:
    """The beginning of a text, as a reader sees it."""
    return clean_text(text[: 3 * limit + 1000]) if isinstance(text, str) else ""


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
