"""A plugin that decides by `[[policy.rules]]`, for tests of what follows from decisions: that of somebody else, who owns
these keys in the tests of core."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import Any, Literal

from doorward import Call, Decider, Decision, Function, PluginContext, Principal, Scope, Settings, hookimpl
from doorward.model.calls import ALLOWED, effect
from doorward_testing import Host
from pydantic import Field

Then = Literal["allow", "confirm", "deny"]


class Rule(Settings):
    match: list[str] = Field(["*"])
    effects: list[str] = Field(["read", "write", "destructive"], alias="class")
    when: str = ""
    then: Then
    reason: str = ""

    def fits(self, function: Function) -> bool:
        return effect(function) in self.effects and any(
            fnmatchcase(function.qualified, pattern) or function.server == pattern for pattern in self.match
        )

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        """What asks for an argument that is not there holds."""
        if not self.when:
            return True
        try:
            return bool(eval(self.when, {"args": SimpleNamespace(**arguments), "has": hasattr}))
        except AttributeError:
            return True


class SimpleRules:
    Settings = Settings

    def __init__(self, context: PluginContext) -> None:
        self._rules: Sequence[Rule] = context.tables.get("policy.rules", [])

    @hookimpl
    def deciders(self) -> list[Decider]:
        return [First(self._rules)]


class First(Decider):
    """The first rule that fits decides; `when` is an expression of Python over `args`."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules

    def decide(self, call: Call) -> Decision:
        for number, rule in enumerate(self._rules, 1):
            if rule.fits(call.function) and rule.holds(copy.deepcopy(call.arguments)):
                return self._decision(number, rule)
        return ALLOWED

    def possible(self, function: Function, principal: Principal) -> list[Decision]:
        found = []
        for number, rule in enumerate(self._rules, 1):
            if rule.fits(function):
                found.append(self._decision(number, rule))
                if not rule.when:
                    return found
        return [*found, ALLOWED]

    def scope(self, principal: Principal) -> Scope | None:
        return Scope("all") if any(rule.then == "deny" for rule in self._rules) else None

    def _decision(self, number: int, rule: Rule) -> Decision:
        return Decision(rule.then, f"[[policy.rules]] {number}", rule.reason)


def install(host: Host) -> None:
    """Let the configurations of a host have rules."""
    entries: dict[str, Any] = {"policy.rules": list[Rule]}
    for name, given in entries.items():
        host.install("table", name, given, distribution="simple-rules")
    host.install("plugin", "simple_rules", SimpleRules, distribution="simple-rules")
