"""The routes of a document: which operation a path means to a server that decodes it before it chooses what answers.

`/users/7%2Fkeys` is `GET /users/{id}/keys` to such a server, and `/users/me` is `GET /users/me` to any, whichever
function was called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from doorward import Function, clean_text

from doorward_openapi.operations.operations import Operation
from doorward_openapi.wire import paths

NAME = "routes of the document"
"""Under which they stand among the definitions of a compile. A schema's name has no blanks."""


_MAX_PARTS = 100
"""Parts of a path that are compared with routes that have no fixed number of them; one with more fits all."""


class Route(NamedTuple):
    """An operation as the catalog knows it: its path, its original id, and which of its variables may hold slashes."""

    path: str
    id: str
    spanning: Sequence[str] = ()


@dataclass(slots=True)
class _Node:
    """What follows on a part of a path: by its text, by how it begins and ends around a variable, or whatever it is."""

    plain: dict[str, _Node] = field(default_factory=dict)
    around: dict[tuple[str, str], _Node] = field(default_factory=dict)
    ends: list[Route] = field(default_factory=list)


def listed(
    operations: Iterable[Operation], functions: Iterable[Function], bases: Iterable[str | None]
) -> dict[str, Any]:
    """The routes by their method, as they are stored, and under "" the paths of the base URLs to which they are
    added."""
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
    """Looks up paths in the trees of routes, one for each method. Making them takes a moment for a large document."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        routes = {method: [Route(*entry) for entry in entries] for method, entries in table.items() if method}
        self._roots = {method: _tree(each) for method, each in routes.items()}
        self._spanning = {
            method: [(r, _shape(r.path, r.spanning)) for r in each if r.spanning] for method, each in routes.items()
        }
        self._bases: Sequence[str] = table.get("", ("",))

    def others(self, method: str, template: str, path: str, query: str = "") -> Iterator[Route]:
        """The routes that a path, as it is sent, can mean rather than that of the template from which it was made: the
        more literal one wins, as OpenAPI has it, and so does one whose own query is part of the `query` that is
        sent."""
        own, said, given = _shape(template), _said(template), _pairs(query)
        root = self._roots.get(method, _Node())
        for text in dict.fromkeys(paths.decodings(path)):
            met, parts = False, [part.casefold() for part in paths.parts(text) if part]
            for route in _matching(root, parts):
                same = _shape(route.path) == own
                if met and not same:
                    break
                met = met or same
                if not same or said < said | _said(route.path) <= given:
                    yield route
            for route in self._across(method, own, parts, met=met):
                if _shape(route.path) != own or said < said | _said(route.path) <= given:
                    yield route

    def reached(self, template: str, url: str, base: str) -> Iterator[Route]:
        """The routes that a GET of this URL can mean besides that of a template of this base: also what only a query
        tells apart, or what is below the base of another operation."""
        path, names = urlsplit(url).path, parse_qsl(urlsplit(url).query, keep_blank_values=True)
        own, home = clean_text(template), urlsplit(base).path.rstrip("/")
        for prefix in {home, *self._bases}:
            if not path.startswith(f"{prefix}/"):
                continue
            for text in dict.fromkeys(paths.decodings(path.removeprefix(prefix))):
                past, parts = False, [part.casefold() for part in paths.parts(text) if part]
                for route in _matching(self._roots.get("GET", _Node()), parts):
                    alike = prefix == home and _shape(route.path) == _shape(own)
                    if past and not alike:
                        break  # what is less literal is not chosen
                    past = past or alike
                    if route.path != own and _has(names, route.path, alike=alike):
                        yield route
                for route in self._across("GET", _shape(own) if prefix == home else [], parts, met=past):
                    if route.path != own and _has(
                        names, route.path, alike=prefix == home and _shape(route.path) == _shape(own)
                    ):
                        yield route

    def _across(self, method: str, own: Sequence[str], parts: Sequence[str], *, met: bool) -> Iterator[Route]:
        """The routes whose variables may hold slashes that fit the parts of a path; where a function's own shape fits
        as well, only those that have as many parts without variables."""
        fitting = [route for route, shape in self._spanning.get(method, ()) if _fits(shape, parts)]
        least = _literal(own) if met or any(_shape(route.path) == own for route in fitting) else 0
        return (route for route in fitting if _literal(_shape(route.path)) >= least)


def _has(names: Collection[tuple[str, str]], path: str, *, alike: bool) -> bool:
    """Whether a query has what stands in the path of a route, which of two that are otherwise alike has to have
    something there."""
    wanted = parse_qsl(path.partition("#")[0].partition("?")[2], keep_blank_values=True)
    if alike and not wanted:
        return False
    given = {(name.casefold(), value.casefold()) for name, value in names}  # as `_pairs` has them
    return all(
        any(name.casefold() == n and ("{" in value or value.casefold() == v) for n, v in given)
        for name, value in wanted
    )


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
    """Whether a path has a shape in which `{+}` stands for any number of parts."""
    if len(parts) > _MAX_PARTS:
        return True
    reached = {0}
    for part in parts:
        reached = {after for at in reached if at < len(shape) for after in _after(shape[at], part, at)}
    return len(shape) in reached


def _after(wanted: str, part: str, at: int) -> Sequence[int]:
    """Where in its shape a path can be after a part of it."""
    if "{+}" in wanted:
        return at, at + 1
    before, variable, rest = wanted.partition("{}")
    after = rest.rpartition("{}")[2]
    inside = len(part) > len(before) + len(after) and part.startswith(before) and part.endswith(after)
    return (at + 1,) if (inside if variable else part == wanted) else ()


def _shape(template: str, spanning: Collection[str] = ()) -> list[str]:
    """The parts of a template, `{}` for each variable, `{+}` for those that may hold slashes."""
    path = paths.TEMPLATE.sub(
        lambda found: "{+}" if found[1] in spanning else "{}", template.partition("#")[0].partition("?")[0]
    )
    return [part.casefold() for part in paths.parts(next(paths.decodings(path))) if part]


def _said(template: str) -> frozenset[tuple[str, str]]:
    """What a template says of its query, without what its variables give."""
    return frozenset(
        (name, value)
        for name, value in _pairs(template.partition("#")[0].partition("?")[2])
        if not paths.TEMPLATE.search(value)
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
