"""May this program make this call? What the operator allows, narrowed (never widened) by the caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from doorward.names import qualified
from doorward.types import Function, Program


class Policy:
    """`[policy]`: `allow` and `deny` are patterns; deny wins. An empty `allow` allows nothing."""

    def __init__(self, allow: Sequence[str] = ("*",), deny: Sequence[str] = ()) -> None:
        self._allow = tuple(map(qualified, allow))
        self._deny = tuple(map(qualified, deny))

    def refusal(self, program: Program, function: Function) -> str | None:
        """Why the program may not call the function, or `None`."""
        if not matches(function, self._allow) or matches(function, self._deny):
            return f"{function.qualified} is not allowed by the operator's policy"
        if program.functions is not None and not matches(function, program.functions):
            return f"{function.qualified} is not among the `functions` that this run may call: {', '.join(program.functions) or 'none'}"
        return None


def matches(function: Function, patterns: Iterable[str]) -> bool:
    """Whether any pattern means this function: `server.name` or `server` (all of it), with wildcards, original ids
    and the `mcp__server__name` form that other systems use included."""
    names = (function.qualified, f"{function.server}.{function.id}")
    for pattern in patterns:
        pattern = qualified(pattern)
        if pattern == function.server or any(fnmatchcase(name, pattern) for name in names):
            return True
    return False


def selected(function: Function, patterns: Iterable[str]) -> bool:
    """Whether an `include` or `exclude` pattern of a server means this function: a name, an original id,
    `tag:NAME` or `GET /path/**`; wildcards work."""
    for pattern in patterns:
        if pattern.startswith("tag:"):
            if any(fnmatchcase(tag, pattern[4:]) for tag in function.tags):
                return True
        elif " /" in pattern:
            if fnmatchcase(function.route, pattern):
                return True
        elif fnmatchcase(function.name, pattern) or fnmatchcase(function.id, pattern):
            return True
    return False
