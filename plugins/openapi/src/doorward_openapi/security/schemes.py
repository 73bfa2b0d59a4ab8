"""One security scheme → the ways to satisfy it. Everything that is taken from a document here ends up in a
configuration file: it is checked and bounded, and cannot name a variable."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from doorward.values import escaped

from doorward_openapi.document import servers

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
"""The name of a header or a cookie (RFC 9110 section 5.6.2)."""

_PARAMETER = re.compile(r"[\x21-\x7e]{1,100}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
"""RFC 6749 section 3.3."""

_URL = re.compile(
    r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9/._~%!$&'()*+,;=:@-]*)?(\?[A-Za-z0-9/._~%!$&'()*+,;=:@?-]*)?"
)
_LOOPBACK = ("127.0.0.1", "::1", "localhost")

_FRAMING = ("host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer")
"""Headers that carry no key but change the framing of a request."""

_BEARER = re.compile(r"(?i)\bbearer\b")
_WORD = re.compile(
    r"""(?ix) (?: (?: authorization ["'`*]{0,3} \s{0,3} [:=] \s{0,3} | ["'`] ) ["'`*]{0,3} (?=\S{3,10}\s)
    | (?:prepend|prefix) \w{0,5} \s (?:with|by) \s ["'`] )
    (token|api-?key|key|bot|geniekey|ssws|oauth) (?: \s+ [<{\[$\w] | ["'`] )"""
)
"""The word before a credential, as it appears in descriptions of an apiKey in the header Authorization."""

_MAX_SCOPES = 20
"""Nobody would request more at once: longer lists are left out, and the operator names the scopes that are wanted."""

_FLOWS = {
    "application": "clientCredentials",
    "accessCode": "authorizationCode",
    "password": "password",
    "implicit": "implicit",
}
"""The flows of Swagger 2.0 by their names in 3.0."""

_OURS = {
    "clientCredentials": ("client_credentials", "OAuth 2 with client credentials"),
    "authorizationCode": ("authorization_code", "OAuth 2 with a login (authorization code), by `doorward login {}`"),
    "deviceAuthorization": ("device_code", "OAuth 2 with a login (device code), by `doorward login {}`"),
    "password": ("password", "OAuth 2 with a password"),
}


@dataclass(frozen=True, slots=True)
class Home:
    """The API's URL, to which relative URLs refer, and the URLs whose origins may receive secrets, which the document
    does not decide. `configured`: the operator has set the API's URL, without which no token can be fetched."""

    api: str = ""
    trusted: Collection[str] = ()
    configured: bool = True


@dataclass(frozen=True, slots=True)
class Way:
    """A table for `auth` and its description; the place in a request that it fills, for two cannot share one; and
    how much effort it takes."""

    table: Mapping[str, Any]
    says: str
    place: str
    trouble: int
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scheme:
    """A security scheme. `header` (lower case) is the header that carries it, if any; `unsupported` says what the
    scheme is if it cannot be satisfied."""

    name: str
    kind: str
    node: Mapping[str, Any]
    header: str = ""
    unsupported: str = ""

    @classmethod
    def read(cls, name: str, node: Mapping[str, Any]) -> Scheme:
        kind, scheme = node.get("type"), str(node.get("scheme")).lower()[:100]
        if kind == "basic" or (kind == "http" and scheme == "basic"):
            return cls(name, "basic", node, "authorization")
        if kind == "http" and scheme == "bearer":
            return cls(name, "bearer", node, "authorization")
        if kind == "http":
            return cls(
                name, "http", node, unsupported=f"HTTP {scheme if _TOKEN.fullmatch(scheme) else 'of a kind of its own'}"
            )
        if kind == "apiKey":
            return cls._key(name, node)
        if kind in ("oauth2", "openIdConnect"):
            return cls(name, kind, node, "authorization")
        return cls(name, "", node, unsupported="mutual TLS" if kind == "mutualTLS" else "a scheme of an unknown type")

    @classmethod
    def _key(cls, name: str, node: Mapping[str, Any]) -> Scheme:
        if "awsSigv4" in str(node.get("x-amazon-apigateway-authtype")):
            return cls(name, "apiKey", node, unsupported="the AWS signature")
        key, where = node.get("name"), node.get("in")
        allowed = _PARAMETER if where == "query" else _TOKEN if where in ("header", "cookie") else None
        if allowed is None or not isinstance(key, str) or not allowed.fullmatch(key) or key.lower() in _FRAMING:
            return cls(name, "apiKey", node, unsupported="an API key whose place cannot be understood")
        return cls(name, "apiKey", node, key.lower() if where == "header" else "")


class Names:
    """The variables of one suggestion: `${SERVER_KEY}`, then `${SERVER_KEY_2}` for another key. They are derived from
    the server's name alone, so that no document can ask for a variable that exists for something else."""

    def __init__(self, server: str) -> None:
        self.server = server
        self._prefix = re.sub(r"\W", "_", server, flags=re.ASCII).upper()
        self._taken: dict[str, int] = {}

    def of(self, what: str) -> str:
        self._taken[what] = number = self._taken.get(what, 0) + 1
        return f"${{{self._prefix}_{what}{f'_{number}' if number > 1 else ''}}}"


def ways(scheme: Scheme, names: Names, home: Home, scopes: list[str]) -> Iterator[Way]:
    """The ways to satisfy a scheme, the best first; `scopes` are those that the operations need."""
    match scheme.kind:
        case "basic":
            username, password = names.of("USERNAME"), names.of("PASSWORD")
            yield Way(
                {"type": "basic", "username": username, "password": password},
                "a user and a password",
                "authorization",
                2,
            )
        case "bearer":
            yield Way({"type": "jwt", "token": names.of("TOKEN")}, "a bearer token", "authorization", 0)
        case "apiKey":
            yield _key(scheme, names)
        case "oauth2" | "openIdConnect":
            yield from _oauth2(scheme, names, home, scopes)


def _key(scheme: Scheme, names: Names) -> Way:
    name, where = scheme.node["name"], scheme.node["in"]
    if scheme.header == "authorization":
        return _authorization(scheme.node.get("description"), names)
    table = (
        {"type": "api_key", "name": escaped(name)}
        | ({} if where == "header" else {"in": where})
        | {"value": names.of("KEY")}
    )
    place = {"header": "the header", "query": "the query parameter", "cookie": "the cookie"}[where]
    return Way(table, f"an API key in {place} {name}", f"{where} {name.lower()}", 1 if where == "header" else 3)


def _authorization(description: Any, names: Names) -> Way:
    """An apiKey in the header Authorization: only its description may tell which word stands before the key."""
    text = description[:5000] if isinstance(description, str) else ""
    if found := _WORD.search(text):
        says = f"the header Authorization: {found[1]} …"
        return Way({"type": "static", "value": f"{found[1]} {names.of('TOKEN')}"}, says, "authorization", 1)
    if _BEARER.search(text):
        return Way({"type": "jwt", "token": names.of("TOKEN")}, "a bearer token", "authorization", 0)
    says = "the whole value of the header Authorization"
    return Way({"type": "static", "value": names.of("AUTHORIZATION")}, says, "authorization", 1)


def _oauth2(scheme: Scheme, names: Names, home: Home, scopes: list[str]) -> Iterator[Way]:
    """The ways to satisfy OAuth 2, one for each flow; an existing token will always do as well."""
    wanted = [escaped(s) for s in scopes if _SCOPE.fullmatch(s)]
    scope = {"scope": wanted} if 0 < len(wanted) <= _MAX_SCOPES else {}
    if issuer := _issuer(scheme.node, home):
        table = {"type": "oauth2", "issuer": issuer, **scope}
        yield Way(
            table,
            _says("OAuth 2 with a login (OpenID Connect), by `doorward login {}`", names, home),
            "authorization",
            5,
            _elsewhere([issuer], home),
        )
    flows = _flows(scheme.node)
    client: dict[str, Any] = {"client_id": names.of("CLIENT_ID"), "client_secret": names.of("CLIENT_SECRET")}
    for trouble, (name, (ours, says)) in enumerate(_OURS.items(), 4):
        flow = flows.get(name)
        urls = _urls(flow, name, home) if isinstance(flow, Mapping) else None
        if urls:
            table = {"type": "oauth2", "flow": ours, **urls, **client}
            if name == "password":
                table |= {"username": names.of("USERNAME"), "password": names.of("PASSWORD")}
            yield Way(
                table | scope,
                _says(says, names, home),
                "authorization",
                trouble,
                _elsewhere([*urls.values()], home),
            )
    yield Way(
        {"type": "jwt", "token": names.of("TOKEN")},
        "an access token that you have, as a bearer token",
        "authorization",
        9,
    )


def _says(says: str, names: Names, home: Home) -> str:
    there = f" (the document says {home.api})" if home.api else ""
    return says.format(names.server) + ("" if home.configured else f", once base_url is set{there}")


def _flows(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """The flows of a scheme; in 2.0 the scheme itself is the flow."""
    flow = node.get("flow")
    if isinstance(flow, str) and flow in _FLOWS:
        return {_FLOWS[flow]: node}
    flows = node.get("flows")
    return flows if isinstance(flows, Mapping) else {}


def _urls(flow: Mapping[str, Any], name: str, home: Home) -> dict[str, str] | None:
    """The URLs of a flow by the names of our settings; `None` if one is missing or unusable."""
    wanted = {"token_url": "tokenUrl"}
    if name == "authorizationCode":
        wanted["authorization_url"] = "authorizationUrl"
    if name == "deviceAuthorization":
        wanted["device_authorization_url"] = "deviceAuthorizationUrl"
    found = {ours: url for ours, theirs in wanted.items() if (url := _url(flow.get(theirs), home))}
    return found if len(found) == len(wanted) else None


def _issuer(node: Mapping[str, Any], home: Home) -> str:
    """The issuer, if the URL of the well-known document tells it: OpenID Connect Discovery, or RFC 8414
    (`oauth2MetadataUrl`, 3.2)."""
    for key, known in (
        ("openIdConnectUrl", "openid-configuration"),
        ("oauth2MetadataUrl", "oauth-authorization-server"),
    ):
        url = _url(node.get(key), home)
        before, mark, behind = url.partition(f"/.well-known/{known}")
        if mark and "?" not in url and not (behind and urlsplit(before).path):
            return before + behind
    return ""


def _url(url: Any, home: Home) -> str:
    """A URL to which credentials may be sent (https or loopback), resolved against the API's URL; else empty."""
    if not isinstance(url, str) or not re.fullmatch(r"[\x21-\x7e]{1,500}", url):
        return ""
    try:
        whole = urljoin(f"{home.api.rstrip('/')}/", url) if home.api else url
        scheme, host, _ = servers.origin(whole)
    except ValueError:
        return ""
    return escaped(whole) if _URL.fullmatch(whole) and (scheme == "https" or host in _LOOPBACK) else ""


def _elsewhere(urls: list[str], home: Home) -> tuple[str, ...]:
    return tuple(url for url in urls if not servers.among(url, home.trusted))
