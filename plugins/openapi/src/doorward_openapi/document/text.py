"""Strings of a document: untrusted, so they are cut and cleaned, and are never more than data."""

from __future__ import annotations

import re
from typing import Any

_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]]{0,500})\]\([^()\s]{0,2000}(?:\s[^()]{0,200})?\)")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>")
_HEADING = re.compile(r"^#{1,6}\s+|^(?:```|~~~).*$", re.MULTILINE)
_EMPHASIS = re.compile(r"[*_`]{2,3}(?:(?=\S)|(?<=\S..)|(?<=\S...))")
_BLANK = re.compile(r"\n\s*\n\s*")
_MARKS = (
    (("<",), _TAG, " "),
    (("#", "```", "~~~"), _HEADING, ""),
    (("*", "_", "`"), _EMPHASIS, ""),
    (("\n",), _BLANK, "\n\n"),
)
"""What is replaced, if one of the signs is there that it must have."""

_MARKED = re.compile(r"[<\[#*_`~\n]")
"""Characters that a text without any markup does not have."""


def line(text: Any, limit: int) -> str:
    """A string as one line of at most `limit` characters; anything else is empty."""
    if not isinstance(text, str):
        return ""
    text = text[: 2 * limit + 200]
    if text.isprintable() and "  " not in text:  # as most: there are no blanks but single spaces
        return cut(text.strip(), limit)
    return cut(" ".join(text.split()), limit)


def prose(text: Any, limit: int) -> str:
    """Markdown or HTML as plain paragraphs of at most `limit` characters."""
    if not isinstance(text, str):
        return ""
    text = text[: 3 * limit + 1000]
    if not _MARKED.search(text):
        return cut(text.strip(), limit)
    if "](" in text:
        text = _IMAGE_OR_LINK.sub(r"\1", text)
    for signs, pattern, plain in _MARKS:
        if any(sign in text for sign in signs):
            text = pattern.sub(plain, text)
    return cut(text.strip(), limit)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def kind(value: Any) -> str:
    """The JSON type of a wrong value, for messages."""
    return {dict: "an object", list: "a list", str: "a string", type(None): "null", bool: "a boolean"}.get(
        type(value), "a number"
    )
