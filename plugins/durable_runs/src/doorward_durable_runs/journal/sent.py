"""What a run has sent, for whoever thinks of running its program again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorward_durable_runs.journal.entries import Entry

_SHOWN = 5
_SHOWN_CHARACTERS = 120
"""Calls that are named, and how much of each is shown."""


def sent_calls(entries: Iterable[Entry]) -> str:
    """The calls of a run that were sent and may not be repeated, the functions of those that may be, which may have
    written all the same, and what to do about them."""
    sent: list[Entry] = []
    counts: Counter[str] = Counter()
    for entry in entries:
        if entry.sent:
            sent.append(entry)
        elif entry.change is None:  # a plan has withheld the others
            counts[entry.function] += 1
    begun = ", ".join(f"{function} ×{count}" for function, count in counts.items())
    if not sent:
        if not begun:
            return "It had sent nothing that may not be repeated: its program can be run again."
        none = "It had sent nothing that may not be repeated. It had begun calls that may be"
        return f"{none}: {begun}. Its program can be run again."
    named = "; ".join(f"call {entry.place}: {_short(entry.text)}" for entry in sent[:_SHOWN])
    more = f" and {len(sent) - _SHOWN} more" if len(sent) > _SHOWN else ""
    besides = f" It had begun calls that may be repeated: {begun}." if begun else ""
    return (
        f"It had sent {named}{more}.{besides} Run again, its program would send them again: look what is there first."
    )


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
