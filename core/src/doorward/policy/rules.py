"""One rule of `[[policy.rules]]`, compiled: which functions and principals it is for, and what it decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doorward.access.rules import Rules
from doorward.model.decisions import Decision
from doorward.model.functions import Function
from doorward.policy.conditions import Condition

if TYPE_CHECKING:
    from doorward.access.effects import Effects
    from doorward.access.groups import Groups
    from doorward.config.rule_settings import RuleSettings
    from doorward.config.upstream_patterns import Upstream

Upstreams = Callable[[], Sequence["Upstream"]]


class Rule:
    """A rule, and its `name` as a person finds it. Raises: ConfigError, with the place, if it is wrong."""

    def __init__(self, settings: RuleSettings, name: str, file: str, groups: Groups, effects: Effects) -> None:
        place = f"{file} {name}"
        self.settings, self.name = settings, name
        self.decision = Decision(settings.then, name, settings.reason)
        self.condition = Condition(settings.when, place) if settings.when else None
        self.principals = groups.members(settings.principal, place)
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
        return "" if self.principals.fit(principal) else f"it is not for {principal}"

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
