"""Where requests go: base URLs from `servers` (3.x) or from `host`, `basePath` and `schemes` (2.0), and origins."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from doorward import ConfigError
from doorward_http import not_public_name

_VARIABLE = re.compile(r"\{([^{}]{1,200})\}")
_PORTS = {"http": 80, "https": 443}
_PLAIN_ORIGIN = re.compile(r"(https?)://([A-Za-z0-9.-]+)(?::([0-9]{1,5}))?(?=[/?#]|\Z)")
"""What most URLs begin with, which needs no parser."""
_PLAIN_URL = re.compile(r"https?://[^/?#\s]+([^?#\s]*)(?:\?([^#\s]*))?")
_BARE_HOST = re.compile(
    r"(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}(?=/|\Z)|(?!v\d)[A-Za-z0-9-][A-Za-z0-9.-]*\.[A-Za-z]{2,}(?=/|\Z)"
)
"""How a URL begins whose scheme was forgotten: with a host and a port, or with a name that ends like a domain."""


def origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port (RFC 6454).

    Raises: ValueError if it is not an http(s) URL.
    """
    if (plain := _PLAIN_ORIGIN.match(url)) and int(plain[3] or 0) < 2**16:
        return plain[1], plain[2].lower(), int(plain[3] or 0) or _PORTS[plain[1]]
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if parts.scheme not in _PORTS or not host:
        raise ValueError(f"{shown(url)!r} is no http or https URL")
    return parts.scheme, host, parts.port or _PORTS[parts.scheme]


def origin_of(url: str) -> str:
    """The beginning of an absolute URL up to its path: `https://api.example.com:8443`."""
    return "/".join(url.split("/", 3)[:3])


def with_scheme(url: str, document_url: str = "") -> str:
    """A URL whose scheme was forgotten (`127.0.0.1:8604/api`), with one: the document's if it is from that host, http
    for an address of this network, else https. Any other text unchanged."""
    if url.startswith("//") and not document_url.startswith("http"):
        return f"https:{url}"
    if not (bare := _BARE_HOST.match(url)):
        return url
    if document_url.startswith("http") and urlsplit(document_url).netloc.lower() == bare[0].lower():
        return f"{urlsplit(document_url).scheme}://{url}"
    return f"{'http' if not_public_name(urlsplit(f'//{bare[0]}').hostname or '') else 'https'}://{url}"


def path_and_query(url: str) -> tuple[str, str]:
    """Raises: ValueError if it is no URL."""
    if plain := _PLAIN_URL.fullmatch(url):
        return plain[1], plain[2] or ""
    parts = urlsplit(url)
    return parts.path, parts.query


def same_origin(one: str, other: str) -> bool:
    try:
        return origin(one) == origin(other)
    except ValueError:
        return False


def same_host(one: str, other: str) -> bool:
    """Whether two http(s) URLs lead to the same host and port, or to its usual ports of http and https."""
    (_, host, port), (_, other_host, other_port) = origin(one), origin(other)
    usual = {port, other_port} <= {*_PORTS.values()}
    return host.rstrip(".") == other_host.rstrip(".") and (port == other_port or usual)


def among(url: str, places: Iterable[str | None]) -> bool:
    """Whether a URL has the same origin as one of these places."""
    return any(same_origin(url, place) for place in places if place)


def shown(url: str) -> str:
    """A URL for messages: without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "(not a URL)"
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme else url


def file_name(uri: str) -> str:
    """The last part of a URI's path, without the query, which may hold a key."""
    return uri.partition("?")[0].rpartition("/")[2]


class Variables:
    """The operator's values of server variables; `unused` are those that no server URL has used."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given = given
        self.unused = set(given)

    def value(self, name: str, declared: Any) -> str | None:
        """The operator's value of a variable, else its default, else None.

        Raises: ConfigError for a value that the document does not allow.
        """
        declared = declared if isinstance(declared, Mapping) else {}
        if name not in self._given:
            default = declared.get("default")
            return str(default) if isinstance(default, (str, int)) else None
        self.unused.discard(name)
        value, allowed = self._given[name], declared.get("enum")
        if isinstance(allowed, list) and allowed and value not in (names := [str(one)[:100] for one in allowed[:50]]):
            raise ConfigError(
                f"{value!r} is no value of it",
                place=f"variables.{name}",
                hint=f"The document allows {', '.join(names)}.",
            )
        return value


def base_urls(holder: Any, document_url: str, variables: Variables) -> Iterator[str]:
    """The usable URLs in the `servers` of a document, a path or an operation, in their order. Relative ones are
    resolved against `document_url` if that is an http(s) URL. Raises: ConfigError."""
    listed = holder.get("servers") if isinstance(holder, Mapping) else None
    for server in listed[:50] if isinstance(listed, list) else ():
        if (
            isinstance(server, Mapping)
            and isinstance(server.get("url"), str)
            and (url := _expanded(server, document_url, variables))
        ):
            yield url


def _expanded(server: Mapping[str, Any], document_url: str, variables: Variables) -> str | None:
    declared = server.get("variables")
    declared = declared if isinstance(declared, Mapping) else {}

    def value(match: re.Match[str]) -> str:
        found = variables.value(match[1], declared.get(match[1]))
        return match[0] if found is None else found

    return clean(with_scheme(_VARIABLE.sub(value, server["url"][:2000]), document_url), document_url)


def clean(url: str, document_url: str) -> str | None:
    """An absolute URL without credentials, query, fragment and trailing slash; `None` if it can't be one."""
    if re.search(r"[\s{}<>\"\\]|[^\x21-\x7e]", url):
        return None
    try:
        parts = urlsplit(urljoin(document_url if document_url.startswith("http") else "", url))
        origin(parts.geturl())
    except ValueError:
        return None
    if "@" in parts.netloc:
        return None
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/")


def root_base(root: Mapping[str, Any], document_url: str, variables: Variables) -> str | None:
    """The first base URL that the document itself names.

    Raises: ConfigError for a variable's value that the document does not allow.
    """
    if "swagger" in root:
        return _swagger(root, document_url)
    return next(base_urls(root, document_url, variables), None)


def is_home(root: Any, url: str, spec: str, variables: Mapping[str, str]) -> bool:
    """Whether a document from this URL places its API at the origin of `spec`, or names no place. Raises: ConfigError
    for variables that it does not have."""
    if not isinstance(root, dict):
        return False
    base = root_base(root, url, Variables(variables))
    return same_origin(base, spec) if base else is_placeless(root)


def is_placeless(root: Mapping[str, Any]) -> bool:
    """Whether a document names no server at all, not even an unusable one: then the API is where the document is."""
    tables = [table for key in ("paths", "x-ms-paths") if isinstance(table := root.get(key), Mapping)]
    items = [item for table in tables for item in table.values() if isinstance(item, Mapping)]
    operations = (node for item in items for node in item.values() if isinstance(node, Mapping))
    return not root.get("host") and not any(holder.get("servers") for holder in (root, *items, *operations))


def _swagger(root: Mapping[str, Any], document_url: str) -> str | None:
    host, path, schemes = root.get("host"), root.get("basePath"), root.get("schemes")
    path = path if isinstance(path, str) else ""
    if not isinstance(host, str) or not host:
        return clean(f"/{path.lstrip('/')}", document_url) if document_url.startswith("http") else None
    listed = [s for s in schemes if isinstance(s, str) and s in _PORTS] if isinstance(schemes, list) else []
    own, _, named = host.rpartition("://")  # some write a URL, though it is to be a host
    own, host = own or urlsplit(document_url).scheme, named.rstrip("/")
    scheme = "https" if "https" in listed else listed[0] if listed else own if own in _PORTS else "https"
    return clean(f"{scheme}://{host}/{path.lstrip('/')}", "")
