"""The deciders by rules: those of a distribution, those of the operator, and what is decided of new functions. Each may
only tighten what the others say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doorward.access.effects import Effects
from doorward.access.groups import Groups
from doorward.host.logs import log
from doorward.model.calls import Call
from doorward.model.deciders import Decider, Scope
from doorward.model.decisions import ALLOWED, Decision, Then
from doorward.model.functions import Function
from doorward.model.principals import Principal
from doorward.plugins.hookspecs import hookimpl
from doorward.policy.known_functions import KnownFunctions
from doorward.policy.rules import Rule
from doorward.policy.tables import RuleTable

if TYPE_CHECKING:
    from doorward.config.config import Loaded
    from doorward.config.rule_settings import RuleSettings
    from doorward.config.upstream_patterns import Upstream

RULES = "[[policy.rules]]"


class PolicyRules:
    """The rules of a configuration. Raises: ConfigError for one that is wrong, with its place."""

    def __init__(self, loaded: Loaded, upstreams: Callable[[Function, str], Sequence[Upstream]]) -> None:
        groups, effects = Groups(loaded.config.groups), Effects(loaded.config.policy.classes)
        self.known = KnownFunctions(loaded.state_folder(), effects)
        self.new: Then = loaded.config.policy.new
        self.tables = rule_tables(loaded, groups, effects, upstreams)
        if self.new != "allow" and self.known.accepted() is None:
            log.warning(
                "policy_new_without_list", hint="`doorward policy accept` stores which functions there are now."
            )

    @hookimpl
    def deciders(self) -> list[Decider]:
        new = [] if self.new == "allow" else [NewFunctions(self.new, self.known)]
        return [*new, *self.tables]


class NewFunctions(Decider):
    """What is decided of functions that the operator has not accepted yet."""

    def __init__(self, new: Then, known: KnownFunctions) -> None:
        self._new, self._known = new, known

    def decide(self, call: Call) -> Decision:
        return self._of(call.function)

    def possible(self, function: Function, principal: Principal) -> list[Decision]:
        return [self._of(function)]

    def scope(self, principal: Principal) -> Scope | None:
        return Scope(self._known.version()) if self._new == "deny" else None

    def _of(self, function: Function) -> Decision:
        if not self._known.is_new(function):
            return ALLOWED
        return Decision(self._new, "[policy] new", "it is not among the functions that the operator has accepted")


def rule_tables(
    loaded: Loaded, groups: Groups, effects: Effects, upstreams: Callable[[Function, str], Sequence[Upstream]]
) -> list[RuleTable]:
    """The rules of a distribution and those of the operator, compiled. Raises: ConfigError for one that is wrong, with
    its place."""
    found: list[RuleTable] = []

    def add(rules: Sequence[RuleSettings], default: Then, whose: str, file: str) -> None:
        made = [Rule(each, f"{RULES} {number}{whose}", file, groups, effects) for number, each in enumerate(rules, 1)]
        otherwise = ALLOWED if default == "allow" else Decision(default, f"[policy] default{whose}")
        found.append(RuleTable(made, otherwise, upstreams))

    own, active = loaded.config.policy, loaded.distribution
    if active and (active.policy.rules or active.policy.default != "allow"):
        add(active.policy.rules, active.policy.default, f" of {active.given_by}", active.given_by)
    add(own.rules, own.default, "", loaded.file)
    return found


def check_rules(loaded: Loaded) -> None:
    """Find the faults of rules that a start would find. Raises: ConfigError."""
    rule_tables(
        loaded, Groups(loaded.config.groups), Effects(loaded.config.policy.classes), lambda function, principal: ()
    )
