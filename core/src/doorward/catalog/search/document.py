"""What the search index knows about a function."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from doorward.data.words import split_words, stems
from doorward.model.functions import Function

FIELDS = ("facts", "server", "name", "noun", "summary", "route", "tags", "description", "parameters", "questions")
"""The columns of the index. Each word counts once in a field, and each field holds a limited number of words: repeating
words gains nothing."""

WEIGHTS = (0, 0, 5, 3, 3, 2, 2, 1, 1, 1)
"""How much a word counts in each of the fields when functions are ranked by BM25."""

BRIEF_FIELDS = slice(1, 7)
"""The fields that say briefly what a function is, as a slice of `FIELDS`."""

_KIND_OF_VERB = {
    "list": "list", "get": "get", "read": "get", "show": "get", "retrieve": "get", "fetch": "get", "search": "search",
    "find": "search", "create": "create", "add": "create", "update": "update", "edit": "update", "replace": "update",
    "patch": "update", "set": "update", "modify": "update", "delete": "delete", "remove": "delete", "destroy": "delete",
}  # fmt: skip


def document(function: Function) -> tuple[str, ...]:
    """The texts of `FIELDS`. `questions` has the words of models, and none of the function's document."""
    route = function.route.partition(" ")[2]
    return (
        " ".join(_facts(function)),
        _stems(function.server, 6),
        _stems(f"{function.name} {function.id}", 40),
        _stems(_noun(route), 6),
        _stems(function.summary, 40),
        _stems(route, 40),
        _stems(" ".join(function.tags), 20),
        " ".join(stems(function.description[:700], 70)),
        " ".join(_parameters(function.parameters.get("properties", {}))),
        "",
    )


def server_fact(server: str) -> str:
    return f"server_{server.encode().hex()}"


def tag_fact(tag: str) -> str:
    return "tag_" + re.sub(r"\W+", "_", tag.casefold())[:100].strip("_")


def access_fact(read_only: bool) -> str:
    return "reads" if read_only else "writes"


def _facts(function: Function) -> Iterable[str]:
    """What searches filter by, and `kind_…` for what it does. They cannot be mistaken for words: no word has a `_`."""
    yield server_fact(function.server)
    yield access_fact(function.read_only)
    yield from map(tag_fact, function.tags[:20])
    yield from (f"kind_{kind}" for kind in sorted(_kinds(function)))
    if function.deprecated:
        yield "is_deprecated"


def _kinds(function: Function) -> set[str]:
    """What a function does, by the verb in its name, its method and the shape of its path. (A name that is made of
    method and path has no verb.)"""
    method, _, path = function.route.partition(" ")
    verb = next(
        (_KIND_OF_VERB[w] for w in split_words(function.name) if w in _KIND_OF_VERB and w != method.lower()), None
    )
    kinds = {verb} if verb else set()
    one = path.endswith("}")
    match method:
        case "GET" | "HEAD":
            kinds |= {"get"} if one else {"list"} if path.endswith("s") else {"list", "get"}
        case "DELETE":
            return {"delete"}
        case "PUT" | "PATCH":
            kinds |= {"update"}
        case "POST":
            kinds = kinds or {"update" if one else "create"}
    return kinds if function.read_only or kinds & {"delete"} or method == "GET" else kinds | {"write"}


def _noun(path: str) -> str:
    """What a path is about: its last part that is not a parameter."""
    return next((part for part in reversed(path.split("/")) if part and not part.startswith("{")), "")


def _parameters(properties: Mapping[str, Any]) -> Iterable[str]:
    found = dict.fromkeys(stems(" ".join(list(properties)[:60]), 60))
    for schema in list(properties.values())[:30]:
        if isinstance(schema, Mapping) and isinstance(about := schema.get("description"), str):
            found |= dict.fromkeys(_stems(about[:50], 6).split())
    return list(found)[:200]


@lru_cache(4096)
def _stems(text: str, most: int) -> str:
    """The stems of a text, cached for texts that occur often."""
    return " ".join(stems(text, most))
