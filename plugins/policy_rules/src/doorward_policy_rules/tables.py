"""`[policy]` of a distribution or of the configuration: its rules in their order, and what is decided without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from doorward import Call, Decider, Decision, Function, Principal, Scope
from doorward.deciding import ALLOWED, Reached, stricter

from doorward_policy_rules.conditions import Unanswerable, asked_of
from doorward_policy_rules.rules import Rule, Upstreams

if TYPE_CHECKING:
    from doorward.configuration import Upstream

_MAX_KNOWN = 2000
"""Functions, each for a principal, of which is remembered which rules are for them."""


class RuleTable(Decider):
    """The first rule that fits a call decides it. `upstreams` answers where calls of a principal may go."""

    def __init__(
        self,
        rules: Sequence[Rule],
        default: Decision,
        upstreams: Callable[[Function, str], Sequence[Upstream]],
    ) -> None:
        self.rules, self.default, self._upstreams = rules, default, upstreams
        self._known: dict[tuple[int, str], tuple[Function, list[Rule]]] = {}

    def reached(self, function: Function, principal: str) -> Reached:
        """The upstreams of a function, for rules that name one."""
        return Reached(self._upstreams, function, principal)

    def scope(self, principal: Principal) -> Scope | None:
        theirs = tuple(rule for rule in self.rules if rule.is_for(principal))
        if all(each.then != "deny" for each in (self.default, *(rule.decision for rule in theirs))):
            return None
        return Scope(theirs, principal if any(rule.by_upstream for rule in theirs) else "")

    def _naming(self, function: Function, principal: str, upstreams: Upstreams) -> list[Rule]:
        """The rules that may fit a principal's calls of a function: all that name an upstream, which may be another at
        the next call, and of the others those that fit. These are found out once."""
        known = self._known.get((id(function), principal))
        if known is not None and known[0] is function:
            return known[1]
        found = [
            rule
            for rule in self.rules
            if rule.is_for(principal) and (rule.by_upstream or rule.fits(function, upstreams))
        ]
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[id(function), principal] = function, found
        return found

    def decide(self, call: Call) -> Decision:
        """What is decided of a call. A condition without an answer counts as fitting and as not fitting: the stricter
        of both counts. Raises: DoorwardError if it cannot be told."""
        function, upstreams = call.function, self.reached(call.function, call.principal)
        least, asked = ALLOWED, None
        for rule in self._naming(function, call.principal, upstreams):
            if rule.by_upstream and not rule.fits(function, upstreams):
                continue
            if rule.condition is None:
                return stricter(least, rule.decision)
            asked = asked or asked_of(call)
            try:
                if rule.condition.holds(asked):
                    return stricter(least, rule.decision)
            except Unanswerable as error:
                least = stricter(least, _unsure(rule.decision, error))
        return stricter(least, self.default)

    def possible(self, function: Function, principal: str) -> list[Decision]:
        """What may be decided of calls of a function, whatever their arguments. Raises: as `decide` does."""
        found, upstreams = [], self.reached(function, principal)
        for rule in self._naming(function, principal, upstreams):
            if not rule.by_upstream or rule.fits(function, upstreams):
                found.append(rule.decision)
                if rule.condition is None:
                    return found
        return [*found, self.default]

    def decide_route(self, function: Function, principal: Principal, route: str) -> Decision:
        """What is decided of a request by its method and whole path, where the function alone did not tell: it leads to
        what another rule names, or away from what a rule allows. Raises: as `decide` does."""
        strayed, upstreams = False, self.reached(function, principal)
        for rule in self._naming(function, principal, upstreams):
            if rule.by_upstream and not rule.fits(function, upstreams):
                if rule.meets(function, route, upstreams):
                    return rule.decision
            elif not rule.covers(function, route, upstreams):
                strayed = True
            elif rule.condition is None:
                return ALLOWED
        return self.default if strayed else ALLOWED


def _unsure(decision: Decision, error: Exception) -> Decision:
    why = f"its condition has no answer: {error}"
    return replace(decision, reason=f"{decision.reason} ({why})" if decision.reason else why)
