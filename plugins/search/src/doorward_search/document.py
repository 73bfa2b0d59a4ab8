"""What the search index knows about a function: words of its texts, what it does, and its tags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice, takewhile
from typing import Any, NamedTuple

from doorward import Function
from doorward.searching import split_words, stem
from doorward.values import effect

FIELDS = ("name", "summary", "description", "route", "tags", "parameters", "notes", "server", "results", "questions")
"""Where words stand. `notes` are the descriptions of parameters, `results` the fields of the answer, `questions` the
words of models, which are in no document."""

KINDS = ("list", "get", "search", "create", "update", "write", "delete")
"""What a function can do. `write`: it changes something, and its name does not say how."""

MAX_TEXT_CHARACTERS = 4000
"""Characters of a field that are read."""

MAX_PARAMETERS, MAX_NOTE_CHARACTERS = 100, 300
"""Parameters of a function whose names are read, and characters of each description."""

_KIND_OF_VERB = {
    "list": "list", "get": "get", "read": "get", "show": "get", "retrieve": "get", "fetch": "get", "search": "search",
    "find": "search", "query": "search", "create": "create", "add": "create", "update": "update", "edit": "update",
    "replace": "update", "patch": "update", "set": "update", "modify": "update", "change": "update", "write": "create",
    "save": "create", "store": "create", "delete": "delete", "remove": "delete", "destroy": "delete", "drop": "delete",
    "purge": "delete", "erase": "delete",
}  # fmt: skip
_KIND_OF_STEM = {stem(verb): kind for verb, kind in _KIND_OF_VERB.items()}


class Document(NamedTuple):
    """The words or else the texts of each of `FIELDS` but `results`; what the function does; its tags as searches name
    them; and the words of its name, id, route, summary and qualified name: what a question may be word for word."""

    words: Mapping[str, Sequence[str]]
    texts: Mapping[str, Sequence[str]]
    kinds: frozenset[str]
    tags: tuple[str, ...]
    same: tuple[Sequence[str], ...]


def document(function: Function) -> Document:
    """What there is to know of a function."""
    properties = dict(islice(function.parameters.get("properties", {}).items(), MAX_PARAMETERS))
    method, _, path = function.route.partition(" ")
    name, id = split_words(function.name), split_words(function.id[:MAX_TEXT_CHARACTERS])
    summary, route = split_words(function.summary[:MAX_TEXT_CHARACTERS]), split_words(path[:MAX_TEXT_CHARACTERS])
    server = _words(function.server)
    words: dict[str, Sequence[str]] = {
        "name": name if id == name else name + id,
        "summary": summary,
        "route": route,
        "server": server,
    }
    texts: dict[str, Sequence[str]] = {
        "description": [function.description[:MAX_TEXT_CHARACTERS]],
        "tags": [" ".join(function.tags[:20])[:MAX_TEXT_CHARACTERS]],
        "parameters": [" ".join(properties)[:MAX_TEXT_CHARACTERS]],
        "notes": _notes(properties),
    }
    same = (name, id, [*_words(method), *route], summary, [*server, *name])
    return Document(words, texts, frozenset(_kinds(function, name, summary)), tuple(map(tag, function.tags[:20])), same)


@lru_cache(2000)
def _words(text: str) -> tuple[str, ...]:
    """The words of a text that stands at many functions."""
    return tuple(split_words(text))


@lru_cache(2000)
def tag(name: str) -> str:
    """A tag as it is compared: without case and signs."""
    return " ".join(split_words(name))[:100]


def _notes(properties: Mapping[str, Any]) -> list[str]:
    notes: list[str] = []
    left = MAX_TEXT_CHARACTERS
    for schema in properties.values():
        if left > 0 and isinstance(schema, Mapping) and isinstance(about := schema.get("description"), str):
            notes.append(about[: min(MAX_NOTE_CHARACTERS, left)])
            left -= min(MAX_NOTE_CHARACTERS, len(about)) + 1
    return notes


def _kinds(function: Function, name: Sequence[str], summary: Sequence[str]) -> set[str]:
    """What a function does, by the verb in its name, those that its summary begins with, its method and the shape of
    its path. (A name that is made of method and path has no verb.)"""
    method, _, path = function.route.partition(" ")
    verb = next((_KIND_OF_VERB[w] for w in name if w in _KIND_OF_VERB and w != method.lower()), None)
    said = [*takewhile(bool, (_KIND_OF_STEM.get(stem(word)) for word in summary))]
    if said[:1] != ["delete"]:  # who creates, changes and deletes is not there to delete
        said = [kind for kind in said if kind in ("create", "update")]
    kinds = {kind for kind in (verb, *said) if kind}
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
    return kinds if effect(function) == "read" or kinds & {"delete"} or method == "GET" else kinds | {"write"}
