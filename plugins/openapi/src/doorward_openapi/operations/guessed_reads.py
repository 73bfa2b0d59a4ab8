"""POST operations that are taken for reads by convention: `/search`, `/filter`, `/count`, whose questions are too large
for a URL.

It is a guess, and said to be one. Whatever speaks for a write, or for a thing that is called so, makes it none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from doorward_openapi.schemas.keywords import Keyword

_VERBS = {"count", "filter", "find", "get", "lookup", "query", "search"}
"""Last parts of a path that say what is done with what stands before them."""

_SEPARATOR = re.compile(r"[/:]_?")
_EFFECT = re.compile(
    r"\b(?:(?:add|append|clear|import|insert|launch|overwrite|persist|record|remov|renam|reset|restor|send|start|"
    r"submit|upload)(?:s|es|ing)"
    r"|(?:archiv|cancel|charg|creat|delet|enqueu|generat|modif|purg|regist|replac|sav|schedul|subscrib|trigger|"
    r"updat|upsert|writ)(?:e|es|s|y|ies|ing|ling|er|ers|ering)?|add|import|insert|remove|rename|send|submit|upload)\b",
    re.IGNORECASE,
)
"""What documents call an effect. Not words that are as often things: a store, a record, a start."""

_LANGUAGES = {"code", "command", "cypher", "expression", "mutation", "q", "query", "script", "sql", "statement"}
"""Fields for a text in a language of queries, many of which can write."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_DONE = ("201", "202", "204", "205")
"""Statuses that say that something was made or begun, or that nothing is told."""


class GuessedReads:
    """Guesses for the operations of one document, by its paths."""

    def __init__(self, paths: Any) -> None:
        self._items: Mapping[str, Any] = paths if isinstance(paths, dict) else {}
        self._collections: set[str] | None = None

    def reads(
        self, method: str, path: str, node: Mapping[str, Any], body: Sequence[Keyword], plan: Mapping[str, Any] | None
    ) -> bool:
        """Whether an operation probably changes nothing. `body` are the arguments that `plan` writes into its body."""
        verb = _SEPARATOR.split(path.partition("?")[0].rstrip("/"))[-1].lower()
        if method != "POST" or verb not in _VERBS or plan is None or self._is_thing(path):
            return False
        if verb == "query" and not _is_structured(body, plan):
            return False
        responses = node.get("responses")
        if isinstance(responses, dict) and any(str(code) in _DONE for code in responses):
            return False
        texts = (node.get(key) for key in ("summary", "description", "operationId"))
        said = " ".join(text[:3000] for text in texts if isinstance(text, str))
        return not _EFFECT.search(f"{said} {' '.join(_WORD.findall(said))}")

    def _is_thing(self, path: str) -> bool:
        """Whether what a path names is changed or deleted by itself, or has parts with ids of their own: a filter that
        is stored is made by `POST /filter`."""
        if self._collections is None:
            self._collections = {start for each in self._items for start in _collections(str(each))}
        item = self._items.get(path)
        return path in self._collections or (isinstance(item, dict) and not item.keys().isdisjoint(_CHANGING))


_CHANGING = ("put", "patch", "delete")


def _collections(path: str) -> Iterable[str]:
    return (path[: found.start()] for found in re.finditer(r"/\{", path))


def _is_structured(body: Iterable[Keyword], plan: Mapping[str, Any]) -> bool:
    """Whether a query has fields, none of which is a text in a language."""
    return bool(plan.get("spread")) and not any(
        word.name.lower() in _LANGUAGES
        and word.schema.get("type") in ("string", None)
        and "$ref" not in word.schema
        and "anyOf" not in word.schema
        for word in body
    )
