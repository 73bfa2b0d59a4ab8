"""How values are written in paths, queries, headers, cookies and forms (OpenAPI 3.x "Style Values", RFC 6570).

Values that are undefined by RFC 6570 (null, empty lists and objects) are left out.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import quote, quote_plus

from doorward import File, InvalidArguments

from doorward_openapi.document.values import wire_text

Place = Literal["path", "query", "form", "cookie", "plain"]
"""The place of a text, which decides which characters must be encoded; in `plain`, none are."""

_MAX_DEPTH = 20
_TRIPLE = re.compile(r"(%[0-9A-Fa-f]{2})")
_RESERVED = {"path": ":@!$&'()*+,;=", "query": "/:?@!$'()*,;=", "form": "/:?@!$'()*,;=", "cookie": "/:?@!$'()*="}
"""Characters that `allowReserved` leaves as they are, except for those that would end a value there."""

_COMMA = (",", ",")
_DELIMITERS = {"spaceDelimited": ("%20", " "), "pipeDelimited": ("%7C", "|"), "tabDelimited": ("%09", "\t")}


def encoded(text: str, place: Place, *, reserved: bool = False) -> str:
    """Percent-encode everything but letters, digits and `-._~`; a form's spaces become `+`.

    `reserved` leaves reserved characters, and what is already encoded, as they are (RFC 6570 section 3.2.3).
    Raises: InvalidArguments for half a surrogate pair.
    """
    if place == "plain":
        return text
    quoted = quote_plus if place == "form" else quote
    try:
        if not reserved:
            return quoted(text, safe="")
        parts = enumerate(_TRIPLE.split(text))
        return "".join(part if i % 2 else quoted(part, safe=_RESERVED[place]) for i, part in parts)
    except UnicodeEncodeError:
        raise InvalidArguments("a text holds half of a surrogate pair, which cannot be sent") from None


def dumped(value: Any, *, ascii: bool = False) -> str:
    """Compact JSON, with bytes and files as base64. Raises: InvalidArguments if the value cannot be JSON, as
    NaN and infinities cannot."""
    try:
        return json.dumps(value, ensure_ascii=ascii, allow_nan=False, separators=(",", ":"), default=base64)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(f"a value cannot be sent as JSON: {str(error)[:200]}") from None


def base64(value: Any) -> str:
    content = value.content if isinstance(value, File) else value
    if not isinstance(content, bytes):
        raise TypeError(f"{type(value).__name__} is no JSON")
    return b64encode(content).decode()


def text(value: Any) -> str:
    """A scalar as text, anything nested as JSON. Raises: InvalidArguments for bytes that are not UTF-8."""
    if isinstance(value, (dict, list)):
        return dumped(value)
    content = value.content if isinstance(value, File) else value
    if isinstance(content, bytes):
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise InvalidArguments(
                "bytes that are no UTF-8 text cannot be sent there", hint="Send them as base64 text."
            ) from None
    return wire_text(value)


def members(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The members of an object as texts, without those that are null."""
    return [(str(k), text(v)) for k, v in value.items() if v is not None]


def pairs(name: str, value: Any, wire: Mapping[str, Any], place: Place) -> list[str]:
    """Encoded `name=value` pairs for a query, a form or cookies. `wire` says how the parameter is written."""
    return [f"{encoded(k, place)}={v}" for k, v in named(name, value, wire, place)]


def named(name: str, value: Any, wire: Mapping[str, Any], place: Place) -> list[tuple[str, str]]:
    """Pairs of a plain name and an encoded value."""

    def encode(part: str) -> str:
        return encoded(part, place, reserved=wire.get("reserved") is True)

    if value is None:
        return []
    style, explode = str(wire.get("style")), wire.get("explode", False)
    if wire.get("json"):
        return [(name, encode(dumped(value)))]
    if wire.get("text") or not isinstance(value, (dict, list)):
        return [(name, encode(text(value)))]
    if style == "deepObject":
        found = [(path, encode(scalar)) for path, scalar in _deep(name, value, 0)]
    elif isinstance(value, dict):
        found = [(k, encode(v)) for k, v in members(value)]
    else:
        found = [(name, encode(text(item))) for item in value if item is not None]
    if not found:
        return [(name, "")] if wire.get("empty") else []
    if explode or style == "deepObject":
        return found
    parts = [part for k, v in found for part in (encode(k), v)] if isinstance(value, dict) else [v for _, v in found]
    return [(name, _DELIMITERS.get(style, _COMMA)[place == "plain"].join(parts))]


def _deep(path: str, value: Any, depth: int) -> list[tuple[str, str]]:
    """`filter[a][b]=1`, `expand[0]=x`: deeper nesting and lists, which OpenAPI leaves open, are written as Stripe's own
    clients do it and most servers read it."""
    if depth > _MAX_DEPTH:
        raise InvalidArguments(f"{path.partition('[')[0]} is nested too deeply")
    if not isinstance(value, (dict, list)):
        return [] if value is None else [(path, text(value))]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [pair for key, member in items for pair in _deep(f"{path}[{key}]", member, depth + 1)]


def in_path(name: str, value: Any, wire: Mapping[str, Any]) -> str | None:
    """A path value in the style simple, label or matrix, with slashes encoded if it must stay one part; `None` if
    there is nothing to write."""
    style, explode = wire.get("style", "simple"), wire.get("explode", False)

    def encode(part: str) -> str:
        return encoded(part, "path", reserved=wire.get("reserved") is True)

    if wire.get("slashes"):
        return "/".join(encoded(part, "path", reserved=True) for part in text(value).strip("/").split("/"))

    def pair(key: str, given: str) -> str:
        return f"{key}={given}" if given or style != "matrix" else key

    if wire.get("json") or wire.get("text"):
        return encode(dumped(value) if wire.get("json") else text(value))
    join, whole = _joined(value, explode, encode, pair)
    if not whole:
        return None
    key = encoded(name, "path")
    if style == "label":
        return "." + ("." if explode else ",").join(whole)
    if style == "matrix":
        return "".join(
            f";{part}" if join else f";{pair(key, part)}" for part in (whole if explode else [",".join(whole)])
        )
    return _DELIMITERS.get(style, _COMMA)[0].join(whole)


def _joined(
    value: Any, explode: bool, encode: Callable[[str], str], pair: Callable[[str, str], str]
) -> tuple[bool, list[str]]:
    """Whether the parts of a value have names of their own, and the parts."""
    if not isinstance(value, dict):
        return False, [encode(text(v)) for v in (value if isinstance(value, list) else [value]) if v is not None]
    found = [(encode(k), encode(v)) for k, v in members(value)]
    return explode, [pair(k, v) for k, v in found] if explode else [part for member in found for part in member]


def in_header(value: Any, wire: Mapping[str, Any]) -> str | None:
    """A header value in the style simple, which encodes nothing; `None` if there is nothing to write."""
    if value is None or wire.get("json"):
        return None if value is None else dumped(value, ascii=True)
    if wire.get("text") or not isinstance(value, (dict, list)):
        return text(value)
    _, parts = _joined(value, wire.get("explode", False), str, lambda k, v: f"{k}={v}")
    return _DELIMITERS.get(str(wire.get("style")), _COMMA)[1].join(parts) if parts else None
