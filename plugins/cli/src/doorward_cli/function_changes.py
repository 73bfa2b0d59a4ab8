"""What became of functions when their server was compiled again, in classes by what it means to programs."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from doorward import Function

Kind: TypeAlias = Literal["removed", "narrowed", "effect", "instructions", "added", "widened", "text"]
"""The classes of changes. Of a function it is `narrowed` what a program may rely on and is not so any more: what it may
pass, or what it gets. `widened` is what only adds to it. `instructions`: a new text that seems to address a model."""

BREAKING: tuple[Kind, ...] = ("removed", "narrowed", "effect", "instructions")
"""The classes that somebody should look at before programs run again."""

_MAX_DEPTH = 30
_MAX_TOLD = 5
_MAX_TEXT_CHARACTERS = 160

_TEXTS = {
    "title", "description", "$comment", "default", "example", "examples", "deprecated", "readOnly", "writeOnly",
    "$schema", "$id", "xml", "externalDocs", "discriminator",
}  # fmt: skip
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_LENGTHS = ("minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_UNIONS = ("anyOf", "oneOf")
_RESTRICTING = ("uniqueItems", "multipleOf")
_MAX_TRIED = 12
_COMPARED = {
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "pattern", "format", "$ref",
    "$defs", *_TEXTS, *_LOWER, *_UPPER, *_UNIONS, *_RESTRICTING,
    "allOf",
}  # fmt: skip

_INSTRUCTIONS = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,30}\b(?:instruction|prompt|rule|message|above|previous|prior)"
    r"|\bsystem prompt\b"
    r"|\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|mention|inform|reveal|notify|ask)\w*\b.{0,20}\buser\b"
    r"|\b(?:before|after|instead of|when)\b.{0,20}\b(?:using|calling|use|call)\b.{0,20}\b(?:tool|function)s?\b"
    r"|\b(?:when|whenever|if)\b.{0,60}\b(?:tool|function)s? (?:is|are) (?:called|invoked|used)\b"
    r"|\byou are (?:an?|the) (?:ai|assistant|agent|model)\b"
    r"|(?:^|[.!?>\]\n]\s*|[\[<])(?-i:SYSTEM|ASSISTANT)(?: (?:MESSAGE|NOTE|OVERRIDE))?\s*[:\]>]"
    r"|\b(?:ai|llm) agents?\s*[:,]"
    r"|\b(?:approve|confirm|execute|run|call|do|send)\b.{0,20}\bwithout (?:asking|confirmation|approval|being asked)"
    r"|\b(?:never|do not|don't) (?:use|call)\b.{0,20}\bother (?:tool|function)s?\b"
    r"|\byou must (?:always|first|now|also)\b.{0,20}\b(?:call|use|invoke|run|execute|read|open|fetch|send)\b"
    r"|\b(?:send|forward|bcc|copy|e?mail)\b.{0,60}\b(?:to|at)\b.{0,20}[\w.+-]+@[\w-]+\.\w"
    r"|~/\.\w|\bid[_ ]rsa\b|\.ssh\b|\bmcp\.json\b"
    r"|\b(?:conversation|chat) history\b|\bchain of thought\b|\ball previous messages\b"
    r"|<(?:important|system|instructions?)>(?!\s*<)",  # else it is markup of a document
    re.IGNORECASE | re.DOTALL,
)
_WORD_ENDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def addresses_a_model(text: str, *, is_name: bool = False) -> str:
    """The part of a text that seems to address a model, or "". The words of a name are told apart first."""
    if is_name:
        text = _WORD_ENDS.sub(" ", text)
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    if (found := _INSTRUCTIONS.search(text)) is None:
        return ""
    start = max(0, found.start() - 40)
    return " ".join(text[start : start + _MAX_TEXT_CHARACTERS].split())


@dataclass(frozen=True, slots=True)
class Known:
    """A function as it was or is: with the definitions to which its schemas refer, and the class of its calls."""

    function: Function
    definitions: Mapping[str, Any]
    effect: str


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a function, and what it is for a reader."""

    kind: Kind
    function: str
    what: str


def changes(before: Mapping[str, Known], after: Mapping[str, Known]) -> list[Change]:
    """The changes between two states of functions, by their qualified names; what breaks programs comes first."""
    found = [Change("removed", name, "is gone") for name in before.keys() - after.keys()]
    for name, new in after.items():
        if (old := before.get(name)) is None:
            found.append(Change("added", name, new.effect))
            found += _instructions(name, _strings(new), _names(new))
        else:
            found += _between(name, old, new)
    order: tuple[Kind, ...] = (*BREAKING, "widened", "added", "text")
    return sorted(found, key=lambda change: (order.index(change.kind), change.function))


def _between(name: str, old: Known, new: Known) -> Iterator[Change]:
    if old.effect != new.effect:
        yield Change("effect", name, f"{old.effect} → {new.effect}")
    found = [
        *_Schemas(old, new, results=False).compare(old.function.parameters, new.function.parameters, ""),
        *_Schemas(old, new, results=True).compare(old.function.returns, new.function.returns, "result"),
    ]
    if narrowed := [what for breaks, what in found if breaks]:
        yield Change("narrowed", name, _listed(narrowed))
    if widened := [what for breaks, what in found if not breaks]:
        yield Change("widened", name, _listed(widened))
    was, now = _texts(old), _texts(new)
    yield from _instructions(name, _strings(new) - _strings(old), _names(new) - _names(old))
    if now - was:
        yield Change("text", name, "other words")


def _listed(told: list[str]) -> str:
    more = [f"and {len(told) - _MAX_TOLD} more"] if len(told) > _MAX_TOLD else []
    return "; ".join([*told[:_MAX_TOLD], *more])


def _instructions(name: str, texts: set[str], names: set[str]) -> Iterator[Change]:
    told = {addresses_a_model(text) for text in texts} | {addresses_a_model(each, is_name=True) for each in names}
    for said in sorted(told - {""}):
        yield Change("instructions", name, json.dumps(said, ensure_ascii=False))


def _texts(known: Known) -> set[str]:
    """All that a document says in words about a function."""
    function = known.function
    schemas = [function.parameters, function.returns, dict(known.definitions)]
    return {function.summary, function.description, *reviewable_words(schemas)} - {""}


def _strings(known: Known) -> set[str]:
    """All texts that a document has about a function: in values, too, such as defaults and enumerations."""
    found, waiting = _texts(known), [known.function.parameters, known.function.returns, dict(known.definitions)]
    while waiting:
        match waiting.pop():
            case dict() as schema:
                waiting += schema.values()
            case list() as several:
                waiting += several
            case str() as text:
                found.add(text)
            case _:
                pass
    return found


def _names(known: Known) -> set[str]:
    """The names that a document gives to a function, its parameters, the members of its results, and definitions."""
    function = known.function
    found, waiting = {function.name, *known.definitions}, [function.parameters, function.returns]
    waiting += known.definitions.values()
    while waiting:
        match waiting.pop():
            case dict() as schema:
                found.update(key for key in schema if key not in _COMPARED)
                waiting += schema.values()
            case list() as several:
                waiting += several
            case _:
                pass
    return found


def reviewable_words(schema: Any) -> set[str]:
    """The titles and descriptions in a schema, or in several."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case dict() as each:
                found.update(each[key] for key in ("title", "description") if isinstance(each.get(key), str))
                waiting += each.values()
            case list() as several:
                waiting += several
            case _:
                pass
    return found


class _Schemas:
    """Compares what callers pass or, of `results`, what they get: there more possible values are what breaks them."""

    def __init__(self, old: Known, new: Known, *, results: bool) -> None:
        self._old, self._new, self._results = old.definitions, new.definitions, results
        self._seen: set[tuple[str, str]] = set()
        self._trying = False

    def compare(self, old: Any, new: Any, place: str, depth: int = 0) -> Iterator[tuple[bool, str]]:
        """Whether each change breaks callers, and what it is."""
        old_name, old = _resolved(old, self._old)
        new_name, new = _resolved(new, self._new)
        if (old_name or new_name) and (old_name, new_name) in self._seen:
            return
        self._seen.add((old_name, new_name))
        if depth > _MAX_DEPTH:
            return
        where = place or "arguments"
        was, now = _union(old), _union(new)
        if bool(was) != bool(now):  # the other is a union of one
            yield from self._variants(was or [old], now or [new], place, depth)
            return
        yield from self._types(old, new, where)
        yield from self._values(old, new, where)
        yield from self._bounds(old, new, where)
        yield from self._properties(old, new, place, depth)
        yield from self._items(old, new, place, depth)
        yield from self._variants(was, now, place, depth)
        yield from self._parts(_list(old.get("allOf")), _list(new.get("allOf")), place, depth)
        for key in sorted(old.keys() | new.keys()):
            if key not in _COMPARED and not key.startswith("x-") and old.get(key) != new.get(key):
                yield True, f"{where}: another {key}"

    def _change(self, narrower: bool, what: str) -> tuple[bool, str]:
        return narrower is not self._results, what

    def _types(self, old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[tuple[bool, str]]:
        was, now = _types(old), _types(new)
        if was == now:
            return
        lost = now is not None and (was is None or bool(was - now))
        gained = was is not None and (now is None or bool(now - was))
        told = f"{where}: {_words(old)} → {_words(new)}"
        yield (gained if self._results else lost), told

    def _values(self, old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[tuple[bool, str]]:
        was, now = _enumerated(old), _enumerated(new)
        if was is not None and now is not None:
            if lost := was - now:
                yield not self._results, f"{where} is no longer {' or '.join(sorted(lost))}"
            if gained := now - was:
                yield False, f"{where} may be {' or '.join(sorted(gained))}"
        elif was != now:
            told = f"only {' or '.join(sorted(now))}" if now is not None else "any value"
            yield now is not None and not self._results, f"{where}: {told}"

    def _bounds(self, old: dict[str, Any], new: dict[str, Any], where: str) -> Iterator[tuple[bool, str]]:
        for key in (*_LOWER, *_UPPER):
            was, now = (None if key in _LENGTHS and each.get(key) == 0 else each.get(key) for each in (old, new))
            if was == now:
                continue
            narrower = now is not None
            if isinstance(was, (int, float)) and isinstance(now, (int, float)):
                narrower = (now > was) is (key in _LOWER)
            yield self._change(narrower, f"{where}: {key} {'none' if now is None else now}")
        for key in ("pattern", "format", *_RESTRICTING):
            if old.get(key) != new.get(key):
                # a document that drops a format of a result seldom means other values
                broken_result = key in old and (key in new or key != "format")
                breaks = broken_result if self._results else key in new
                yield breaks, f"{where}: {key} {new.get(key, 'none')}"

    def _properties(
        self, old: dict[str, Any], new: dict[str, Any], place: str, depth: int
    ) -> Iterator[tuple[bool, str]]:
        was, now = _table(old.get("properties")), _table(new.get("properties"))
        required_was, required = _list(old.get("required")), _list(new.get("required"))
        for name in sorted(was.keys() | now.keys()):
            inner = f"{place}.{name}" if place else name
            if name not in now:
                yield True, f"{inner} is gone"
            elif name not in was:
                must = name in required and not self._results
                yield must, f"{inner} is new{' and required' if must else ''}"
            else:
                if (name in required_was) != (name in required):
                    now_required = name in required
                    yield self._change(now_required, f"{inner} is {'required' if now_required else 'optional'} now")
                yield from self.compare(was[name], now[name], inner, depth + 1)
        closed_was, closed = (each.get("additionalProperties") is False for each in (old, new))
        if closed_was != closed:
            yield self._change(closed, f"{place or 'arguments'}: {'no' if closed else 'any'} further keys")
        if not closed_was and not closed:
            others_was, others = (_table(each.get("additionalProperties")) for each in (old, new))
            yield from self.compare(others_was, others, f"{place}.*", depth + 1)

    def _items(self, old: dict[str, Any], new: dict[str, Any], place: str, depth: int) -> Iterator[tuple[bool, str]]:
        was, now = old.get("items"), new.get("items")
        if isinstance(was, dict) and isinstance(now, dict):
            yield from self.compare(was, now, f"{place}[]", depth + 1)
        elif was != now:
            yield self._change(was is None, f"{place}[]: {_words(_table(now))}")

    def _variants(self, was: list[Any], now: list[Any], place: str, depth: int) -> Iterator[tuple[bool, str]]:
        """Of unions, in whatever order they list the same."""
        pairs, lost, gained = self._paired(was, now, depth)
        if len(was) != len(now):
            breaks = bool(gained if self._results else lost)
            yield breaks, f"{place or 'arguments'}: {len(now)} variants, {len(was)} before"
        else:
            pairs += zip(lost, gained, strict=True)
        for one, other in pairs:
            yield from self.compare(one, other, place, depth + 1)

    def _paired(
        self, was: list[Any], now: list[Any], depth: int
    ) -> tuple[list[tuple[Any, Any]], list[Any], list[Any]]:  # fmt: skip
        """Variants that belong together, as they are the same or are called so; and what is left on each side."""
        pairs, lost, gained = [], [], [*now]
        for one in was:
            if (other := next((each for each in gained if _is_same(one, each)), None)) is None:
                lost.append(one)
            else:
                gained.remove(other)
                pairs.append((one, other))
        if not self._trying and len(lost) <= _MAX_TRIED:
            for one in [*lost]:
                other = next((each for each in gained[:_MAX_TRIED] if self._is_equal(one, each, depth)), None)
                if other is not None:
                    lost.remove(one)
                    gained.remove(other)
        return pairs, lost, gained

    def _is_equal(self, one: Any, other: Any, depth: int) -> bool:
        """Whether two variants differ in names and words alone."""
        seen, self._seen, self._trying = self._seen, {*self._seen}, True
        try:
            return next(iter(self.compare(one, other, "", depth + 1)), None) is None
        finally:
            self._seen, self._trying = seen, False

    def _parts(self, was: list[Any], now: list[Any], place: str, depth: int) -> Iterator[tuple[bool, str]]:
        """Of what holds at once, as far as it could not be written as one."""
        if len(was) != len(now):
            yield self._change(len(now) > len(was), f"{place or 'arguments'}: {len(now)} parts, {len(was)} before")
            return
        for one, other in zip(was, now, strict=True):
            yield from self.compare(one, other, place, depth + 1)


def _is_same(one: Any, other: Any) -> bool:
    name = _table(one).get("$ref")
    return bool(one == other or (name is not None and name == _table(other).get("$ref")))


def _resolved(schema: Any, definitions: Mapping[str, Any], depth: int = 0) -> tuple[str, dict[str, Any]]:
    """The name of the definition that a schema means, and what it says as one: `allOf` is merged where that is plain, a
    union of one is that, and one with null is a type that may be null. For no schema, that of any value."""
    name, found = "", _table(schema)
    for _ in range(_MAX_DEPTH):
        if not isinstance(reference := found.get("$ref"), str):
            break
        name = reference.removeprefix("#/$defs/")
        others = {key: value for key, value in found.items() if key != "$ref"}
        found = {**_table(definitions.get(name)), **others}
    if depth > _MAX_DEPTH:
        return name, found
    for key in _UNIONS:
        variants = _list(found.get(key))
        some = [each for each in variants if each != {"type": "null"}]
        if len(some) == 1 and not any(other in found for other in ("$ref", "allOf", *_UNIONS) if other != key):
            inner, one = _resolved(some[0], definitions, depth + 1)
            if len(variants) > 1:
                inner, one = inner and f"{inner}?", _or_null(one)
            merged = _merged([{other: value for other, value in found.items() if other != key}, one])
            if one and merged is not None:
                return name or inner, merged
    if parts := _list(found.get("allOf")):
        resolved = [_resolved(each, definitions, depth + 1) for each in parts]
        merged = _merged([
            {key: value for key, value in found.items() if key != "allOf"}, *(each for _, each in resolved)
        ])  # fmt: skip
        if merged is not None:
            return name or (resolved[0][0] if len(parts) == 1 else ""), merged
    return name, found


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of the same values and null; nothing where that cannot be said in one."""
    if "type" not in schema or not schema.keys().isdisjoint(("allOf", "const", *_UNIONS)):
        return {}
    said = schema["type"]
    types = [*said] if isinstance(said, list) else [said]
    values = {"enum": [*schema["enum"], None]} if isinstance(schema.get("enum"), list) else {}
    return {**schema, **values, "type": [*types, *({"null"} - {*types})]}


def _merged(parts: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One schema that says what all of them say; `None` if they say something different about the same."""
    found: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            if key not in found or key in _TEXTS:
                found.setdefault(key, value)
            elif key == "properties":
                said = {**_table(found[key])}
                for name, inner in _table(value).items():
                    said[name] = inner if said.get(name, inner) == inner else {"allOf": [said[name], inner]}
                found[key] = said
            elif key == "required":
                found[key] = [*_list(found[key]), *(each for each in _list(value) if each not in _list(found[key]))]
            elif found[key] != value:
                return None
    return found


def _union(schema: dict[str, Any]) -> list[Any]:
    """The variants of a schema; whether one or more of them may fit is no matter here."""
    return [each for key in _UNIONS for each in _list(schema.get(key))]


def _types(schema: dict[str, Any]) -> set[str] | None:
    """The types that a schema allows; `None` for all."""
    said = schema.get("type")
    if said is None:
        return None
    found = {str(each) for each in (said if isinstance(said, list) else [said])}
    return found | {"integer"} if "number" in found else found


def _words(schema: dict[str, Any]) -> str:
    said = schema.get("type", "anything")
    return " or ".join(map(str, said)) if isinstance(said, list) else str(said)


def _enumerated(schema: dict[str, Any]) -> set[str] | None:
    """The values that a schema lists, as JSON; `None` if it lists none."""
    if "const" in schema:
        return {json.dumps(schema["const"], sort_keys=True)}
    said = schema.get("enum")
    return {json.dumps(each, sort_keys=True) for each in said} if isinstance(said, list) else None


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
