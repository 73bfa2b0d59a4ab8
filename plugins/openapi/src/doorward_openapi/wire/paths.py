"""The path of a request: a template filled with values, which cannot lead to any other function."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote, unquote

from doorward import InvalidArguments

TEMPLATE = re.compile(r"\{([^{}]{1,200})\}")
SLASHES = "x-ms-skip-url-encoding"
"""The keyword of path parameters whose value may contain slashes."""

_MAX_DECODINGS = 3
"""How often a chain of servers may decode a path."""

_SAFE_IN_PATH = "!$&'()*+,;=:@%~{}/"
_SAFE_IN_QUERY = "!$&'()*+,;=:@/?%~"
_SLASH = re.compile(r"[/\\]")
_QUERY = re.compile("[?#\uff1f\uff03\ufe56\ufe5f]")
"""What a query or a fragment begins with, in all forms that NFKC makes the same."""
_ORDINARY = re.compile(r"[A-Za-z0-9/_.~:@{}+-]*")
"""Paths that every server reads as they are."""


def filled(template: str, values: Mapping[str, str]) -> tuple[str, str]:
    """The path and the query of a template, with encoded values in place of its variables. A fragment is not sent.

    Raises: InvalidArguments if a server could read the path as a different one.
    """
    if "{" not in template:
        return _fixed(template)
    template, _, query = template.partition("#")[0].partition("?")
    path = _written(template, values, _SAFE_IN_PATH)
    if TEMPLATE.search(template) and leads_away(path):
        raise InvalidArguments(
            f"the path {path[:200]!r} has a part that is `.` or `..`: it would lead to another function",
            hint=f"Give {', '.join(dict.fromkeys(TEMPLATE.findall(template)))} without such parts.",
        )
    plain = {name: re.sub(r"[&+;=]", lambda found: quote(found[0]), value) for name, value in values.items()}
    return path, _written(query, plain, _SAFE_IN_QUERY)


@lru_cache(4096)
def _fixed(template: str) -> tuple[str, str]:
    path, _, query = template.partition("#")[0].partition("?")
    return _written(path, {}, _SAFE_IN_PATH), _written(query, {}, _SAFE_IN_QUERY)


def settled(template: str, queries: Collection[str]) -> tuple[str, set[str]]:
    """A template without the query parameters whose values are variables, for those are sent as parameters, and the
    names of the query parameters whose values the template fixes."""
    path, _, query = template.partition("#")[0].partition("?")
    pairs = [(pair, unquote(pair.partition("=")[0])) for pair in query.split("&") if pair]
    kept = [(pair, name) for pair, name in pairs if name not in queries or not TEMPLATE.search(pair)]
    if len(kept) < len(pairs):
        template = f"{path}?{'&'.join(pair for pair, _ in kept)}" if kept else path
    return template, {name for _, name in kept} & set(queries)


def leads_away(path: str) -> bool:
    """Whether a path has a part that means "here" or "one up" to a server that decodes it, as most do before routing:
    between slashes of any kind, with path parameters (`..;x`), blanks, or dots of other scripts."""
    if _ORDINARY.fullmatch(path):  # nearly all paths: to decode these changes nothing
        return any(part and not part.strip(".") for part in path.split("/"))
    return any("." in part and not part.strip(".") for text in decodings(path) for part in parts(text))


def decodings(path: str) -> Iterator[str]:
    """A path as servers see it that decode it once, twice …, also if they then take a part of it for a query."""
    for _ in range(_MAX_DECODINGS):
        path = unquote(path)
        yield path
        if (cut := _QUERY.split(path, maxsplit=1)[0]) != path:
            yield cut


def parts(path: str) -> list[str]:
    """The parts of a decoded path, without the characters that some servers ignore."""
    if _ORDINARY.fullmatch(path):
        return path.split("/")
    said = _SLASH.split(unicodedata.normalize("NFKC", path))
    return ["".join(c for c in part.partition(";")[0] if c.isprintable() and not c.isspace()) for part in said]


def _written(template: str, values: Mapping[str, str], safe: str) -> str:
    parts = _split(template, safe)
    return "".join(values.get(part, "") if i % 2 else part for i, part in enumerate(parts))


@lru_cache(4096)
def _split(template: str, safe: str) -> list[str]:
    """The literals of a template, encoded, with the names of variables between them."""
    return [part if i % 2 else quote(part, safe=safe) for i, part in enumerate(TEMPLATE.split(template))]
