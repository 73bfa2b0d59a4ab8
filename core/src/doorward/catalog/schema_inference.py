"""The shapes of results that have no schema in their document, learnt from the results themselves.

A shape has names and types only, never values. Its names are stored, and models read them. So names that look like
data, which the author of a value may choose, are not kept: such an object becomes a `map`.
"""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial, reduce
from itertools import islice
from typing import Any

from doorward.catalog.observation import TEXT_FORMATS, Observation, Shape
from doorward.catalog.store import ObservationStore, StoredObservation
from doorward.data.held_text import MAX_TEXT_CHARS, holds, may_hold
from doorward.data.json_writing import digest
from doorward.host.logs import log
from doorward.model.errors import StateError
from doorward.model.functions import Function

MAX_DEPTH = 6
MAX_KEYS = 60
"""Names of one object; if there are more, they are taken for data."""

MAX_ITEMS = 20
"""Items of a list that are looked at."""

MAX_PARTS = 1000
"""Parts of one result that are looked at."""

CHARS_PER_PART = 20
"""Characters that count as one part, in a text that is parsed to see what it holds."""

MAX_PLACES = 600
"""Places of one shape; a larger one loses its deepest levels."""

SAMPLING_INTERVAL = 10
"""This many first results of a function are all looked at, later only one in so many: results look alike."""

MAX_FUNCTIONS = 2000
"""Functions whose shapes a process remembers."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_DIGITS = re.compile(r"[0-9]")
_SCALAR_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


class SchemaInference:
    """The shapes of results, in memory and stored. Only a shape that has changed is written."""

    def __init__(self, store: ObservationStore) -> None:
        self._store = store
        self._known: OrderedDict[str, tuple[Function, Observation | None]] = OrderedDict()

    def learn(self, function: Function, value: Any) -> None:
        """Learn from a result of a function without a schema of its results."""
        seen = self.of(function)
        if seen is None:
            seen = Observation(_schema_hash(function), {}, 0, 0.0)
            self._remember(function, seen)
        seen.times, seen.new, seen.last = seen.times + 1, seen.new + 1, time.time()
        if seen.times <= SAMPLING_INTERVAL or seen.times % SAMPLING_INTERVAL == 0:
            merged = bounded(merge(seen.shape, shape(value)))
            if merged != seen.shape:
                seen.shape, seen.changed = merged, True

    def of(self, function: Function) -> Observation | None:
        """What was observed of a function's results, as long as the function has not changed."""
        kept = self._known.get(function.qualified)
        if kept and kept[0] is function:
            return kept[1]
        seen = kept[1] if kept else None
        schema_hash = _schema_hash(function)
        if seen is None or seen.schema_hash != schema_hash:
            seen = self._stored(function)
        self._remember(function, seen)
        return seen

    def flush(self, *, everything: bool = False) -> set[str]:
        """Store the shapes that have changed, and with `everything` the counts of those that have not. Returns: the
        servers of the functions whose shapes have changed."""
        due = {n: s for n, (_, s) in [*self._known.items()] if s and s.new and (s.changed or everything)}
        if not due:
            return set()
        changed = {_key(name)[0] for name, seen in due.items() if seen.changed}
        try:
            self._store.merge_observations({_key(name): partial(_merged_with, seen) for name, seen in due.items()})
        except StateError as error:  # tried again the next time
            log.warning("observed_not_stored", error=str(error))
            for seen in due.values():
                seen.new, seen.changed = max(1, seen.new), True
            return set()
        return changed

    def _remember(self, function: Function, seen: Observation | None) -> None:
        self._known[function.qualified] = function, seen
        self._known.move_to_end(function.qualified)
        if len(self._known) > MAX_FUNCTIONS:
            self._known.popitem(last=False)

    def _stored(self, function: Function) -> Observation | None:
        try:
            return stored_observation(self._store.observation, function)
        except StateError:  # no call should fail because of this
            return None


ReadObservation = Callable[[str, str], StoredObservation | None]
"""Reads what is stored of the results of a function, by its server and name."""


def stored_observation(read: ReadObservation, function: Function) -> Observation | None:
    """What is stored of a function's results, if the function has not changed since. Raises: StateError."""
    row = read(function.server, function.name)
    if row is None or row.digest != (schema_hash := _schema_hash(function)):
        return None
    return Observation(schema_hash, json.loads(row.shape), row.times, row.last)


def with_observed(functions: Iterable[Function], observation: ReadObservation) -> list[Function]:
    """The functions, with the observed schema of the results of those that have none. Raises: StateError."""
    return [
        replace(function, returns=seen.schema)
        if is_open(function) and (seen := stored_observation(observation, function))
        else function
        for function in functions
    ]


def _key(qualified: str) -> tuple[str, str]:
    server, _, name = qualified.partition(".")
    return server, name


def _merged_with(seen: Observation, stored: StoredObservation | None) -> StoredObservation:
    """An observation merged with what other processes stored. What is learnt meanwhile is stored the next time."""
    new, seen.changed = seen.new, False
    whole, times = seen.shape, seen.times
    if stored and stored.digest == seen.schema_hash:
        whole, times = bounded(merge(json.loads(stored.shape), whole)), stored.times + new
    seen.new -= new
    return StoredObservation(seen.schema_hash, json.dumps(whole), times, seen.last)


def lasts(functions: Iterable[Function]) -> Callable[[str, str], bool]:
    """A test whether what was observed of a function, by its name and digest, still holds: it is among these, has not
    changed, and has no schema of its results."""
    now = {f.name: f for f in functions}
    return lambda name, then: name in now and is_open(now[name]) and _schema_hash(now[name]) == then


def is_open(function: Function) -> bool:
    """Whether a function's document says nothing about its results, or only that they are texts."""
    returns = function.returns
    return returns is None or (returns.get("type") == "string" and not {"format", "enum", "const"} & returns.keys())


def _schema_hash(function: Function) -> str:
    """A hash of a function's id and parameters: if it changes, earlier results say nothing any more."""
    return digest(function.id, function.parameters)


def shape(value: Any) -> Shape:
    """The shape of a plain JSON value."""
    return _shape(value, MAX_DEPTH, [MAX_PARTS])


def _shape(value: Any, depth: int, left: list[int]) -> Shape:
    left[0] -= 1
    if isinstance(value, str) and left[0] >= 0 and may_hold(value):
        left[0] -= min(len(value), MAX_TEXT_CHARS) // CHARS_PER_PART
        if what := holds(value):
            return {"string": {TEXT_FORMATS[what]: {}}}
    if kind := _SCALAR_TYPES.get(type(value)):
        return {kind: {}}
    if depth == 0 or left[0] < 0:
        return {}
    if isinstance(value, list):
        return {"array": _together(_shape(item, depth - 1, left) for item in value[:MAX_ITEMS])}
    if not isinstance(value, Mapping):
        return {}
    if len(value) > MAX_KEYS or not all(map(_is_name, value)):
        return {"map": _together(_shape(item, depth - 1, left) for item in islice(value.values(), MAX_ITEMS))}
    return {"object": {key: _shape(item, depth - 1, left) for key, item in value.items()}}


def _is_name(key: Any) -> bool:
    """Whether a key is a name that a programmer chose; a number, an address or an id is data."""
    return isinstance(key, str) and _NAME.fullmatch(key) is not None and len(_DIGITS.findall(key)) <= 4


def merge(one: Shape, other: Shape) -> Shape:
    """A shape with what has been observed in either."""
    if one == other or not other:
        return one
    if not one:
        return other
    merged = {**one, **other, **{kind: _merged(kind, one[kind], other[kind]) for kind in one.keys() & other.keys()}}
    fields = merged.get("object")
    if fields is not None and (
        len(fields) > MAX_KEYS or "map" in merged or _unlike(one.get("object"), other.get("object"))
    ):
        merged["map"] = _together([merged.get("map", {}), *merged.pop("object").values()])
    if "number" in merged:
        merged.pop("integer", None)
    return merged


def _merged(kind: str, one: Shape, other: Shape) -> Shape:
    if kind == "object":
        return {**one, **{name: merge(one.get(name, {}), inside) for name, inside in other.items()}}
    return merge(one, other)


def _unlike(one: Shape | None, other: Shape | None) -> bool:
    """Whether two objects have no name in common, but values of the same types: then their names are data, as in
    `{"anna": 1}`."""
    if not one or not other or one.keys() & other.keys():
        return False
    kinds = [tuple(sorted(inside)) for inside in (*one.values(), *other.values())]
    return len(set(kinds)) == 1


def _together(shapes: Iterable[Shape]) -> Shape:
    return reduce(merge, shapes, {})


def bounded(whole: Shape) -> Shape:
    """A shape without the levels for which there is no room."""
    for depth in range(MAX_DEPTH + 1, 0, -1):
        cut = whole if depth > MAX_DEPTH else _cut(whole, depth)
        if _size(cut) <= MAX_PLACES:
            return cut
    return {kind: {} for kind in whole}


def _inside(kind: str, inside: Shape) -> Iterable[Shape]:
    return inside.values() if kind == "object" else [inside]


def _size(whole: Shape) -> int:
    return 1 + sum(_size(part) for kind, inside in whole.items() for part in _inside(kind, inside))


def _cut(whole: Shape, depth: int) -> Shape:
    if depth == 0:
        return {}
    return {
        kind: {name: _cut(part, depth - 1) for name, part in inside.items()}
        if kind == "object"
        else _cut(inside, depth - 1)
        for kind, inside in whole.items()
    }
