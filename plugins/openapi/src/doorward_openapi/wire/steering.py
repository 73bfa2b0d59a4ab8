"""Headers and fields that override the method, the sender or the destination of a request: programs may not give them.

Servers, proxies and frameworks obey them: `X-HTTP-Method-Override: DELETE` makes a DELETE of a GET that policy allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from doorward import InvalidArguments

_CONNECTION = {
    *(
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "via",
    ),
    *("http2-settings", "cookie", "cookie2", "alt-used"),
}
_METHOD = {"x-http-method", "x-http-method-override", "x-method-override", "x-method"}
_ROUTE = {
    "x-host",
    "x-http-host-override",
    "x-http-destinationurl",
    "x-scheme",
    "x-url-scheme",
    "front-end-https",
    "destination-url",
}
_SENDER = {
    *(
        "x-real-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "x-originating-ip",
        "x-true-client-ip",
        "true-client-ip",
        "cf-connecting-ip",
    ),
    *(
        "cf-connecting-ipv6",
        "fastly-client-ip",
        "x-azure-clientip",
        "x-azure-socketip",
        "remote-user",
        "remote-addr",
        "x-client-cert",
    ),
}
_BEGIN = (
    *(
        "proxy-",
        "forwarded",
        "x-forwarded",
        "x-forward-",
        "x-proxy-",
        "x-original-",
        "x-rewrite-",
        "x-remote-",
        "x-accel-",
        "x-envoy-",
    ),
    *(
        "x-middleware-",
        "x-ssl-",
        "ssl-client-",
        "x-arr-",
        "x-auth-request-",
        "x-authenticated-",
        "x-webauth-",
        "x-amzn-oidc-",
    ),
    *("x-goog-authenticated-", "x-ms-client-principal"),
)
_FIELDS = {"_method", "_httpmethod", "_http_method", "x_http_method", "x_http_method_override", "x_method_override"}
"""Names in queries and forms that frameworks take for the method."""

_MAX_FIELD_CHARS = max(map(len, _FIELDS))


@lru_cache(10_000)  # documents repeat a few of them thousands of times
def plain(header: str) -> str:
    """A header's name as servers see it that turn headers into variables: `X_Api.Key` is `X-Api-Key` to them."""
    return re.sub(r"[^a-z0-9]", "-", header.lower())


def withheld(name: str, where: str, schema: Mapping[str, Any], *, reads: bool) -> bool:
    """Whether programs may not give a parameter or a field of a body. A method field with a single value, in a request
    that writes, is fixed by the document and therefore harmless."""
    if where == "header":
        bare = plain(name)
        return (
            _is_method(bare in _METHOD, schema, reads)
            or bare in _CONNECTION | _ROUTE | _SENDER
            or bare.startswith(_BEGIN)
        )
    return where in ("query", "body") and _is_method(_is_field(name), schema, reads)


def check(names: Iterable[str]) -> None:
    """Raises: InvalidArguments if a name that a program chose for a query or a form is one that
    servers take for the method."""
    if found := next((name for name in names if _is_field(name)), None):
        raise InvalidArguments(f"{found[:100]!r} cannot be given: servers take it for the method of the request")


def check_apart(wire: Mapping[str, Any], value: Mapping[str, Any], data: Mapping[str, Any]) -> None:
    """Raises: InvalidArguments if a member of an object whose members are sent as if they were parameters would be sent
    as another parameter of the function: what is decided by that one would be decided without it."""
    where = wire["in"]
    in_form = where == "body" and data.get("body", {}).get("kind") == "form"
    if wire.get("style") == "deepObject" or not (in_form or where in ("query", "cookie")):
        return
    others = {
        _bare(other["name"]): other["arg"] for other in data["arguments"] if other["in"] == where and other is not wire
    }
    if found := next((key for key in value if _bare(str(key)) in others), None):
        raise InvalidArguments(
            f"{str(found)[:100]!r} in {wire['arg']} would be sent as the argument {others[_bare(str(found))]}",
            hint="Give it as that argument.",
        )


def _bare(name: str) -> str:
    """A name as servers see it that make lists of `name[]`, and know no upper case."""
    return re.split(r"[\[\0]", name, maxsplit=1)[0].strip().casefold()


def keys(value: Any) -> Iterable[str]:
    """The names that a value itself contains, that is an object's members."""
    return map(str, value) if isinstance(value, Mapping) else ()


def names(form: str) -> Iterable[str]:
    """The names in a query or a form that is already encoded."""
    return (name for name, _ in parse_qsl(form.lstrip("?"), keep_blank_values=True))


def _is_field(name: str) -> bool:
    return len(bare := name.partition("\0")[0].strip()) <= _MAX_FIELD_CHARS and _is_short_field(bare)


@lru_cache(10_000)
def _is_short_field(name: str) -> bool:
    return re.sub(r"[^a-z0-9]", "_", name.lower()) in _FIELDS


def _is_method(found: bool, schema: Mapping[str, Any], reads: bool) -> bool:
    values = schema.get("enum")
    fixed = "const" in schema or (isinstance(values, list) and len(values) == 1)
    return found and (reads or not fixed)
