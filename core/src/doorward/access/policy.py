"""Decides whether a program may make a call: the operator's policy, which the caller may narrow, never widen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from doorward.access.patterns import Patterns, is_wild
from doorward.model.errors import InvalidArguments
from doorward.model.names import qualified, some
from doorward.model.types import Function, Program

if TYPE_CHECKING:
    from doorward.access.principals import Principals
    from doorward.config.settings import PolicySettings, ServerSettings

_ROUTE = re.compile(r"[A-Z*]+ +(?:/|\*)")
_WILD = {"/**": r"(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


MAX_PATTERNS = 100
"""Patterns by which a caller may narrow what a program may call."""

MAX_PATTERN_CHARACTERS = 2200
"""Characters of one pattern: an id may be a route."""

MAX_WILDCARD_CHARACTERS, MAX_WILDCARD_CHARACTERS_TOGETHER = 300, 5000
"""Characters of one pattern with wildcards, and of all such together: to compile them takes long, and far longer for
long ones."""


def narrowing(functions: Sequence[str] | None) -> tuple[str, ...] | None:
    """Check the `functions` argument of a caller; `None` allows everything. Raises: InvalidArguments."""
    patterns = (functions,) if isinstance(functions, str) else None if functions is None else tuple(functions)
    if patterns is None:
        return None
    if len(patterns) > MAX_PATTERNS:
        raise InvalidArguments(
            f"`functions` has {len(patterns)} patterns; at most {MAX_PATTERNS} are allowed", hint="Use wildcards."
        )
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise InvalidArguments("`functions` holds something that is no text", hint='For example ["github.issues_*"].')
    if any(len(pattern) > MAX_PATTERN_CHARACTERS for pattern in patterns):
        raise InvalidArguments(
            f"`functions` has a name of more than {MAX_PATTERN_CHARACTERS} characters", hint="No function is called so."
        )
    lengths = [len(pattern) for pattern in patterns if is_wild(pattern)]
    if max(lengths, default=0) > MAX_WILDCARD_CHARACTERS or sum(lengths) > MAX_WILDCARD_CHARACTERS_TOGETHER:
        raise InvalidArguments(
            f"patterns with wildcards may have {MAX_WILDCARD_CHARACTERS} characters each, "
            f"and {MAX_WILDCARD_CHARACTERS_TOGETHER} together",
            hint="Narrow by fewer `functions`.",
        )
    return patterns


class Policy:
    """`[policy]`, and within it the table of the principal in `[principals]`: `allow` and `deny` are patterns, and deny
    wins. An empty `allow` allows nothing."""

    def __init__(self, policy: PolicySettings, principals: Principals) -> None:
        self._allow, self._deny = of_functions(tuple(policy.allow)), of_functions(tuple(policy.deny))
        self._principals = principals

    def refusal(self, program: Program, function: Function) -> str | None:
        """Why the program may not call the function, or `None`."""
        who = program.principal
        if key := _forbids(self._allow, self._deny, function):
            return f"{function.qualified} is not allowed by the operator's policy: [policy] {key}"
        rights = self._principals.rights(who)
        if key := _forbids(rights.allow, rights.deny, function):
            place = self._principals.place(who, key)
            return f"{function.qualified} is not allowed for {who!r} by the operator's policy: {place}"
        if program.functions is not None and not matches(function, program.functions):
            return (
                f"{function.qualified} is not among the `functions` that this run may call: {some(program.functions)}"
            )
        return None


def _forbids(allow: Patterns, deny: Patterns, function: Function) -> str:
    """The key that forbids a function; empty if none does."""
    return "deny" if _means(deny, function) else "" if _means(allow, function) else "allow"


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
    if pattern.startswith("tag:"):
        return any(fnmatchcase(tag, pattern[4:]) for tag in function.tags)
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


def wanted(function: Function, settings: ServerSettings) -> bool:
    """Whether the configuration of its server keeps a function."""
    if settings.read_only and not function.read_only:
        return False
    if settings.include is not None and not selected(function, settings.include):
        return False
    return not selected(function, settings.exclude)
