"""The routes of a document: which operation a path means to a server that decodes it before routing.

`/users/7%2Fkeys` is `GET /users/{id}/keys` to such a server, and `/users/me` is `GET /users/me` to any server,
whichever function was called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from doorward import Function
from doorward.values import clean_text

from doorward_openapi.operations.operations import Operation
from doorward_openapi.wire import paths

NAME = "routes of the document"
"""Their key among the compiled definitions. Names of schemas have no blanks, so there is no clash."""


_MAX_PARTS = 100
"""Parts of a path that are compared with routes of no fixed length; a longer path counts as matching all of them."""


class Route(NamedTuple):
    """An operation in the catalog: its path, its original id, and those of its variables that may hold slashes."""

    path: str
    id: str
    spanning: Sequence[str] = ()


@dataclass(slots=True)
class _Node:
    """A node of the tree of routes. Its children are found by the text of the next part of the path, or by what stands
    around a variable in it."""

    plain: dict[str, _Node] = field(default_factory=dict)
    around: dict[tuple[str, str], _Node] = field(default_factory=dict)
    ends: list[Route] = field(default_factory=list)


def listed(
    operations: Iterable[Operation], functions: Iterable[Function], bases: Iterable[str | None]
) -> dict[str, Any]:
    """The routes by method, as they are stored, and under "" the paths of the base URLs to which they are appended."""
    found: dict[str, Any] = {}
    spanning = {
        f.route: names
        for f in functions
        if (names := [clean_text(w["name"]) for w in f.data["arguments"] if w.get("slashes")])
    }
    for operation in operations:
        entry = [clean_text(operation.path), clean_text(operation.id or operation.route), spanning.get(operation.route)]
        found.setdefault(operation.method, []).append(entry if entry[-1] else entry[:2])
    return found | ({"": sorted({urlsplit(base or "").path.rstrip("/") for base in bases})} if found else {})


class Routes:
    """Looks up paths in trees of routes, one for each method. Building them takes a moment for a large document."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        routes = {method: [Route(*entry) for entry in entries] for method, entries in table.items() if method}
        self._roots = {method: _tree(each) for method, each in routes.items()}
        self._spanning = {
            method: [(r, _shape(r.path, tuple(r.spanning))) for r in each if r.spanning]
            for method, each in routes.items()
        }
        self._fixed = any("?" in route.path for each in routes.values() for route in each)
        self._bases: Sequence[str] = table.get("", ("",))

    def others(self, method: str, template: str, path: str, query: str = "") -> Iterator[Route]:
        """Other routes that a path may mean, as it is sent, instead of the template from which it was made. The more
        literal route wins, as in OpenAPI, and so does one whose own query is part of the `query` that is sent."""
        if not (self._fixed or "{" in template or "%" in template):
            return  # such a path is what it says
        own, said = _shape(template), _said(template)
        root = self._roots.get(method, _Node())
        for text in dict.fromkeys(paths.decodings(path)):
            met, parts = False, _folded(text)
            for route in _matching(root, parts):
                same = _shape(route.path) == own
                if met and not same:
                    break
                met = met or same
                if not same or said < said | _said(route.path) <= _pairs(query):
                    yield route
            for route in self._across(method, own, parts, met=met):
                if _shape(route.path) != own or said < said | _said(route.path) <= _pairs(query):
                    yield route

    def meant(self, method: str, url: str, base: str) -> list[tuple[str, str]]:
        """The original ids and routes (`GET /users/{id}`) that a request to this URL may mean below `base`, or below
        another operation's base URL: in each way to read its path the most literal one, and of those that differ in
        their query the ones that it has."""
        path, pairs = urlsplit(url).path, _pairs(urlsplit(url).query)
        prefixes = {tuple(_folded(prefix)) for prefix in (urlsplit(base).path, *self._bases)}
        readings = {tuple(_folded(text)) for text in paths.decodings(path)}
        found = [
            (route.id, f"{each} {route.path}")
            for parts in readings
            for prefix in prefixes
            if parts[: len(prefix)] == prefix
            for each in (("GET", "HEAD") if method == "HEAD" else (method,))
            for route in self._most_literal(each, parts[len(prefix) :], pairs)
        ]
        return [*dict.fromkeys(found)]

    def _most_literal(self, method: str, parts: Sequence[str], pairs: Collection[tuple[str, str]]) -> list[Route]:
        found: list[Route] = []
        for route in _matching(self._roots.get(method, _Node()), parts):
            if found and _shape(route.path) != _shape(found[0].path):
                break  # a less literal route is not chosen
            if _has(pairs, route.path):
                found.append(route)
        own = _shape(found[0].path) if found else ()
        found += (r for r in self._across(method, own, parts, met=bool(found)) if _has(pairs, r.path))
        return [
            route
            for route in found
            if not any(_shape(r.path) == _shape(route.path) and _said(r.path) > _said(route.path) for r in found)
        ]

    def _across(self, method: str, own: Sequence[str], parts: Sequence[str], *, met: bool) -> Iterator[Route]:
        """The routes with slashes in their variables that fit the parts of a path. If the function's own shape fits as
        well, only those with at least as many parts without variables."""
        fitting = [route for route, shape in self._spanning.get(method, ()) if _fits(shape, parts)]
        least = _literal(own) if met or any(_shape(route.path) == own for route in fitting) else 0
        return (route for route in fitting if _literal(_shape(route.path)) >= least)


def _has(given: Collection[tuple[str, str]], path: str) -> bool:
    """Whether a query has the pairs that stand in the path of a route, whatever the value of a variable is."""
    wanted = _pairs(path.partition("#")[0].partition("?")[2])
    return all(any(name == n and ("{" in value or value == v) for n, v in given) for name, value in wanted)


def _folded(path: str) -> list[str]:
    """The parts of a decoded path as a server sees them that ignores case and empty parts."""
    return [part.casefold() for part in paths.parts(path) if part]


def _tree(routes: Iterable[Route]) -> _Node:
    root = _Node()
    for route in routes:
        node = root
        for part in _shape(route.path):
            before, variable, rest = part.partition("{}")
            node = (
                node.around.setdefault((before, rest.rpartition("{}")[2]), _Node())
                if variable
                else node.plain.setdefault(part, _Node())
            )
        node.ends.append(route)
    return root


def _literal(shape: Sequence[str]) -> int:
    return sum("{" not in part for part in shape)


def _fits(shape: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a path fits a shape, in which `{+}` stands for any number of parts."""
    if len(parts) > _MAX_PARTS:
        return True
    reached = {0}
    for part in parts:
        reached = {after for at in reached if at < len(shape) for after in _after(shape[at], part, at)}
    return len(shape) in reached


def _after(wanted: str, part: str, at: int) -> Sequence[int]:
    """The positions in a shape that can be reached after a part of the path."""
    if "{+}" in wanted:
        return at, at + 1
    before, variable, rest = wanted.partition("{}")
    after = rest.rpartition("{}")[2]
    inside = len(part) > len(before) + len(after) and part.startswith(before) and part.endswith(after)
    return (at + 1,) if (inside if variable else part == wanted) else ()


@lru_cache(1024)
def _shape(template: str, spanning: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The parts of a template, with `{}` for each variable, or `{+}` if it may hold slashes."""
    path = paths.TEMPLATE.sub(
        lambda found: "{+}" if found[1] in spanning else "{}", template.partition("#")[0].partition("?")[0]
    )
    return tuple(part.casefold() for part in paths.parts(next(paths.decodings(path))) if part)


@lru_cache(1024)
def _said(template: str) -> frozenset[tuple[str, str]]:
    """The pairs that a template fixes in its query, without those that hold variables."""
    return frozenset(
        (name, value)
        for name, value in _pairs(template.partition("#")[0].partition("?")[2])
        if not paths.TEMPLATE.search(value)
    )


def _pairs(query: str) -> frozenset[tuple[str, str]]:
    """The pairs of a query as a server sees them that ignores case."""
    if not query:
        return frozenset()
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
