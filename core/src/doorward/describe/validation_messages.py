"""What is wrong with a value, in the words of who wrote it: where, what was expected, and what was given.

Alternatives are explained by the one that was most likely meant, not by all of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from doorward.data.clean_text import visible
from doorward.data.near_names import nearest
from doorward.data.wording import python_types

_CHECKER_ERRORS = {"backtrackLimitExceeded", "regexEngineFailure"}
"""Errors of a check itself: the API will check what it asks for."""

_MAX_SENTENCES = 3
_MAX_NAMES = 6
_MAX_VALUE_CHARS = 120
_MAX_COMPARED_NAMES = 50
"""Names that a missing one is compared with."""


Mistakes = dict[str, Sequence[Any]]
"""Sentences, each with the place among the arguments that it is about."""

Known = Callable[[Sequence[Any]], Collection[str]]
"""The names that an object at a place among the arguments may have, at none those of parameters."""


def mistakes(errors: Iterable[Any], known: Known) -> Mistakes:
    """What the errors of jsonschema_rs say of the arguments of a function.

    What is wrong with the arguments as a whole comes first. Empty if only the checks themselves failed.
    """
    real = sorted((e for e in errors if e.kind.name not in _CHECKER_ERRORS), key=lambda e: (len(e.instance_path), e.kind.name))
    listed = {_path(e.instance_path) for e in real if e.kind.name in ("enum", "const")}
    missing: dict[str, list[str]] = {}
    for error in real:
        if error.kind.name == "required":
            missing.setdefault(_path(error.instance_path), []).append(error.kind.property)
    real = [
        e for e in real if e.kind.name != "type" or _path(e.instance_path) not in listed
    ]  # the values say the type, too
    meant = [
        (visible(_sentence(error, options, known, missing)), _place(error, known))
        for error, options in map(_meant, real)
    ]
    told = dict(reversed(meant))
    first = dict([*reversed(told.items())][:_MAX_SENTENCES])
    return first if len(told) <= _MAX_SENTENCES else {**first, f"and {len(told) - _MAX_SENTENCES} more": ()}


def of_null(error: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether nothing is wrong but a null inside of an argument. APIs answer with nulls of which their documents do not
    speak, and take them back: it is theirs to judge."""
    if error.kind.name in ("anyOf", "oneOf"):
        return any(
            errors and all(of_null(e, arguments) for e in errors)
            for errors in getattr(error.kind, "context", None) or ()
        )
    inside = any(arguments.get(name) is not None for name in list(error.instance_path)[:1])
    return error.instance is None and inside and error.kind.name in ("type", "enum", "const")


def _place(error: Any, known: Known) -> Sequence[Any]:
    """What a mistake is about: of a name that is no parameter's, or of a missing one, the parameter that was meant."""
    names = [] if error.instance_path else _names(error)
    near = _pair(error, names[0], known) if len(names) == 1 else ""
    return [near] if near else error.instance_path


def _names(error: Any) -> list[str]:
    """The names that an object lacks, or that it has too many."""
    if error.kind.name == "required":
        return [error.kind.property]
    return [str(name) for name in error.kind.unexpected] if error.kind.name == "additionalProperties" else []


def _pair(error: Any, name: str, known: Known) -> str:
    """The name that was meant where another one was given, of the two that are near each other; "" if there is none."""
    names = known(error.instance_path)
    if error.kind.name != "required":
        return next(iter(nearest(name, names, 1)), "")
    unknown = [key[:_MAX_VALUE_CHARS] for key in list(error.instance)[:_MAX_COMPARED_NAMES] if key not in names]
    return name if nearest(name, unknown, 1) else ""


def _sentence(error: Any, options: Sequence[Any], known: Known, missing: Mapping[str, Sequence[str]]) -> str:
    path, kind = _path(error.instance_path), error.kind
    if len(options) > 1:
        return f"argument {path}: expected {_one_of(options)}, got {_given(error.instance)}{_near(error.instance, options)}"
    if kind.name == "required":
        needed = missing.get(path, [kind.property])
        listed = _listed(needed[:_MAX_NAMES]) + (f" … ({len(needed) - _MAX_NAMES} more)" if len(needed) > _MAX_NAMES else "")
        if not path:
            return f"needs the argument{'s' if len(needed) > 1 else ''} {listed}"
        near = [pair for name in needed[:_MAX_NAMES] if (pair := _pair(error, name, known))]
        return f"argument {path}: needs {listed}{_did_you_mean(near)}"
    if kind.name == "additionalProperties":
        unknown = [str(name)[:_MAX_VALUE_CHARS] for name in kind.unexpected]
        near = [pair for name in unknown[:10] if (pair := _pair(error, name, known))]
        what = (
            f"argument {path}: has no field {_listed(unknown[:_MAX_NAMES])}"
            if path
            else f"has no parameter {_listed(unknown[:_MAX_COMPARED_NAMES])}"
        )
        return what + _did_you_mean(near)
    told = _told(error)
    return f"argument {path}: {told}" if path else told


def _did_you_mean(near: Iterable[str]) -> str:
    return f"; did you mean {_listed(dict.fromkeys(near))}?" if near else ""


def _meant(error: Any) -> tuple[Any, list[Any]]:
    """The error behind that of alternatives: of the one that fits best, if any has at least the type of the value. If
    it is about what tells them apart, the values that they have there."""
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
    """Whether the value is of another type, or another value, than an alternative wants as a whole."""
    return len(error.instance_path) == depth and error.kind.name in ("type", "enum", "const", "not", "falseSchema")


def _tags(errors: Sequence[Any]) -> int:
    """How many fixed values of an alternative the value does not have: those tell alternatives apart."""
    return sum(map(_is_tag, errors))


def _told(error: Any) -> str:
    kind, given = error.kind, _given(error.instance)
    match kind.name:
        case "type":
            return f"expected {python_types(kind.types)}, got {given}"
        case "enum":
            return f"expected {_one_of(kind.options)}, got {given}{_near(error.instance, kind.options)}"
        case "const":
            return f"expected {_short(kind.expected_value)}, got {given}"
        case "pattern":
            return f"expected a str that matches {kind.pattern[:200]}, got {given}"
        case "anyOf" | "oneOf" if getattr(kind, "context", None):
            return f"expected {_alternatives(kind.context)}, got {given}"
        case "falseSchema" | "not":
            return f"{given} is not allowed"
    return str(error.message)[:300]


def _alternatives(context: Sequence[Sequence[Any]]) -> str:
    """What the alternatives want, all of which want another type or value."""
    types: list[str] = []
    values: list[Any] = []
    for errors in context[:50]:
        for error in errors:
            if error.kind.name == "type":
                types += error.kind.types
            elif _is_tag(error):
                values += _options(error)
    return (
        " or ".join(filter(None, [_one_of(values) if values else "", python_types(types) if types else ""]))
        or "another form"
    )


def _one_of(options: Sequence[Any]) -> str:
    shown = [_short(option) for option in options[:12]]
    rest = len(options) - len(shown)
    return ("one of " if len(options) > 1 else "") + ", ".join(shown) + (f" … ({rest} more)" if rest else "")


def _near(value: Any, options: Sequence[Any]) -> str:
    texts = {str(o).lower(): o for o in options if isinstance(o, str)}
    near = difflib.get_close_matches(str(value)[:_MAX_VALUE_CHARS].lower(), list(texts)[:2000], n=1) if texts else []
    return f"; did you mean {_short(texts[near[0]])}?" if near else ""


def _given(value: Any) -> str:
    match value:
        case None:
            return "None"
        case bool() | int() | float() | str():
            return f"{type(value).__name__} {_short(value)}"
        case list():
            return f"a list of {len(value)}"
        case dict():
            return f"a dict with {_listed(list(value)[:6]) or 'nothing'}"
    return type(value).__name__


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name[:_MAX_VALUE_CHARS]) for name in names)


def _path(path: Sequence[Any]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")[:300]
