"""Words as agents ask and as APIs name them: split, stripped of filler, joined with what means the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_SAME = (
    "list get fetch show read retrieve find view",
    "create add new make post insert open",
    "update edit modify change set patch put",
    "delete remove destroy erase drop",
    "repository repo",
    "organization organisation org",
    "pull pr",
    "user account member person",
    "config configuration settings",
    "message email mail",
    "directory folder",
    "image picture photo",
    "customer client buyer",
    "search query lookup",
    "cancel abort stop",
    "start run launch execute trigger",
    "auth authentication authorization",
    "pod container",
    "ticket issue",
)
_SYNONYMS: dict[str, set[str]] = {}
for _group in _SAME:
    for _word in _group.split():
        _SYNONYMS.setdefault(_word, set()).update(_group.split())

_FILLER = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "please",
        "that",
        "the",
        "their",
        "them",
        "this",
        "to",
        "via",
        "want",
        "we",
        "what",
        "when",
        "where",
        "which",
        "who",
        "with",
        "you",
        "your",
        "need",
        "all",
        "given",
        "one",
        "some",
        "specific",
        "api",
        "endpoint",
        "function",
    ]
)


def split_words(text: str) -> str:
    """`issuesListForRepo /repos/{owner}` → `issues List For Repo repos owner`: camelCase and signs apart."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    apart = re.sub(r"([A-Z])(?=[A-Z][a-z])", r"\1 ", apart)
    return " ".join(re.findall(r"\w+", apart.replace("_", " ")))


class Expressions(NamedTuple):
    """FTS5 expressions of a query: each word in the name; each word, or what means the same, in the name; anywhere; or any
    one of them."""

    words_in_name: str
    all_in_name: str
    all: str
    any: str


def match_expressions(query: str) -> Expressions | None:
    """`None` if there are no words. Nothing of the query is syntax: each word is quoted."""
    words = [w.lower() for w in split_words(query[:1000]).split()][:32]
    words = [w for i, w in enumerate(words) if not (i and w.rstrip("s") == "request" and words[i - 1] in ("pull", "merge"))]
    words = [w for w in words if w not in _FILLER] or words
    if not words:
        return None
    groups = {word: _meaning(word) for word in words}
    every = " AND ".join(f"({_any(group)})" for group in groups.values())
    exactly = " AND ".join(_any([word]) for word in groups)
    anything = _any(dict.fromkeys(term for group in groups.values() for term in group))
    return Expressions(f"words : ({exactly})", f"words : ({every})", every, anything)


def _meaning(word: str) -> list[str]:
    singular = word[:-1] if word.endswith("s") else word
    return [word, *sorted((_SYNONYMS.get(word) or _SYNONYMS.get(singular) or set()) - {word})]


def _any(words: Iterable[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)
