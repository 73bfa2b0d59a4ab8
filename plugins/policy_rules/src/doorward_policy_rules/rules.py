"""One rule of `[[policy.rules]]`, compiled: which functions and principals it is for, and what it decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from doorward import Decision, Function
from doorward.deciding import Rules

from doorward_policy_rules.conditions import Condition

if TYPE_CHECKING:
    from doorward.configuration import Upstream
    from doorward.deciding import Effects

    from doorward_policy_rules.settings import RuleSettings

Upstreams = Callable[[], Sequence["Upstream"]]
_NAME = re.compile(r"[^@*?\[][^*?\[]*")
"""A principal's name: no wildcards, and no group."""

Members = Callable[[Iterable[str], str], Callable[[str], bool]]
"""See `PluginContext.members`."""


class Rule:
    """A rule, and its `name` as a person finds it. Raises: ConfigError, with the place, if it is wrong."""

    def __init__(self, settings: RuleSettings, name: str, whose: str, members: Members, effects: Effects) -> None:
        place = f"{whose} {name}".strip()
        self.settings, self.name = settings, name
        self.decision = Decision(settings.then, name, settings.reason)
        self.condition = Condition(settings.when, place) if settings.when else None
        self.is_for = members(settings.principal, place)
        self._effects, self._classes = effects, frozenset(settings.effects)
        # What is allowed is meant as it is written; what is not, in every form that leads to the same upstream.
        self._allows = settings.then == "allow"
        self._patterns = Rules(settings.match, ()) if self._allows else Rules((), settings.match)
        self.by_upstream = self._patterns.by_upstream

    def fits(self, function: Function, upstreams: Upstreams) -> bool:
        """Whether it is for calls of a function, whoever asks and whatever its condition says. Raises: DoorwardError if
        that cannot be told."""
        return self._effects.of(function) in self._classes and self._names(function, upstreams)

    def _names(self, function: Function, upstreams: Upstreams) -> bool:
        forbids = self._patterns.forbids(function, upstreams)
        return forbids == "" if self._allows else forbids == "deny"

    def unfit(self, function: Function, principal: str, upstreams: Upstreams) -> str:
        """Why it is not for a principal's calls of a function; empty if it is, whatever its condition says."""
        if not self._names(function, upstreams):
            return "it names other functions"
        if (own := self._effects.of(function)) not in self._classes:
            return f"the function's class is {own}"
        return "" if self.is_for(principal) else f"it is not for {principal}"

    def covers(self, function: Function, route: str, upstreams: Upstreams) -> bool:
        """Whether a rule that fits also holds for a request by its method and whole path: what is allowed by a route is
        that route alone. Raises: DoorwardError if that cannot be told."""
        return not self._allows or self._patterns.forbids_route(function, route, upstreams) == ""

    def meets(self, function: Function, route: str, upstreams: Upstreams) -> bool:
        """Whether a rule that does not allow names a request by its method and whole path, as `fits` does not know it.
        Raises: DoorwardError if that cannot be told."""
        if self._allows or self._effects.of(function) not in self._classes:
            return False
        return self._patterns.forbids_route(function, route, upstreams) == "deny"

    def covers_principals(self, other: Rule) -> bool:
        """Whether it is for all principals that another rule is for."""
        own = self.settings.principal
        return "*" in own or all(
            name in own or (_NAME.fullmatch(name) is not None and self.is_for(name))
            for name in other.settings.principal
        )
