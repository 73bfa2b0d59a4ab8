"""The arguments of a call → an HTTP request. A program's values are data: they cannot change the host or the path
beyond its variables, and cannot add headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from doorward import InvalidArguments

from doorward_openapi.calls import payload
from doorward_openapi.wire import paths, steering, styles

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request, fully encoded. Credentials and configured headers are added later. `path` is the part after
    the base URL's own path."""

    method: str
    url: str
    path: str
    headers: dict[str, bytes] = field(default_factory=dict)
    content: bytes | None = None


def build(base: str, data: Mapping[str, Any], arguments: Mapping[str, Any]) -> Request:
    """The request of a function's `data` and the arguments of a call.

    Raises: InvalidArguments.
    """
    headers = {"Accept": str(data.get("accept", "*/*")).encode()}
    path: dict[str, str] = {}
    query: list[str] = []
    cookies: list[str] = []
    body: list[payload.Field] = []
    bodily = data.get("body", {}).get("required") or any(
        w["in"] == "body" and w["arg"] in arguments for w in data["arguments"]
    )
    for wire in data["arguments"]:
        name, value = wire["name"], arguments.get(wire["arg"])
        if value is None and "known" in wire and (wire["in"] != "body" or bodily):
            value = wire["known"]
        elif wire["arg"] not in arguments:
            continue
        if isinstance(value, dict) and wire.get("explode"):
            steering.check_apart(wire, value, data)
        if "base64" in wire:
            value = payload.in_base64(value, wire["base64"])
        match wire["in"]:
            case "path":
                path[name] = _path_value(wire, value)
            case "query":
                steering.check(steering.keys(value))
                query += styles.pairs(name, value, wire, "query")
            case "querystring":
                query += _query_string(wire, value)
            case "header" if (told := styles.in_header(value, wire)) is not None:
                headers[name] = _header(wire["arg"], told)
            case "cookie":
                cookies += _cookies(wire, value)
            case "body":
                body.append((wire, value))
    if cookies:
        headers["Cookie"] = _header("a cookie", "; ".join(cookies))
    if extra := arguments.keys() - {
        wire["arg"] for wire in data["arguments"]
    }:  # the operator allows additional members
        steering.check(extra)
        if received := extra & set(data.get("body", {}).get("received", ())):
            raise InvalidArguments(f"{', '.join(sorted(received))[:200]} cannot be given: the document says `readOnly`")
        body += [({"name": name, "explode": True}, arguments[name]) for name in arguments if name in extra]
    content = None
    chosen = headers.pop("Content-Type", b"").decode() or None
    if "body" in data and (built := payload.build(data["body"], body, chosen)):
        headers["Content-Type"], content = built[0].encode(), built[1]
    written, fixed = paths.filled(data["path"], path)
    return Request(data["method"], _url(base, written, [fixed, *query] if fixed else query), written, headers, content)


@lru_cache(256)
def _root(base: str) -> str:
    """The beginning of every URL that has the origin of this one."""
    parts = urlsplit(base)
    return f"{parts.scheme}://{parts.netloc}/"


def _url(base: str, path: str, query: list[str]) -> str:
    url = f"{base.rstrip('/')}/{path.removeprefix('/')}" + (f"?{'&'.join(query)}" if query else "")
    if not url.startswith(_root(base)):
        raise InvalidArguments("the path would lead to another server")
    return url


def _path_value(wire: Mapping[str, Any], value: Any) -> str:
    written = styles.in_path(wire["name"], value, wire)
    if not written or not unquote(written).strip("/\\"):
        raise InvalidArguments(f"{wire['arg']} is part of the path and must not be empty")
    return written


def _query_string(wire: Mapping[str, Any], value: Any) -> list[str]:
    """A parameter that is the whole query (3.2 `in: querystring`): JSON, or an object as a form."""
    if value is None:
        return []
    if wire.get("json"):
        return [styles.encoded(styles.dumped(value), "query")]
    steering.check(steering.keys(value) if isinstance(value, dict) else steering.names(styles.text(value)))
    if isinstance(value, dict):
        return [pair for k, v in value.items() for pair in styles.pairs(str(k), v, {"explode": True}, "form")]
    return [styles.encoded(styles.text(value), "query", reserved=True).replace("%26", "&").replace("%2B", "+")]


def _header(argument: str, value: str) -> bytes:
    if _CONTROL.search(value):
        raise InvalidArguments(f"{argument} goes into a header and must not hold line breaks or control characters")
    try:
        return value.strip().encode()
    except UnicodeEncodeError:
        raise InvalidArguments(f"{argument} holds half of a surrogate pair, which cannot be sent") from None


def _cookies(wire: Mapping[str, Any], value: Any) -> list[str]:
    """`name=value` pairs. The pairs of an exploded value stay separate, as servers read them,
    and are not joined by `&`."""
    if wire.get("style") != "cookie":
        return styles.pairs(wire["name"], value, wire, "cookie")
    found = styles.pairs(wire["name"], value, wire, "plain")
    if any(_CONTROL.search(pair) or ";" in pair for pair in found):
        raise InvalidArguments(f"{wire['arg']} goes into a cookie and must not hold semicolons or control characters")
    return found
