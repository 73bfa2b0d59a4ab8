"""Decides calls: the operator's lists, then the rules of a distribution and of the operator, then plugins. Each may
only tighten what those before it said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doorward.access.groups import Groups
from doorward.access.policy import Policy, Reached, Scope
from doorward.data.json_writing import dump
from doorward.host.logs import log
from doorward.model.calls import Call
from doorward.model.decisions import ALLOWED, Decision, Then
from doorward.model.errors import DoorwardError
from doorward.model.functions import Function
from doorward.model.programs import Program
from doorward.policy.conditions import Asked
from doorward.policy.effects import Effects
from doorward.policy.known_functions import KnownFunctions
from doorward.policy.rules import Rule
from doorward.policy.tables import RuleTable, denied, not_allowed, stricter

if TYPE_CHECKING:
    from doorward.access.principals import Principals
    from doorward.config.config import Loaded
    from doorward.config.rule_settings import RuleSettings
    from doorward.config.upstream_patterns import Upstream
    from doorward.plugins.manager import Plugins

RULES = "[[policy.rules]]"


class Decisions(Policy):
    """A policy with rules, or with plugins that decide."""

    decides = True

    def __init__(
        self,
        loaded: Loaded,
        principals: Principals,
        upstreams: Callable[[Function, str], Sequence[Upstream]],
        plugins: Plugins,
    ) -> None:
        super().__init__(loaded, principals, upstreams)
        self.groups, self.effects = Groups(loaded.config.groups), Effects(loaded.config.policy.classes)
        self.known = KnownFunctions(loaded.state_folder(), self.effects)
        self.new: Then = loaded.config.policy.new
        self.rule_tables = rule_tables(loaded, self.groups, self.effects)
        implemented = plugins.manager.hook.decide.get_hookimpls()
        self._plugins: Callable[..., list[Decision]] | None = plugins.manager.hook.decide if implemented else None
        if self.new != "allow" and self.known.accepted() is None:
            log.warning(
                "policy_new_without_list", hint="`doorward policy accept` stores which functions there are now."
            )

    def reached(self, function: Function, principal: str) -> Reached:
        """The upstreams of a function, for patterns that name one."""
        return Reached(self._upstreams, function, principal)

    # Of a function, whatever the arguments of a call

    def scope(self, principal: str) -> Scope | None:
        base = super().scope(principal)
        theirs = tuple(r for table in self.rule_tables for r in table.rules if r.principals.fit(principal))
        denies = any(rule.decision.then == "deny" for rule in theirs) or self.new == "deny"
        if not denies and all(table.default.then != "deny" for table in self.rule_tables):
            return base
        more = theirs, self.known.version() if self.new == "deny" else 0
        by_upstream = bool(base and base.principal) or any(rule.by_upstream for rule in theirs)
        return Scope(self._rules(principal)[-1], principal if by_upstream else "", more)

    def allows(self, function: Function, principal: str) -> bool:
        if not super().allows(function, principal):
            return False
        try:
            return self.hidden(function, principal) is None
        except DoorwardError:
            return False

    def by_lists(self, program: Program, function: Function) -> str | None:
        """Why the lists `allow` and `deny` do not let a program call a function, or `None`."""
        return super().refusal(program, function)

    def refusal(self, program: Program, function: Function) -> str | None:
        if refusal := self.by_lists(program, function):
            return refusal
        hidden = self.hidden(function, program.principal)
        return denied(function, hidden) if hidden else None

    def possible(self, function: Function, principal: str) -> list[list[Decision]]:
        """What may be decided of calls of a function: by each table, and for one that is new. What is decided is the
        strictest of one of each. Raises: DoorwardError if it cannot be told."""
        reached = self.reached(function, principal)
        found = [table.possible(function, principal, reached) for table in self.rule_tables]
        return [*found, [self._of_new(function)]]

    def hidden(self, function: Function, principal: str) -> Decision | None:
        for decisions in self.possible(function, principal):
            if all(each.then == "deny" for each in decisions):
                return decisions[-1]
        return None

    def by_call(self, function: Function, principal: str) -> bool:
        possible = [each for decisions in self.possible(function, principal) for each in decisions]
        if self._plugins:
            possible += self._plugins(call=Call(function, {}, principal=principal))
        return any(each.then != "allow" for each in possible)

    def told(self, function: Function, principal: str) -> str:
        asking = self.possible(function, principal)
        surely = [each for each in asking if all(decision.then != "allow" for decision in each)]
        for decisions in surely or asking:
            for decision in decisions:
                if decision.then == "confirm":
                    verb = "asks" if decisions in surely else "may ask"
                    why = f": {decision.reason}" if decision.reason else ""
                    which = "" if decisions in surely else ", depending on its arguments"
                    return f"A call {verb} a person first{which}{why}."
        return ""

    def _of_new(self, function: Function) -> Decision:
        if self.new == "allow" or not self.known.is_new(function):
            return ALLOWED
        return Decision(self.new, "[policy] new", "it is not among the functions that the operator has accepted")

    # Of a call

    def decide(self, call: Call, made: int, argument_bytes: int = -1) -> Decision:
        reached, found = self.reached(call.function, call.principal), self._of_new(call.function)
        asked = self._asked(call, made, argument_bytes)
        for table in self.rule_tables:
            found = stricter(found, table.decide(call.function, asked, reached))
        for each in self._plugins(call=call) if self._plugins else ():
            found = stricter(found, each if each.rule else Decision(each.then, "a plugin", each.reason))
        return found

    def _asked(self, call: Call, made: int, argument_bytes: int) -> Asked:
        size = len(dump(call.arguments)) if argument_bytes < 0 else argument_bytes
        name, server = call.function.qualified, call.function.server
        return Asked(call.arguments, call.principal, self.groups.of(call.principal), name, server, made, size)

    def refusal_of_route(self, program: Program, function: Function, route: str) -> str:
        if refusal := super().refusal_of_route(program, function, route):
            return refusal
        reached = self.reached(function, program.principal)
        found = ALLOWED
        for table in self.rule_tables:
            found = stricter(found, table.of_route(function, program.principal, route, reached))
        if found.then == "allow":
            return ""
        if found.then == "deny":
            return f"{function.qualified}: {route[:200]} {not_allowed(found)}"
        return (
            f"{function.qualified}: {route[:200]} needs a person's approval by {found.rule}, and it is too late to "
            "ask: the rule does not name this function"
        )


def rule_tables(loaded: Loaded, groups: Groups, effects: Effects) -> list[RuleTable]:
    """The rules of a distribution and those of the operator, compiled. Raises: ConfigError for one that is wrong, with
    its place."""
    found: list[RuleTable] = []

    def add(rules: Sequence[RuleSettings], default: Then, whose: str, file: str) -> None:
        made = [Rule(each, f"{RULES} {number}{whose}", file, groups, effects) for number, each in enumerate(rules, 1)]
        otherwise = ALLOWED if default == "allow" else Decision(default, f"[policy] default{whose}")
        found.append(RuleTable(made, otherwise))

    own, active = loaded.config.policy, loaded.distribution
    if active and (active.policy.rules or active.policy.default != "allow"):
        add(active.policy.rules, active.policy.default, f" of {active.given_by}", active.given_by)
    add(own.rules, own.default, "", loaded.file)
    return found


def check_rules(loaded: Loaded) -> None:
    """Find the faults of rules that a start would find. Raises: ConfigError."""
    rule_tables(loaded, Groups(loaded.config.groups), Effects(loaded.config.policy.classes))
