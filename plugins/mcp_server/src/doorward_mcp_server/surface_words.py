"""Hints in the words of a surface: no tool is named that it does not have."""

from __future__ import annotations

import re
from dataclasses import replace

from doorward import Outcome

_SERVERS = re.compile(r"\blist_servers(?: \(or doorward\.servers\(\)\))?")
_WORDS = {
    "minimal": (
        (re.compile(r"""\bget_functions\(\[(['"][^'"\]]+['"])\]\)"""), r"doorward.describe(\1)"),
        (re.compile(r"\bget_functions\b"), "doorward.describe"),
        (re.compile(r"\bsearch_functions\b"), "doorward.search"),
        (_SERVERS, "doorward.servers()"),
    ),
    "calls": ((_SERVERS, "search_functions"),),
}
"""What is said in place of tools that a surface lacks."""


def on_surface(surface: str, outcome: Outcome) -> Outcome:
    """What came of a run, as its agent can go on from it."""
    if surface not in _WORDS:
        return outcome
    error, next_ = outcome.error, outcome.next
    if error is not None and error.hint:
        error = replace(error, hint=_said(surface, error.hint))
    if next_.startswith("run_cached_code("):
        next_ = ""
    return replace(outcome, error=error, notes=tuple(_said(surface, note) for note in outcome.notes), next=next_)


def _said(surface: str, text: str) -> str:
    for tool, words in _WORDS[surface]:
        text = tool.sub(words, text)
    return text
