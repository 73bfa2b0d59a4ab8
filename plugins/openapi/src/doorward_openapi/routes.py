"""The routes of a document: which operation a path means to a server that decodes it before it chooses what answers.

`/users/7%2Fkeys` is `GET /users/{id}/keys` to such a server, and `/users/me` is `GET /users/me` to any, whichever function was called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from doorward import clean_text

from doorward_openapi import paths
from doorward_openapi.operations import Operation

NAME = "routes of the document"
"""Under which they stand among the definitions of a compile. A schema's name has no blanks."""


class Route(NamedTuple):
    """An operation as the catalog knows it: its path, and its original id."""

    path: str
    id: str


@dataclass(slots=True)
class _Node:
    """What follows on a part of a path: by its text, by how it begins and ends around a variable, or whatever it is."""

    plain: dict[str, _Node] = field(default_factory=dict)
    around: dict[tuple[str, str], _Node] = field(default_factory=dict)
    ends: list[Route] = field(default_factory=list)


def listed(operations: Iterable[Operation], bases: Iterable[str | None]) -> dict[str, Any]:
    """The routes by their method, as they are stored, and under "" the paths of the base URLs to which they are added."""
    found: dict[str, Any] = {}
    for operation in operations:
        found.setdefault(operation.method, []).append([clean_text(operation.path), clean_text(operation.id or operation.route)])
    return found | ({"": sorted({urlsplit(base or "").path.rstrip("/") for base in bases})} if found else {})


class Routes:
    """Looks up paths in the trees of routes, one for each method. Making them takes a moment for a large document."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._roots = {method: _tree(Route(path, id) for path, id in routes) for method, routes in table.items() if method}
        self._bases: Sequence[str] = table.get("", ("",))

    def others(self, method: str, template: str, path: str, query: str = "") -> Iterator[Route]:
        """The routes that a path, as it is sent, can mean rather than that of the template from which it was made: the more literal one
        wins, as OpenAPI has it, and so does one whose own query is part of the `query` that is sent."""
        own, said, given = _shape(template), _said(template), _pairs(query)
        root = self._roots.get(method, _Node())
        for text in dict.fromkeys(paths.decodings(path)):
            met = False
            for route in _matching(root, [part.casefold() for part in paths.parts(text) if part]):
                same = _shape(route.path) == own
                if met and not same:
                    break
                met = met or same
                if not same or said < said | _said(route.path) <= given:
                    yield route

    def reached(self, template: str, url: str, base: str) -> Iterator[Route]:
        """The routes that a GET of this URL can mean besides that of a template of this base: also what only a query tells apart, or
        what is below the base of another operation."""
        path, names = urlsplit(url).path, parse_qsl(urlsplit(url).query, keep_blank_values=True)
        own, home = clean_text(template), urlsplit(base).path.rstrip("/")
        for prefix in {home, *self._bases}:
            if not path.startswith(f"{prefix}/"):
                continue
            for text in dict.fromkeys(paths.decodings(path.removeprefix(prefix))):
                past = False
                for route in _matching(self._roots.get("GET", _Node()), [part.casefold() for part in paths.parts(text) if part]):
                    alike = prefix == home and _shape(route.path) == _shape(own)
                    if past and not alike:
                        break  # what is less literal is not chosen
                    past = past or alike
                    if route.path != own and _has(names, route.path, alike=alike):
                        yield route


def _has(names: Collection[tuple[str, str]], path: str, *, alike: bool) -> bool:
    """Whether a query has what stands in the path of a route, which of two that are otherwise alike has to have something there."""
    wanted = parse_qsl(path.partition("#")[0].partition("?")[2], keep_blank_values=True)
    if alike and not wanted:
        return False
    given = {(name.casefold(), value.casefold()) for name, value in names}  # as `_pairs` has them
    return all(any(name.casefold() == n and ("{" in value or value.casefold() == v) for n, v in given) for name, value in wanted)


def _tree(routes: Iterable[Route]) -> _Node:
    root = _Node()
    for route in routes:
        node = root
        for part in _shape(route.path):
            before, variable, rest = part.partition("{}")
            node = node.around.setdefault((before, rest.rpartition("{}")[2]), _Node()) if variable else node.plain.setdefault(part, _Node())
        node.ends.append(route)
    return root


def _shape(template: str) -> list[str]:
    """The parts of a template, `{}` for each variable."""
    path = paths.TEMPLATE.sub("{}", template.partition("#")[0].partition("?")[0])
    return [part.casefold() for part in paths.parts(next(paths.decodings(path))) if part]


def _said(template: str) -> frozenset[tuple[str, str]]:
    """What a template says of its query, without what its variables give."""
    return frozenset(
        (name, value) for name, value in _pairs(template.partition("#")[0].partition("?")[2]) if not paths.TEMPLATE.search(value)
    )


def _pairs(query: str) -> frozenset[tuple[str, str]]:
    """The pairs of a query, as a server sees them that takes capitals for small letters."""
    return frozenset((name.casefold(), value.casefold()) for name, value in parse_qsl(query, keep_blank_values=True))


def _matching(node: _Node, parts: Sequence[str]) -> Iterator[Route]:
    """The routes that fit the parts of a path, the most literal first."""
    if not parts:
        yield from node.ends
        return
    first, rest = parts[0], parts[1:]
    if first in node.plain:
        yield from _matching(node.plain[first], rest)
    for before, after in sorted(node.around, key=lambda each: -len(each[0]) - len(each[1])):
        if len(first) > len(before) + len(after) and first.startswith(before) and first.endswith(after):
            yield from _matching(node.around[before, after], rest)
