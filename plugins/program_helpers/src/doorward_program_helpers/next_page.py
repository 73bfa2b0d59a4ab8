"""Finds the next page where the source gives none: the answer has `next_range`, and the function takes `range`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from doorward.administration import fits_parameter
from doorward.texts import MAX_KEY_CHARACTERS, clean
from doorward_text import items_of

if TYPE_CHECKING:
    from doorward import Function, Gateway

MAX_VALUE_CHARS = 8000
"""Characters of a value that can ask for the next page."""

_HAS_MORE_NAMES = {"more", "hasmore", "hasnext", "hasnextpage", "ismore", "moreavailable"}
_NEXT_NAMES = re.compile(
    "next(page|batch)?(|cursor|token|id|number|link|url|uri|href|path|offset|start|from|skip|index|position|range|row|key|marker|after|args|arguments)"
)
"""Names of fields about a next page, whatever the function, as `_plain` writes them."""

_EMPTY_VALUES: tuple[Any, ...] = (None, "", False, [], {})


def following(
    gateway: Gateway, principal: str, name: str, arguments: Mapping[str, Any], value: Any
) -> tuple[dict[str, Any] | None, str]:
    """The arguments for the page after this answer: argument `x` gets the value of `next_x` in the answer. If there are
    none although there is a next page: the reason, as in `Reply.left`. Raises: UnknownName."""
    function = gateway.broker.functions.find(name, principal)
    if not isinstance(value, dict):
        return None, ""
    told = {
        key: inner
        for key, inner in value.items()
        if isinstance(key, str) and len(key) <= MAX_KEY_CHARACTERS and inner not in _EMPTY_VALUES
    }
    if any(_plain(key) in _HAS_MORE_NAMES and inner is False for key, inner in value.items()):
        return None, ""
    ours = {original: name for name, original in function.names.items()}
    given = {ours.get(name, name): inner for name, inner in arguments.items()}
    found = dict(_changes(function, told, gateway))
    if {**given, **found} == given:
        why = "it is what was asked for" if found else "the function has no parameter that fits it"
    elif function.route and not function.read_only:  # most MCP tools do not say whether they change something
        why = "the function may change something"
    else:
        return {**given, **found}, ""
    if items_of(value) is None:
        return None, ""
    left = next(
        (
            key
            for key, inner in told.items()
            if (_plain(key) in _HAS_MORE_NAMES and inner is True) or _NEXT_NAMES.fullmatch(_plain(key))
        ),
        None,
    )
    return None, f"the answer has {clean(left, MAX_KEY_CHARACTERS)}, but {why}" if left else ""


def _changes(function: Function, told: Mapping[str, Any], gateway: Gateway) -> Iterator[tuple[str, Any]]:
    """Parameters with the new values that an answer has for them."""
    parameters = {_plain(name): name for name in function.parameters.get("properties", {})}
    for key, inner in told.items():
        plain = _plain(key)
        name = parameters.get(plain.removeprefix("next")) or parameters.get(plain) if plain.startswith("next") else None
        if (
            name is None
            or not isinstance(inner, (str, int, float))
            or (isinstance(inner, str) and len(inner) > MAX_VALUE_CHARS)
        ):
            continue
        said = (
            inner,
            str(inner),
            int(inner) if isinstance(inner, str) and inner.isdecimal() and len(inner) < 18 else inner,
        )
        if (
            fitting := next((each for each in said if fits_parameter(function, name, each, gateway.catalog)), None)
        ) is not None:
            yield name, fitting


def _plain(name: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())
