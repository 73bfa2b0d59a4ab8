"""What is wrong with arguments, in the terms of the program that gave them: where, what was expected, what was given.

Where a schema has alternatives, only the one that was most likely meant is explained.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from doorward.texts import Mistaken, Mistakes, exceeds, nearest, visible

from doorward_text.dialect import Dialect
from doorward_text.dialects import dialect_of

_CHECKER_ERRORS = {"backtrackLimitExceeded", "regexEngineFailure"}
"""Errors of the checker itself: they are ignored, and the API checks."""

_MAX_SENTENCES = 10
"""Mistakes that are told at once: a program is mended in one go."""
_MAX_NAMES = 6
_MAX_VALUE_CHARS = 120
_MAX_PARTS_FITTED = 10_000
"""Values in an argument that is tried for other parameters."""
_MAX_COMPARED_NAMES = 50
"""Names that a missing name is compared with."""


Known = Callable[[Sequence[Any]], Collection[str]]
"""The names of the fields that an object at a place in the arguments may have; at the empty place, the parameters."""


def mistakes(errors: Iterable[Any], known: Known, language: str = "python") -> Mistakes:
    """The errors of jsonschema_rs about the arguments of a function, as sentences for programs of a language.

    Mistakes in the arguments as a whole come first. Empty if only the checker itself failed.
    """
    terms = _Terms(dialect_of(language))
    real = sorted(
        (e for e in errors if e.kind.name not in _CHECKER_ERRORS), key=lambda e: (len(e.instance_path), e.kind.name)
    )
    listed = {_path(e.instance_path) for e in real if e.kind.name in ("enum", "const")}
    missing: dict[str, list[str]] = {}
    for error in real:
        if error.kind.name == "required":
            missing.setdefault(_path(error.instance_path), []).append(error.kind.property)
    # A list of allowed values shows the type, too.
    real = [e for e in real if e.kind.name != "type" or _path(e.instance_path) not in listed]
    meant = [
        (visible(_sentence(error, options, known, missing, terms)), _place(error, known))
        for error, options in map(_meant, real)
    ]
    told = dict(reversed(meant))
    first = dict([*reversed(told.items())][:_MAX_SENTENCES])
    return first if len(told) <= _MAX_SENTENCES else {**first, f"and {len(told) - _MAX_SENTENCES} more": ()}


def of_call(wrong: Mistaken, fields: Known, language: str) -> Mistakes:
    """The mistakes in the arguments of a call."""
    told = mistakes(wrong.errors, lambda place: fields(place) if place else wrong.names, language)
    return {_renamed(wrong, said, place): place for said, place in told.items()}


def _renamed(wrong: Mistaken, said: str, place: Sequence[Any]) -> str:
    """A mistake about an argument, with the parameter that was probably meant: the value fits it, and its name is
    similar or the same in the API."""
    name, given = place[0] if len(place) == 1 else "", wrong.given
    if name not in given or "did you mean" in said or exceeds(given[name], _MAX_PARTS_FITTED):
        return said
    function = wrong.function
    others = [other for other in function.parameters.get("properties", {}) if other not in given]
    same = [other for other in others if function.names.get(other, other) == function.names.get(name, name)]
    meant = [other for other in [*same, *nearest(name, others, 3)] if wrong.fits(other, given[name])]
    return f"{said}; did you mean {meant[0]!r}?" if meant else said


def _place(error: Any, known: Known) -> Sequence[Any]:
    """The place that a mistake is about. For one unknown or missing name it is the parameter that was meant."""
    names = [] if error.instance_path else _names(error)
    near = _pair(error, names[0], known) if len(names) == 1 else ""
    return [near] if near else error.instance_path


def _names(error: Any) -> list[str]:
    """The names that an object lacks, or that it must not have."""
    if error.kind.name == "required":
        return [error.kind.property]
    return [str(name) for name in error.kind.unexpected] if error.kind.name == "additionalProperties" else []


def _pair(error: Any, name: str, known: Known) -> str:
    """The known name that was meant by a similar unknown one; "" if no two names are similar."""
    if error.kind.name != "required":
        return next(iter(nearest(name, known(error.instance_path), 1)), "")
    return name if _given_as(error, name, known) else ""


def _given_as(error: Any, name: str, known: Known) -> str:
    """The unknown name by which a missing one was probably meant; "" if none is similar."""
    names = known(error.instance_path)
    unknown = [key[:_MAX_VALUE_CHARS] for key in list(error.instance)[:_MAX_COMPARED_NAMES] if key not in names]
    return next(iter(nearest(name, unknown, 1)), "")


def _sentence(
    error: Any, options: Sequence[Any], known: Known, missing: Mapping[str, Sequence[str]], terms: _Terms
) -> str:
    path, kind = _path(error.instance_path), error.kind
    if len(options) > 1:
        near = terms.near(error.instance, options)
        return f"argument {path}: expected {terms.one_of(options)}, got {terms.given(error.instance)}{near}"
    if kind.name == "required":
        needed = missing.get(path, [kind.property])
        more = f" … ({len(needed) - _MAX_NAMES} more)" if len(needed) > _MAX_NAMES else ""
        listed = _listed(needed[:_MAX_NAMES]) + more
        if not path:
            return f"needs the argument{'s' if len(needed) > 1 else ''} {listed}"
        given = [each for name in needed[:_MAX_NAMES] if (each := _given_as(error, name, known))]
        by = f"; did you mean that by {_listed(dict.fromkeys(given))}?" if given else ""
        return f"argument {path}: needs {listed}{by}"
    if kind.name == "additionalProperties":
        unknown = [str(name)[:_MAX_VALUE_CHARS] for name in kind.unexpected]
        pairs = [pair for name in unknown[:10] if (pair := _pair(error, name, known))]
        what = (
            f"argument {path}: has no field {_listed(unknown[:_MAX_NAMES])}"
            if path
            else f"has no parameter {_listed(unknown[:_MAX_COMPARED_NAMES])}"
        )
        return what + _did_you_mean(pairs)
    told = terms.told(error)
    return f"argument {path}: {told}" if path else told


def _did_you_mean(near: Iterable[str]) -> str:
    return f"; did you mean {_listed(dict.fromkeys(near))}?" if near else ""


def _meant(error: Any) -> tuple[Any, list[Any]]:
    """The error of the alternative that fits best, if any alternative has at least the type of the value. If that error
    is about the tag that tells alternatives apart, also the tags of all of them."""
    for _ in range(20):
        if error.kind.name not in ("anyOf", "oneOf") or not getattr(error.kind, "context", None):
            break
        here = len(error.instance_path)
        fitting = [errors for errors in error.kind.context if errors and not any(_misfit(e, here) for e in errors)]
        if not fitting:
            break
        closest = min(fitting, key=lambda errors: (_tags(errors), len(errors)))
        if tag := next((e for e in closest if _is_tag(e)), None):
            there = [e for errors in fitting for e in errors if _is_tag(e) and e.instance_path == tag.instance_path]
            return tag, list({repr(option): option for e in there for option in _options(e)}.values())
        error = max(closest, key=lambda e: len(e.instance_path))
    return error, []


def _is_tag(error: Any) -> bool:
    return error.kind.name in ("const", "enum")


def _options(error: Any) -> Sequence[Any]:
    return error.kind.options if error.kind.name == "enum" else [error.kind.expected_value]


def _misfit(error: Any, depth: int) -> bool:
    """Whether an alternative rejects the value as a whole: its type, or the value itself."""
    return len(error.instance_path) == depth and error.kind.name in ("type", "enum", "const", "not", "falseSchema")


def _tags(errors: Sequence[Any]) -> int:
    """How many of the fixed values that tell alternatives apart are missing from the value."""
    return sum(map(_is_tag, errors))


class _Terms:
    """What a value is and should be, in the words of a language."""

    def __init__(self, words: Dialect) -> None:
        self._words = words

    def told(self, error: Any) -> str:
        kind, given = error.kind, self.given(error.instance)
        match kind.name:
            case "type":
                return f"expected {self._types(kind.types)}, got {given}"
            case "enum":
                return f"expected {self.one_of(kind.options)}, got {given}{self.near(error.instance, kind.options)}"
            case "const":
                return f"expected {self._short(kind.expected_value)}, got {given}"
            case "pattern":
                return f"expected a {self._words.types['string']} that matches {kind.pattern[:200]}, got {given}"
            case "anyOf" | "oneOf" if getattr(kind, "context", None):
                return f"expected {self._alternatives(kind.context)}, got {given}"
            case "falseSchema" | "not":
                return f"{given} is not allowed"
        return str(error.message)[:300]

    def _alternatives(self, context: Sequence[Sequence[Any]]) -> str:
        """The types and values that alternatives want, where the value has none of them."""
        types: list[str] = []
        values: list[Any] = []
        for errors in context[:50]:
            for error in errors:
                if error.kind.name == "type":
                    types += error.kind.types
                elif _is_tag(error):
                    values += _options(error)
        wanted = [self.one_of(values) if values else "", self._types(types) if types else ""]
        return " or ".join(filter(None, wanted)) or "another form"

    def one_of(self, options: Sequence[Any]) -> str:
        shown = [self._short(option) for option in options[:12]]
        rest = len(options) - len(shown)
        return ("one of " if len(options) > 1 else "") + ", ".join(shown) + (f" … ({rest} more)" if rest else "")

    def near(self, value: Any, options: Sequence[Any]) -> str:
        texts = {str(o).lower(): o for o in options if isinstance(o, str)}
        asked = str(value)[:_MAX_VALUE_CHARS].lower()
        near = difflib.get_close_matches(asked, list(texts)[:2000], n=1) if texts else []
        return f"; did you mean {self._short(texts[near[0]])}?" if near else ""

    def given(self, value: Any) -> str:
        match value:
            case None:
                return self._words.null
            case bool() | int() | float() | str():
                kind = {bool: "boolean", int: "integer", float: "number", str: "string"}[type(value)]
                return f"{self._words.types[kind]} {self._short(value)}"
            case list():
                return f"{self._words.a_list} of {len(value)}"
            case dict():
                return f"{self._words.a_dict} with {_listed(list(value)[:6]) or 'nothing'}"
        return type(value).__name__

    def _types(self, types: Iterable[str]) -> str:
        """Types of JSON as an annotation: their union."""
        names = dict.fromkeys(self._words.types.get(each, each) for each in types)
        return " | ".join(sorted(names, key=lambda name: name == self._words.null))

    def _short(self, value: Any) -> str:
        text = self._words.shown(value)
        return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name[:_MAX_VALUE_CHARS]) for name in names)


def _path(path: Sequence[Any]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")[:300]
