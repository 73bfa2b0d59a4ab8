"""What a function needs to be told of things that exist already, and what it tells of them: identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from doorward.data.words import split_words, stem
from doorward.describe.schemas import Reader, listed, strings, table, variants
from doorward.model.functions import Function

MAX_NEEDS, MAX_GIVEN = 12, 400
"""Identifiers that a function may need, and that may be read out of its result."""

MAX_DEPTH = 6
"""How deep the objects of a result are looked into."""

MAX_NAME_CHARS = 80
"""Characters of the name of a field that are told."""

_SUFFIXES = frozenset(
    ["id", "ids", "uuid", "guid", "gid", "sid", "slug", "key", "handle", "number", "no", "code", "name", "login", "ref"]
) | {"token", "arn", "urn"}
"""Words at the end of a name that say that it identifies a thing."""

_SURE_SUFFIXES = frozenset(["id", "ids", "uuid", "guid", "gid", "sid", "slug"])
"""Those that no other kind of argument ends with."""

_STEPS = re.compile(r"\{([^{}]+)\}|([^/{}]+)")
_SCALARS = frozenset(["string", "integer", "number"])
_VAGUE = frozenset(
    map(
        stem,
        [
            "data",
            "result",
            "results",
            "item",
            "items",
            "value",
            "values",
            "response",
            "object",
            "list",
            "page",
            "content",
            "body",
        ],
    )
)
"""Words that say nothing of what a thing is."""


class Needed(NamedTuple):
    """A required argument that identifies a thing: `thing` is what it is (`("person",)`). `fields` are what it may be
    identified by, the likeliest first. `is_text`: a string and no number; `None` where that is not said."""

    parameter: str
    thing: tuple[str, ...]
    fields: tuple[str, ...]
    is_text: bool | None


class Given(NamedTuple):
    """A field of a result that identifies a thing: `person_id` a person by its `id`. `sure`: the result itself says
    which thing, and not only the route. `depth` counts the objects around it. `name` is what the result calls it."""

    thing: tuple[str, ...]
    field: str
    sure: bool
    depth: int
    is_text: bool | None
    name: str


def needed(function: Function, reader: Reader) -> list[Needed]:
    """The identifiers that a call must have."""
    properties = table(function.parameters.get("properties"))
    asked = strings(function.parameters.get("required"))
    before = dict(_path_parameters(function.route))
    found = []
    for name in islice((name for name in properties if name in asked), 100):
        original = function.names.get(name, name)
        schema = reader.resolve(properties[name])[1]
        in_path = original in before or name in before
        if "enum" in schema or not (in_path or _SURE_SUFFIXES.intersection(split_words(original)[-1:])):
            continue
        kinds = _kinds(schema, reader)
        if kinds and kinds.isdisjoint(_SCALARS):
            continue
        words = split_words(original)
        suffix = words[-1] if words and words[-1] in _SUFFIXES else ""
        thing = _thing(words[:-1] if suffix else words) or _thing(before.get(original, before.get(name, [])))
        if not thing:
            continue
        one = {"ids": "id"}.get(suffix, suffix)
        found.append(Needed(name, thing, (one,) if one else ("id", "login", "name"), _is_text(kinds)))
    return found[:MAX_NEEDS]


def given(function: Function, reader: Reader) -> set[Given]:
    """The identifiers that a result has."""
    found: set[Given] = set()
    if function.returns is not None:
        _look(function.returns, thing_of_route(function), False, reader, 0, found)
    if not found and _reads(function) and (thing := thing_of_route(function)):
        found.add(Given(thing, "id", False, 0, None, "id"))  # by convention: nothing says what it answers
    return found


def _reads(function: Function) -> bool:
    return function.read_only or function.route.startswith("GET ")


def _look(schema: Any, thing: tuple[str, ...], sure: bool, reader: Reader, depth: int, found: set[Given]) -> None:
    if depth > MAX_DEPTH or len(found) >= MAX_GIVEN or not reader.burn():
        return
    name, whole = reader.resolve(schema)
    if named := _thing(split_words(name)):
        thing, sure = named, True
    for key, value in islice(reader.properties(whole, hidden="writeOnly").items(), 200):
        words = split_words(key)
        kinds = _kinds(reader.resolve(value)[1], reader)
        if words and words[-1] in _SUFFIXES and (not kinds or not kinds.isdisjoint(_SCALARS)):
            own, is_text = _thing(words[:-1]), _is_text(kinds)
            field = "id" if words[-1] == "ids" else words[-1]
            found.add(Given(own or thing, field, sure or bool(own), depth, is_text, _called(key, words)))
        elif kinds.isdisjoint(_SCALARS):
            inner = _thing(words)
            _look(value, inner or thing, bool(inner) or sure, reader, depth + 1, found)
    for part in (whole.get("items"), *listed(whole.get("prefixItems"), 5), *variants(whole)[:10]):
        if table(part):
            _look(part, thing, sure, reader, depth, found)


def _kinds(schema: Mapping[str, Any], reader: Reader, nesting: int = 2) -> set[str]:
    """The types of a value, or of the items of a list; none where nothing is said."""
    said = schema.get("type")
    kinds = {kind for kind in (listed(said, 5) if isinstance(said, list) else [said]) if isinstance(kind, str)}
    if "array" in kinds and nesting:
        return _kinds(reader.resolve(schema.get("items"))[1], reader, nesting - 1)
    for variant in [] if kinds else variants(schema)[:5]:
        kinds |= _kinds(reader.resolve(variant)[1], reader, nesting - 1) if nesting else set()
    return kinds - {"null"} or ({"object"} if table(schema.get("properties")) else set())


def _is_text(kinds: set[str]) -> bool | None:
    scalars = kinds & _SCALARS
    return None if len(scalars) != 1 else "string" in scalars


def _path_parameters(route: str) -> Iterable[tuple[str, list[str]]]:
    """The parameters in a path, each with the words of the step before it."""
    before: list[str] = []
    for match in _STEPS.finditer(route.partition(" ")[2]):
        if match[1]:
            yield match[1], before
        else:
            before = split_words(match[2])


def thing_of_route(function: Function) -> tuple[str, ...]:
    """What the last fixed step of a path names; or a tool, without its verb."""
    steps = [split_words(match[2]) for match in _STEPS.finditer(function.route.partition(" ")[2]) if match[2]]
    return _thing(steps[-1]) if steps else _thing(split_words(function.name)[1:])


def _thing(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in map(stem, words) if word not in _VAGUE)


def _called(key: str, words: Iterable[str]) -> str:
    """A field's name as an agent is told of it: no text that a document could hide in it."""
    return key if key.isidentifier() and len(key) <= MAX_NAME_CHARS else "_".join(words)[:MAX_NAME_CHARS]
