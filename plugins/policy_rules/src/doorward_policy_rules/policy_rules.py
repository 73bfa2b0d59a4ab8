"""The deciders by rules: those of a distribution, those of the operator, and what is decided of new functions. Each may
only tighten what the others say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from doorward import Call, Decider, Decision, Function, Principal, Scope, hookimpl, log
from doorward.deciding import ALLOWED, Effects

from doorward_policy_rules.known_functions import KnownFunctions
from doorward_policy_rules.rules import Rule
from doorward_policy_rules.settings import Then
from doorward_policy_rules.tables import RuleTable

if TYPE_CHECKING:
    from doorward import Gateway, PluginContext
    from doorward.configuration import Upstream

    from doorward_policy_rules.settings import RuleSettings

RULES = "[[policy.rules]]"
ORDER: Sequence[Then] = ("allow", "confirm", "deny")


class PolicyRules:
    """The hook plugin: the rules of a configuration. Raises: ConfigError for one that is wrong, with its place."""

    def __init__(self, context: PluginContext) -> None:
        effects = Effects(context.policies[""].classes)
        self._gateway: Gateway
        self._context, self._effects = context, effects
        self.known = KnownFunctions(context.state, effects)
        self.new: Then = "allow"
        self.tables: list[RuleTable] = []
        for whose, policy in context.policies.items():
            self.new = max(self.new, getattr(policy, "new", "allow"), key=ORDER.index)
            default: Then = getattr(policy, "default", "allow")
            if (rules := getattr(policy, "rules", [])) or default != "allow" or not whose:
                self.tables.append(self._table(rules, default, whose, context, effects))
        if self.new != "allow" and self.known.accepted() is None:
            log.warning(
                "policy_new_without_list", hint="`doorward policy accept` stores which functions there are now."
            )

    def made(self, settings: RuleSettings) -> Rule:
        """A rule that decides nothing. Raises: ConfigError if it is wrong."""
        return Rule(settings, "this rule", "", self._context.members, self._effects)

    def _table(
        self, rules: Sequence[RuleSettings], default: Then, whose: str, context: PluginContext, effects: Effects
    ) -> RuleTable:
        of = f" of {whose}" if whose else ""
        made = [
            Rule(each, f"{RULES} {number}{of}", whose, context.members, effects) for number, each in enumerate(rules, 1)
        ]
        otherwise = ALLOWED if default == "allow" else Decision(default, f"[policy] default{of}")
        return RuleTable(made, otherwise, self._upstreams)

    def _upstreams(self, function: Function, principal: str) -> Sequence[Upstream]:
        return self._gateway.servers.upstreams(function, principal)

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        self._gateway = gateway
        for number, rule in enumerate(getattr(self._context.policies[""], "rules", []), 1):
            gateway.principals.expect(f"{RULES} {number} match", rule.match)

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
