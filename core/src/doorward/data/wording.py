"""Lines and sentences of texts that agents read."""

from __future__ import annotations

import re
from typing import Any

from doorward.data.clean_text import clean_text

MAX_KEY_CHARACTERS = 100
"""Characters of the name of a field; one with a longer name is not shown."""

_ABBREVIATIONS = ("e.g", "i.e", "eg", "ie", "cf", "vs", "approx", "incl", "resp")
_UNFINISHED = re.compile(rf"[\s(\[,;:]+(?i:{'|'.join(map(re.escape, _ABBREVIATIONS))})\.?,?$")
_SENTENCE_END = re.compile(
    "".join(rf"(?<!\b(?i:{re.escape(each)}))" for each in _ABBREVIATIONS)
    + r"[.!?]\s+(?=[^\sa-z])|\n\s*\n|\n(?=\s*[-*#])"
)
"""After a sentence, a paragraph, or what introduces a list; not after "e.g."."""


def clean(text: Any, limit: int) -> str:
    """One printable line of at most `limit` characters. A longer one is cut after a sentence or word, with `…`."""
    if not isinstance(text, str) or not (text := text.strip()):
        return ""
    line = " ".join(clean_text(text[: 4 * limit]).split())
    if not line.isprintable():
        line = " ".join("".join(c if c.isprintable() else " " for c in line).split())
    if len(line) <= limit and len(text) <= 4 * limit:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(line, limit // 3, limit) if match.end() < limit]
    return f"{line[: ends[-1]]}…" if ends else f"{_UNFINISHED.sub('', line[: limit - 1].rsplit(' ', 1)[0])}…"[:limit]


def first_sentence(text: str) -> tuple[str, str]:
    """The first sentence of a text, or what stands before its first empty line or list, and the rest."""
    if (end := _SENTENCE_END.search(text)) is None:
        return text, ""
    return text[: end.end()].rstrip(), text[end.end() :].strip()
