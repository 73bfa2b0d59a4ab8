"""Descriptions of a schema. They are untrusted: shortened, and never more than data."""

from __future__ import annotations

from doorward.values import first_sentence


def line(text: str | None, limit: int) -> str:
    """A text as one line of at most `limit` characters."""
    return _cut(" ".join((text or "")[: 2 * limit + 200].split()), limit)


def summed_up(text: str | None, limit: int, rest: int) -> tuple[str, str]:
    """The first sentence of a text in one line, and what stands after it; the whole text if that sentence is long."""
    text = (text or "")[: 3 * (limit + rest)].strip()
    first, more = first_sentence(text)
    summary = line(first, limit)
    return summary, _cut(text if summary.endswith("…") else more, rest)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
