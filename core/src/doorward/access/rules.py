"""Patterns of functions and upstreams: what `allow` and `deny` mean, and what `include` and `exclude` select."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from urllib.parse import unquote

from doorward.access.patterns import Patterns, is_wild
from doorward.config.upstream_patterns import Upstream, UpstreamPattern, is_upstream
from doorward.model.functions import Function
from doorward.model.names import qualified

_ROUTE = re.compile(r"[A-Z*]+ +(?:/|\*)")
_WILDCARD = re.compile(r"[*?\[]")
_TAG = "tag:"
_QUERY = re.compile(r"[?#]")
_VARIABLE = re.compile(r"\{[^{}/]*\}")

_MAX_DECODINGS = 3
"""How often a chain of servers may decode a path."""

_WILD = {"/**": r"(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class Rules:
    """One `allow` and one `deny`: patterns of functions and of upstreams. `deny` wins; an empty `allow` allows
    nothing."""

    def __init__(self, allow: Iterable[str], deny: Iterable[str]) -> None:
        self.allow, self._allow_at = _apart(allow)
        self.deny, self._deny_at = _apart(deny)
        self.everything = "*" in self.allow.written and not self.deny.written and not self._deny_at
        """Whether they allow every function, wherever it calls."""

    @property
    def by_upstream(self) -> bool:
        """Whether any pattern names an upstream."""
        return bool(self._allow_at or self._deny_at)

    def forbids(self, function: Function, upstreams: Callable[[], Sequence[Upstream]]) -> str:
        """The key that forbids a function, whose calls may go to these upstreams; empty if none does. They are asked
        for only if a pattern names an upstream."""
        if self.everything:
            return ""
        denied = [at for at in self._deny_at if _at(at, function)]
        if _means(self.deny, function) or (denied and any(_covered(each, denied) for each in upstreams())):
            return "deny"
        if _means(self.allow, function):
            return ""
        found = upstreams() if self._allow_at else ()
        return "" if found and all(self._lets(function, each) for each in found) else "allow"

    def _lets(self, function: Function, upstream: Upstream) -> bool:
        return any(at.covers(upstream, exactly=True) and _at(at, function, upstream.path) for at in self._allow_at)

    def forbids_route(self, function: Function, route: str, upstreams: Callable[[], Sequence[Upstream]]) -> str:
        """The key that forbids a request for a function, which is not forbidden itself: by its method and its whole
        path, as a server may read it, whatever a document calls it; empty if none does."""
        if self.everything:
            return ""
        denied = [at for at in self._deny_at if _is_route(at.function)]
        routed = any(_is_route(at.function) for at in self._allow_at) and not _means(self.allow, function)
        if not denied and not routed:
            return ""
        method, _, path = route.partition(" ")
        found, paths = upstreams(), readings(path)
        for each in found:
            shortened = {part for full in paths for part in shorter(full, each.path)}
            if any(at.covers(each, exactly=False) and _leads(at, method, shortened, any) for at in denied):
                return "deny"
            lets = [at for at in self._allow_at if at.covers(each, exactly=True)] if routed else []
            if routed and not any(
                _leads(at, method, paths, all) if _is_route(at.function) else _at(at, function) for at in lets
            ):
                return "allow"
        return ""

    def excludes(self, server: str, upstreams: Sequence[Upstream]) -> str:
        """The key that forbids every function of a server by its upstreams, so that it is not even connected to."""
        denied = [at for at in self._deny_at if not at.function]
        if any(_covered(each, denied) for each in upstreams):
            return "deny"
        named = any(_may_mean(pattern, server) for pattern in self.allow.written)
        allowed = named or all(_covered(each, self._allow_at, exactly=True) for each in upstreams)
        return "" if allowed else "allow"


def may_mean(patterns: Iterable[str], server: str) -> bool:
    """Whether any pattern may match a function of a server."""
    return any(_may_mean(qualified(pattern), server) for pattern in patterns)


def _may_mean(pattern: str, server: str) -> bool:
    """Whether a pattern may match a function of a server: by what stands before its first wildcard."""
    start, inside = _WILDCARD.split(pattern)[0], f"{server}."
    if start == pattern:
        return pattern == server or pattern.startswith(inside)
    return inside.startswith(start) or start.startswith(inside)


def narrowed(function: Function, patterns: tuple[str, ...]) -> bool:
    """Whether a run may call a function by the patterns that narrow it: one fits, and none that begins with `!`.
    `tag:NAME` fits functions with this tag."""
    named, left_out = _signed(patterns)
    return _fits(function, named) and not _fits(function, left_out)


def asked_for(function: Function, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns that narrow a run is about a function or its server, and not about any of them."""
    return _fits(function, tuple(p for p in _signed(patterns)[0] if not is_wild(p.partition(".")[0])))


def may_be_narrowed_to(patterns: tuple[str, ...], server: str) -> bool:
    """Whether a run that these patterns narrow may call any function of a server."""
    named, _ = _signed(patterns)
    return any(pattern.startswith(_TAG) for pattern in named) or may_mean(named, server)


@lru_cache(32)
def _signed(patterns: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The patterns of what may be called, and those of what may not, without their `!`."""
    left_out = tuple(pattern[1:] for pattern in patterns if pattern.startswith("!"))
    return tuple(pattern for pattern in patterns if not pattern.startswith("!")), left_out


def _fits(function: Function, patterns: tuple[str, ...]) -> bool:
    tags = {pattern[len(_TAG) :] for pattern in patterns if pattern.startswith(_TAG)}
    return not tags.isdisjoint(function.tags) or matches(function, patterns)


def _apart(patterns: Iterable[str]) -> tuple[Patterns, list[UpstreamPattern]]:
    """The patterns of functions, and those of upstreams."""
    given = tuple(patterns)
    names = tuple(pattern for pattern in given if not is_upstream(pattern))
    return of_functions(names), [UpstreamPattern(pattern) for pattern in given if is_upstream(pattern)]


def _at(pattern: UpstreamPattern, function: Function, base: str = "") -> bool:
    if not pattern.function or selected(function, [pattern.function]):
        return True
    method, _, path = function.route.partition(" ")
    return bool(base) and _is_route(pattern.function) and _leads(pattern, method, {base + path}, all)


def _is_route(pattern: str) -> bool:
    return pattern.startswith("/") or _ROUTE.match(pattern) is not None


def _leads(
    pattern: UpstreamPattern, method: str, paths: Iterable[str], which: Callable[[Iterable[bool]], bool]
) -> bool:
    """Whether a pattern with a route means a request to any or to all of these paths. Upper and lower case are the same
    to what is denied, because they are to some servers."""
    wanted, _, where = (pattern.function if pattern.function[0] != "/" else f"* {pattern.function}").partition(" ")
    fold = str.casefold if which is any else str
    fits = _glob(fold(_VARIABLE.sub("*", where.strip())))
    return fnmatchcase(method, wanted) and (where.strip() == "*" or which(bool(fits.fullmatch(fold(p))) for p in paths))


def readings(path: str) -> set[str]:
    """A path as it is sent, and as servers may read it: decoded, with slashes of any kind, without `..`, empty parts,
    characters that cannot be seen, and what may be taken for a query."""
    found = {path}
    for _ in range(_MAX_DECODINGS):
        path = unquote(path)
        said = _QUERY.split(unicodedata.normalize("NFKC", path).replace("\\", "/"))[0]
        seen = "".join(c for c in said if c.isprintable() and not c.isspace())
        plain = "/".join(part.partition(";")[0] for part in seen.split("/"))
        found.add(posixpath.normpath("/" + plain.lstrip("/")))
    return found


def shorter(path: str, base: str) -> Iterator[str]:
    """A path, and what is left of it without the first parts of a base path: a user may have moved a part of the route
    from the document to `base_url`."""
    yield path
    for _ in filter(None, base.split("/")):
        path = "/" + path.lstrip("/").partition("/")[2]
        yield path


def _covered(upstream: Upstream, patterns: Iterable[UpstreamPattern], *, exactly: bool = False) -> bool:
    return any(pattern.covers(upstream, exactly=exactly) for pattern in patterns)


def matches(function: Function, patterns: Iterable[str]) -> bool:
    """Whether any pattern matches a function. A pattern is `server.name` or `server` (all of it), with wildcards; it
    may have an original id, or the form `mcp__server__name` of other systems."""
    return _means(of_functions(tuple(patterns)), function)


@lru_cache(32)
def of_functions(patterns: tuple[str, ...]) -> Patterns:
    """Patterns in the form that `matches` takes."""
    return Patterns(map(qualified, patterns))


def _means(patterns: Patterns, function: Function) -> bool:
    names = (function.name, function.id, *function.aliases)
    return function.server in patterns.written or patterns.fit(*(f"{function.server}.{name}" for name in names))


def selected(function: Function, patterns: Iterable[str]) -> bool:
    """Whether an `include` or `exclude` pattern of a server matches a function: a name, an original id, `tag:NAME`,
    a method and path (`GET /users/*`, in which `*` ends at the next slash and `**` does not; `DELETE *`: any path), or
    a path (`/users/**`)."""
    return any(_selects(pattern, function) for pattern in patterns)


def _selects(pattern: str, function: Function) -> bool:
    if pattern in (function.name, function.id, function.route, *function.aliases):
        return True
    if pattern.startswith(_TAG):
        return any(fnmatchcase(tag, pattern[len(_TAG) :]) for tag in function.tags)
    if pattern.startswith("/"):
        pattern = f"* {pattern}"
    if _ROUTE.match(pattern):
        method, _, path = function.route.partition(" ")
        wanted, _, where = pattern.partition(" ")
        return fnmatchcase(method, wanted) and (where == "*" or bool(_glob(where).fullmatch(path)))
    return any(fnmatchcase(name, pattern) for name in (function.name, function.id, *function.aliases))


@lru_cache(1000)
def _glob(pattern: str) -> re.Pattern[str]:
    """A path with wildcards: `*` stays within a segment, `**` does not, and `/a/**` is `/a` and all below."""
    return re.compile("".join(_WILD.get(part, re.escape(part)) for part in re.split(r"(/\*\*$|\*\*|[*?])", pattern)))
