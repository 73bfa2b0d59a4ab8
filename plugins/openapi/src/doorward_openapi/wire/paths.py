"""The path of a request: a template and values, which can lead to no other function than the template's own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import quote, unquote

from doorward import InvalidArguments

TEMPLATE = re.compile(r"\{([^{}]{1,200})\}")
SLASHES = "x-ms-skip-url-encoding"
"""A keyword of path parameters whose value may span parts of the path."""

_MAX_DECODINGS = 3
"""How often servers that stand one behind the other may decode a path."""

_SLASH = re.compile(r"[/\\]")


def filled(template: str, values: Mapping[str, str]) -> tuple[str, str]:
    """A template's path and the query that it may hold, with values, which are encoded, in place of its variables. A
    fragment is not sent.

    Raises: InvalidArguments if servers could read the path as another one.
    """
    template, _, query = template.partition("#")[0].partition("?")
    path = _written(template, values, "!$&'()*+,;=:@%~{}/")
    if TEMPLATE.search(template) and leads_away(path):
        raise InvalidArguments(
            f"the path {path[:200]!r} has a part that is `.` or `..`: it would lead to another function",
            hint=f"Give {', '.join(dict.fromkeys(TEMPLATE.findall(template)))} without such parts.",
        )
    plain = {name: re.sub(r"[&+;=]", lambda found: quote(found[0]), value) for name, value in values.items()}
    return path, _written(query, plain, "!$&'()*+,;=:@/?%~")


def settled(template: str, queries: Collection[str]) -> tuple[str, set[str]]:
    """A template whose query may give values of query parameters itself: without those that have a variable, for the
    parameter gives them, and the names of those whose value stands there."""
    path, _, query = template.partition("#")[0].partition("?")
    pairs = [(pair, unquote(pair.partition("=")[0])) for pair in query.split("&") if pair]
    kept = [(pair, name) for pair, name in pairs if name not in queries or not TEMPLATE.search(pair)]
    if len(kept) < len(pairs):
        template = f"{path}?{'&'.join(pair for pair, _ in kept)}" if kept else path
    return template, {name for _, name in kept} & set(queries)


def leads_away(path: str) -> bool:
    """Whether a path has a part that means "here" or "one up" to a server that decodes it, as most do before they
    choose what answers: between slashes of any kind, with path parameters (`..;x`), blanks, or dots of other
    scripts."""
    if path.isascii() and "." not in path and "%" not in path:
        return False  # most have none of what it takes
    return any("." in part and not part.strip(".") for text in decodings(path) for part in parts(text))


def decodings(path: str) -> Iterator[str]:
    """What a path is to servers that decode it once, twice …"""
    for _ in range(_MAX_DECODINGS):
        path = unquote(path)
        yield path


def parts(path: str) -> list[str]:
    """The parts of a decoded path, without what some servers leave out of them."""
    said = _SLASH.split(unicodedata.normalize("NFKC", path))
    return ["".join(c for c in part.partition(";")[0] if c.isprintable() and not c.isspace()) for part in said]


def _written(template: str, values: Mapping[str, str], safe: str) -> str:
    literals = TEMPLATE.split(template)
    return "".join(quote(part, safe=safe) if i % 2 == 0 else values.get(part, "") for i, part in enumerate(literals))
