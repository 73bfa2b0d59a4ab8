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

_TEXTS = {"title", "description", "$comment", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"}
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_VARIANTS = ("anyOf", "oneOf", "allOf")
_COMPARED = {
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "pattern", "format", "$ref",
    "$defs", *_TEXTS, *_LOWER, *_UPPER, *_VARIANTS,
}  # fmt: skip

_INSTRUCTIONS = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,30}\b(?:instruction|prompt|rule|message|above|previous|prior)"
    r"|\bsystem prompt\b"
    r"|\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|mention|inform|reveal|notify|ask)\w*\b.{0,20}\buser\b"
    r"|\b(?:before|after|instead of|when)\b.{0,20}\b(?:using|calling|use|call)\b.{0,20}\b(?:tool|function)s?\b"
    r"|\b(?:when|whenever|if)\b.{0,60}\b(?:tool|function)s? (?:is|are) (?:called|invoked|used)\b"
    r"|\byou are (?:an?|the) (?:ai|assistant|agent|model)\b"
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
        yield from self._types(old, new, where)
        yield from self._values(old, new, where)
        yield from self._bounds(old, new, where)
        yield from self._properties(old, new, place, depth)
        yield from self._items(old, new, place, depth)
        for key in _VARIANTS:
            yield from self._variants(_list(old.get(key)), _list(new.get(key)), key, place, depth)
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
            was, now = old.get(key), new.get(key)
            if was == now:
                continue
            narrower = now is not None
            if isinstance(was, (int, float)) and isinstance(now, (int, float)):
                narrower = (now > was) is (key in _LOWER)
            yield self._change(narrower, f"{where}: {key} {'none' if now is None else now}")
        for key in ("pattern", "format"):
            if old.get(key) != new.get(key):
                yield self._change(key in new, f"{where}: {key} {new.get(key, 'none')}")

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
        others_was, others = old.get("additionalProperties"), new.get("additionalProperties")
        if isinstance(others_was, dict) and isinstance(others, dict):
            yield from self.compare(others_was, others, f"{place}.*", depth + 1)

    def _items(self, old: dict[str, Any], new: dict[str, Any], place: str, depth: int) -> Iterator[tuple[bool, str]]:
        was, now = old.get("items"), new.get("items")
        if isinstance(was, dict) and isinstance(now, dict):
            yield from self.compare(was, now, f"{place}[]", depth + 1)
        elif was != now:
            yield self._change(was is None, f"{place}[]: {_words(_table(now))}")

    def _variants(
        self, was: list[Any], now: list[Any], key: str, place: str, depth: int
    ) -> Iterator[tuple[bool, str]]:  # fmt: skip
        if len(was) != len(now):
            fewer = len(now) < len(was) if was and now else not was
            narrower = fewer if key != "allOf" else len(now) > len(was)
            yield self._change(narrower, f"{place or 'arguments'}: {len(now)} variants, {len(was)} before")
            return
        for one, other in zip(was, now, strict=True):
            yield from self.compare(one, other, place, depth + 1)


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name of the definition that a schema means, and what it says; for no schema, that of any value."""
    name, found = "", _table(schema)
    for _ in range(_MAX_DEPTH):
        if not isinstance(reference := found.get("$ref"), str):
            break
        name = reference.removeprefix("#/$defs/")
        others = {key: value for key, value in found.items() if key != "$ref"}
        found = {**_table(definitions.get(name)), **others}
    return name, found


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
