"""Texts that hold JSON, or a Python literal, in writing."""

from __future__ import annotations

import ast
import json
import re

MAX_TEXT_CHARS = 20_000
"""Characters of a text that is parsed to find out what it holds; a longer one is judged by its beginning."""

_MAX_LITERAL_CHARS = 500
"""Characters of a text that is parsed as a Python literal, which is slow; a longer one is judged by its beginning."""

_JSON_START = re.compile(r'\s*(?:\{\s*"|\[\s*(?:\{\s*"|"|\[|-?\d|\]))')
_LITERAL_START = re.compile(r"\s*(?:\{\s*'|\[\s*[{(]?\s*')")


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
