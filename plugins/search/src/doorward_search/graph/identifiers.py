"""What a function needs to be told of things that exist already, and what it tells of them: identifiers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from doorward import Function
from doorward.searching import split_words, stem
from doorward.texts import Reader, listed, strings, table, variants

from doorward_search.graph.effort import Effort

MAX_NEEDS, MAX_GIVEN = 12, 200
"""Identifiers that a function may need, and that may be read out of its result."""

MAX_DEPTH = 4
"""How deep the objects of a result are looked into."""

MAX_NESTING = 40
"""Schemas within schemas that are followed, whatever they are: lists of lists, definitions that lead to others."""

MAX_NAME_CHARS = 80
"""Characters of the name of a field that are told."""

MAX_READ_CHARS, MAX_THING_WORDS = 200, 12
"""Characters of a name that are read, and words that say what a thing is."""

MAX_ROUTE_CHARS, MAX_STEPS = 500, 30
"""Characters and steps of a path that are read."""

_SURE_SUFFIXES = frozenset(["id", "ids", "uuid", "guid", "gid", "sid", "slug"])
"""Words at the end of a name that say that it identifies a thing."""

_SUFFIXES = _SURE_SUFFIXES.union(
    ["key", "handle", "number", "no", "code", "name", "login", "ref", "token", "arn", "urn"]
)
"""These, and those that other kinds of arguments end with, too."""

_STEPS = re.compile(r"\{([^{}]+)\}|([^/{}]+)")
_LAST_PARAMETER = re.compile(r"\{([^{}/]+)\}(?:\.\w+)?/?$")
_MAKES, _CHANGES = frozenset(["create"]), frozenset(["update", "replace", "upsert", "modify", "edit"])
"""Words of the name of a function that makes the thing at its path, and of one that may also change it."""

_ANY_FIELD = ("id", "login", "name")
"""What identifies a thing, where a name does not say it."""

_SCALARS = frozenset(["string", "integer", "number"])
_ONLY = {kind: frozenset([kind]) for kind in _SCALARS}
_VAGUE_WORDS = (
    "data result item value response object list page paging content body dto schema entity info detail summary bean "
    "representation overview payload compact mini full base basic simple simplified short minimal partial"
)
_VAGUE = frozenset(map(stem, _VAGUE_WORDS.split()))
"""Words that say nothing of what a thing is."""

Thing = tuple[str, ...]
"""What something is, as the stems of its words: `("person",)`."""


class Needed(NamedTuple):
    """A required argument that identifies a thing: `thing` is what it is (`("person",)`). `fields` are what it may be
    identified by, the likeliest first. `is_text`: a string and no number; `None` where that is not said."""

    parameter: str
    thing: Thing
    fields: tuple[str, ...]
    is_text: bool | None


class Given(NamedTuple):
    """A field of a result that identifies a thing: `person_id` a person by its `id`. `sure`: the result itself says
    which thing, and not only the route. `depth` counts the objects around it. `name` is what the result calls it."""

    thing: Thing
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
    new = _new_name(function)
    found = []
    for name in islice((name for name in properties if name in asked), 100):
        original = function.names.get(name, name)
        if new and new in (name, original):
            continue
        in_path = original in before or name in before
        words = _words(original)
        if not (in_path or _SURE_SUFFIXES.intersection(words[-1:])):
            continue
        schema = reader.resolve(properties[name])[1]
        if "enum" in schema:
            continue
        kinds = _kinds(schema, reader)
        if kinds and kinds.isdisjoint(_SCALARS):
            continue
        words, also = _without_alternatives(words)
        suffix = words[-1] if words and words[-1] in _SUFFIXES else ""
        thing = _thing(words[:-1] if suffix else words) or _thing(before.get(original, before.get(name, ())))
        if not (thing := thing or (() if in_path else thing_of_route(function))):
            continue
        one = {"ids": "id"}.get(suffix, suffix)
        found.append(Needed(name, thing, (one, *also) if one else _ANY_FIELD, _is_text(kinds)))
    return found[:MAX_NEEDS]


def _new_name(function: Function) -> str:
    """The parameter by which a caller names what the function makes at its path (`PUT /collections/{name}`, called
    `create_collection`): nothing has it yet, so no other function gives it. "" if there is none."""
    words = _words(function.name)
    if not function.route.startswith("PUT ") or not _MAKES.intersection(words) or _CHANGES.intersection(words):
        return ""
    last = _LAST_PARAMETER.search(_path(function.route))
    return last[1] if last else ""


def _without_alternatives(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a name of which one of several fields may be given, with the first of these (`project_id_or_key`:
    `project_id`), and the others."""
    others: tuple[str, ...] = ()
    while len(words) > 2 and words[-2] == "or" and _SUFFIXES.issuperset((words[-3], words[-1])):
        words, others = words[:-2], (words[-1], *others)
    return words, others


def asked_field(function: Function, needs: Iterable[Needed]) -> str:
    """The field by which a path that ends with it picks one thing (`GET /tv/{series_id}`: its `id`); "" if it does not
    end so, or says no field."""
    last = _LAST_PARAMETER.search(_path(function.route))
    asked = [need for need in needs if last and last[1] in (need.parameter, function.names.get(need.parameter))]
    return asked[0].fields[0] if asked and asked[0].fields != _ANY_FIELD else ""


class Results:
    """The identifiers that results have. What a definition has is looked up once for all results that refer to it."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self._effort, self._nesting = reader, Effort(), 0
        self._known: dict[tuple[str, Thing], Found] = {}

    def given(self, function: Function, about: Thing) -> list[Given]:
        """The identifiers that a result has, which is `about` a thing if it does not say itself what it is."""
        if function.returns is not None:
            return [*self._found(function.returns, about, MAX_DEPTH).values()]
        # by convention, where nothing says what it answers
        return [Given(about, "id", False, 0, None, "id")] if about else []

    def _found(self, schema: Any, about: Thing, depth: int) -> Found:
        """What is in a schema, if its objects are of the thing `about`; the sure and the near win."""
        if self._nesting >= MAX_NESTING:
            return Found()
        self._nesting += 1
        try:
            return self._looked_up(schema, about, depth)
        finally:
            self._nesting -= 1

    def _looked_up(self, schema: Any, about: Thing, depth: int) -> Found:
        name, whole = self._reader.resolve(schema)
        if not name:
            return self._fields(whole, about, False, depth)
        named = _thing(_words(name))
        key = name, named or about
        if key not in self._known:
            self._known[key] = Found()  # where a circle of references ends
            self._known[key] = self._fields(whole, named or about, bool(named), MAX_DEPTH)
        return self._known[key]

    def _fields(self, whole: Mapping[str, Any], about: Thing, sure: bool, depth: int) -> Found:
        reader, found = self._reader, Found()
        if depth < 0 or not reader.burn():
            return found
        for key, value in islice(reader.properties(whole, hidden="writeOnly").items(), 200):
            words = _words(key)
            kinds = _kinds(reader.resolve(value)[1], reader)
            if words and words[-1] in _SUFFIXES and (not kinds or not kinds.isdisjoint(_SCALARS)):
                own, is_text = _thing(words[:-1]), _is_text(kinds)
                field = "id" if words[-1] == "ids" else words[-1]
                found.add(own or about, field, sure or bool(own), 0, is_text, _called(key, words))
            elif kinds.isdisjoint(_SCALARS):
                inner = _thing(words)
                for thing, field, surely, deep, is_text, name in self._inside(value, inner or about, depth - 1):
                    surely = surely or sure or bool(inner)
                    found.add(thing, field, surely, deep + 1, is_text, name)
                    # The user that is an `owner` is an owner, too.
                    if inner and deep == 0 and name.lower() == field:
                        found.add(inner, field, surely, 1, is_text, name)
        for part in (whole.get("items"), *listed(whole.get("prefixItems"), 5), *variants(whole)[:10]):
            if table(part):
                for thing, field, surely, deep, is_text, name in self._inside(part, about, depth):
                    found.add(thing, field, surely or sure, deep, is_text, name)
        return found

    def _inside(self, schema: Any, about: Thing, depth: int) -> Iterable[Given]:
        """What is found in a part of a schema, which is copied: many large parts may refer to the same definition."""
        found = self._found(schema, about, depth)
        return found.values() if self._effort.spend(len(found)) else ()


class Found(dict[tuple[Thing, str], Given]):
    """The best of what was found for each thing and field."""

    def add(self, thing: Thing, field: str, sure: bool, depth: int, is_text: bool | None, name: str) -> None:
        """Add a `Given`, made only if it is the best."""
        known = self.get((thing, field))
        better = len(self) < MAX_GIVEN if known is None else (sure, -depth) > (known.sure, -known.depth)
        if better and depth <= MAX_DEPTH:
            self[thing, field] = Given(thing, field, sure, depth, is_text, name)


def _kinds(schema: Mapping[str, Any], reader: Reader, nesting: int = 2) -> Set[str]:
    """The types of a value, or of the items of a list; none where nothing is said."""
    said = schema.get("type")
    if isinstance(said, str) and said in _ONLY:
        return _ONLY[said]
    kinds = {kind for kind in (listed(said, 5) if isinstance(said, list) else [said]) if isinstance(kind, str)}
    if "array" in kinds and nesting:
        return _kinds(reader.resolve(schema.get("items"))[1], reader, nesting - 1)
    for variant in [] if kinds else variants(schema)[:5]:
        kinds |= _kinds(reader.resolve(variant)[1], reader, nesting - 1) if nesting else set()
    return kinds - {"null"} or ({"object"} if table(schema.get("properties")) else set())


def _is_text(kinds: Set[str]) -> bool | None:
    scalars = kinds & _SCALARS
    return None if len(scalars) != 1 else "string" in scalars


def _path_parameters(route: str) -> Iterable[tuple[str, tuple[str, ...]]]:
    """The parameters in a path, each with the words of the step before it."""
    before: tuple[str, ...] = ()
    for match in _steps(_path(route)):
        if match[1]:
            yield match[1], before
        else:
            before = _split(match[2])


def collections(functions: Iterable[Function]) -> frozenset[str]:
    """The paths that hold items: `/movie` where there is `/movie/{movie_id}`."""
    paths = (_path(function.route) for function in functions)
    return frozenset(path[: match.start() - 1] for path in paths for match in _steps(path) if match[1])


def thing_of_route(function: Function, within: Collection[str] = ()) -> Thing:
    """What the last fixed step of a path names; or a tool, without its verb. A step that picks out of a collection says
    nothing of what it picks: `/movie/popular` gives movies if `/movie` is one of these collections."""
    path = _path(function.route)
    before, _, last = path.rpartition("/")
    if before in within and last.isidentifier() and not last.endswith("s"):
        path = before
    steps = [match[2] for match in _steps(path) if match[2]]
    things = (_thing(_split(step)) for step in reversed(steps)) if steps else [_thing(_words(function.name)[1:])]
    return next(filter(None, things), ())


def _path(route: str) -> str:
    return route[:MAX_ROUTE_CHARS].partition(" ")[2]


def _steps(path: str) -> Iterable[re.Match[str]]:
    return islice(_STEPS.finditer(path), MAX_STEPS)


def _words(name: str) -> tuple[str, ...]:
    """The words of a name."""
    return _split(name[:MAX_READ_CHARS])


@lru_cache(10_000)
def _split(name: str) -> tuple[str, ...]:
    """The words of a field's name, or of a step of a path: the same ones are in many results."""
    return tuple(split_words(name))


@lru_cache(10_000)
def _thing(words: tuple[str, ...]) -> Thing:
    """What words say that something is; of very many the last ones do."""
    return tuple(word for word in map(stem, words) if word not in _VAGUE)[-MAX_THING_WORDS:]


def _called(key: str, words: Iterable[str]) -> str:
    """A field's name as an agent is told of it: no text that a document could hide in it."""
    return key if key.isidentifier() and len(key) <= MAX_NAME_CHARS else "_".join(words)[:MAX_NAME_CHARS]
