"""How values are written in paths, queries, headers, cookies and forms (OpenAPI 3.x "Style Values", RFC 6570)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from doorward import InvalidArguments

from doorward_openapi.values import wire_text

Encode = Callable[[str], str]

_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}


def url(text: str) -> str:
    """Percent-encoded but for letters, digits and `-._~`."""
    return _quoted(quote, text, "")


def reserved(text: str) -> str:
    """As `allowReserved` wants it, but for what would end a value: `# & + = [ ]`."""
    return _quoted(quote, text, "/:?@!$'()*,;")


def form(text: str) -> str:
    """As in `application/x-www-form-urlencoded`."""
    return _quoted(quote_plus, text, "")


def plain(text: str) -> str:
    return text


def _quoted(function: Callable[..., str], text: str, safe: str) -> str:
    try:
        return function(text, safe=safe)
    except UnicodeEncodeError:
        raise InvalidArguments("a text holds half of a surrogate pair, which cannot be sent") from None


def dumped(value: Any) -> str:
    """Compact JSON.

    Raises: InvalidArguments if the value is none, NaN and infinities included.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(f"a value cannot be sent as JSON: {str(error)[:200]}") from None


def text(value: Any) -> str:
    """A scalar as it is; anything nested as JSON."""
    if isinstance(value, (dict, list)):
        return dumped(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return wire_text(value)


def pairs(name: str, value: Any, wire: Mapping[str, Any], encode: Encode) -> list[str]:
    """`name=value` pairs, encoded, of a query or a form; none for None."""
    if value is None:
        return []
    key, style, explode = encode(name), wire.get("style"), wire.get("explode", False)
    if wire.get("json"):
        return [f"{key}={encode(dumped(value))}"]
    if style == "deepObject" and isinstance(value, (dict, list)):
        return [f"{encode(path)}={encode(scalar)}" for path, scalar in _deep(name, value, 0)]
    if isinstance(value, dict):
        members = [(encode(str(k)), encode(text(v))) for k, v in value.items() if v is not None]
        if explode:
            return [f"{k}={v}" for k, v in members]
        return [f"{key}={_DELIMITERS.get(str(style), ',').join(part for member in members for part in member)}"]
    if isinstance(value, list):
        items = [encode(text(item)) for item in value if item is not None]
        if explode:
            return [f"{key}={item}" for item in items]
        return [f"{key}={_DELIMITERS.get(str(style), ',').join(items)}"]
    return [f"{key}={encode(text(value))}"]


def _deep(path: str, value: Any, depth: int) -> list[tuple[str, str]]:
    """`filter[a][b]=1`: nesting beyond one level, which OpenAPI leaves open, as most servers read it."""
    if depth > 20:
        raise InvalidArguments(f"{path.partition('[')[0]} is nested too deeply")
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not isinstance(value, (dict, list)):
        return [] if value is None else [(path, text(value))]
    return [pair for key, member in members for pair in _deep(f"{path}[{key}]", member, depth + 1)]


def in_path(name: str, value: Any, wire: Mapping[str, Any]) -> str:
    """A path value in the style simple, label or matrix. Everything in it is encoded, slashes included."""
    style, explode = wire.get("style", "simple"), wire.get("explode", False)
    if wire.get("json"):
        return url(dumped(value))
    key = url(name)
    if isinstance(value, dict):
        members = [(url(str(k)), url(text(v))) for k, v in value.items()]
        parts = [f"{k}={v}" for k, v in members] if explode else [part for member in members for part in member]
        named = explode
    else:
        parts = [url(text(v)) for v in (value if isinstance(value, list) else [value])]
        named = False
    if style == "label":
        return "." + ("." if explode else ",").join(parts)
    if style == "matrix":
        if explode:
            return "".join(f";{part}" if named else f";{key}={part}" for part in parts)
        return f";{key}={','.join(parts)}"
    return ",".join(parts)


def in_header(value: Any, wire: Mapping[str, Any]) -> str:
    """A header value in the style simple; nothing is encoded."""
    if wire.get("json"):
        return dumped(value)
    if isinstance(value, dict):
        return ",".join(f"{k}={text(v)}" if wire.get("explode") else f"{k},{text(v)}" for k, v in value.items())
    return ",".join(map(text, value)) if isinstance(value, list) else text(value)
