"""Labels of functions: what their answers are, and whom their calls reach."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doorward import Function
from doorward.administration import FunctionNotes
from doorward.deciding import Patterns

from doorward_provenance.settings import ProvenanceSettings

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_STRANGERS = """mail email inbox message thread chat comment issue review feedback ticket page web website webpage url
article feed post tweet document file attachment invitation event note transaction"""
"""What others than its owner write into: mails, comments, pages."""
_PRIVATE = """mail email inbox message thread chat file document attachment event calendar contact account balance
transaction payment invoice user profile address secret password order note"""
"""What is not for everybody."""
_PLACES = """cc bcc recipient recipients receiver email emails mail address addressee participants attendees invitees
members url uri link webhook callback endpoint destination target iban account phone number channel"""
"""Words of parameters that say whom or what place a call reaches, if they take texts."""
_STRANGER_WORDS, _PRIVATE_WORDS, _PLACE_WORDS = (frozenset(t.split()) for t in (_STRANGERS, _PRIVATE, _PLACES))
_LINK_WORDS = frozenset({"url", "uri", "link", "webhook", "callback"})
_OFFERED: Mapping[str, Sequence[str]] = {"resources/read": ("document",), "prompts/get": ("document",)}
"""What MCP servers offer besides functions, and the kinds that it is."""
_READING = "get list read search find fetch show view query download export check load open retrieve"
_VERBS = frozenset(_READING.split())
"""First words of names of what only reads, where its server does not say so."""
_PLACE_FORMATS = frozenset({"email", "idn-email", "uri", "iri", "url", "uri-reference", "hostname"})

LISTS = ("untrusted", "trusted", "private", "outward", "inward")
"""Keys of `[provenance]` that name functions."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What the answers of a function are, and the parameters that say whom its calls reach."""

    untrusted: bool = False
    private: bool = False
    outward: bool = False
    places: frozenset[str] = field(default=frozenset())

    def __str__(self) -> str:
        outward = f"outward ({', '.join(sorted(self.places))})" if self.places else "outward"
        words = {"untrusted": self.untrusted, "private": self.private, outward: self.outward}
        return ", ".join(word for word, is_so in words.items() if is_so)


class Labelled(FunctionNotes):
    """The labels of functions, by configuration and by kind; each function is looked at once. Its card shows them."""

    heading = "Where its values come from and go to:"

    def __init__(self, settings: ProvenanceSettings) -> None:
        self._said = {name: Patterns(getattr(settings, name)) for name in LISTS}
        self._known: dict[int, tuple[Function, Labels]] = {}

    def lines(self, function: Function, language: str) -> Sequence[str]:
        labels = self.of(function)
        places = f": by {', '.join(sorted(labels.places))}" if labels.places else ""
        told = {
            "others may have written what it answers": labels.untrusted,
            "what it answers is not for everybody": labels.private,
            f"it reaches other people or places{places}": labels.outward,
        }
        return [line for line, is_so in told.items() if is_so]

    def of(self, function: Function) -> Labels:
        known = self._known.get(id(function))
        if known is None or known[0] is not function:
            if len(self._known) > 50_000:
                self._known.clear()
            known = self._known[id(function)] = function, self._found(function)
        return known[1]

    def _found(self, function: Function) -> Labels:
        names = function.qualified, *(f"{function.server}.{alias}" for alias in function.aliases)
        said = {label: patterns.fit(*names) for label, patterns in self._said.items()}
        reads = function.read_only or function.guessed_read
        gives = reads or _gives(function)
        words = {_singular(word) for text in _named(function) for word in _split(text)}
        places = frozenset(_places(function.parameters, links=reads))
        return Labels(
            untrusted=not said["trusted"] and (said["untrusted"] or (gives and bool(words & _STRANGER_WORDS))),
            private=said["private"] or (gives and bool(words & _PRIVATE_WORDS)),
            outward=not said["inward"] and (said["outward"] or bool(places)),
            places=places,
        )


def _gives(function: Function) -> bool:
    """Whether a function seems to give what others wrote, though nothing says that it only reads."""
    return function.name in _OFFERED or next(iter(_split(function.name)), "") in _VERBS


def _named(function: Function) -> Iterator[str]:
    """What names a function, without its method: a `read_runs_filter_post` reads no posts."""
    yield from (function.server, *function.tags)
    method = function.route.partition(" ")[0].lower()
    yield from _OFFERED.get(function.name, ())
    yield function.name.removesuffix(f"_{method}").removeprefix(f"{method}_")


def _places(parameters: Mapping[str, Any], *, links: bool) -> Iterator[str]:
    """Parameters that take whom or what place a call reaches. Of a function that reads (`links`) only those that take
    URLs: what it is asked for goes there."""
    for name, schema in (parameters.get("properties") or {}).items():
        if not isinstance(schema, Mapping) or not _takes_text(schema):
            continue
        words = _split(name)
        is_link = not _LINK_WORDS.isdisjoint(words) or schema.get("format") in {"uri", "url"}
        is_place = not _PLACE_WORDS.isdisjoint(words) or words[:1] == ["to"] or _formats(schema) & _PLACE_FORMATS
        if is_link or (is_place and not links):
            yield name


def _takes_text(schema: Mapping[str, Any]) -> bool:
    """Whether a parameter takes any text, or a list of such."""
    if "enum" in schema or "const" in schema:
        return False
    types = schema.get("type", "string")
    types = [types] if isinstance(types, str) else types
    items = schema.get("items")
    alternatives = [each for key in ("anyOf", "oneOf") for each in schema.get(key) or () if isinstance(each, Mapping)]
    if alternatives:
        return any(_takes_text(each) for each in alternatives if each.get("type") != "null")
    return "string" in types or ("array" in types and (not isinstance(items, Mapping) or _takes_text(items)))


def _formats(schema: Mapping[str, Any]) -> set[Any]:
    items = schema.get("items")
    return {schema.get("format"), items.get("format") if isinstance(items, Mapping) else None}


def _split(name: str) -> Sequence[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word
