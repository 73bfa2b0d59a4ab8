"""`[policy]` of a distribution or of the configuration: its rules in their order, and what is decided without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from doorward.model.decisions import ALLOWED, Decision
from doorward.model.functions import Function
from doorward.policy.conditions import Asked, Unanswerable
from doorward.policy.rules import Rule, Upstreams

_MAX_KNOWN = 2000
"""Functions, each for a principal, of which is remembered which rules are for them."""

_ORDER = ("allow", "confirm", "deny")


def stricter(one: Decision, other: Decision) -> Decision:
    """The stricter of two decisions; if they are alike, the one that names a rule."""
    if one.then == other.then:
        return one if one.rule else other
    return max(one, other, key=lambda decision: _ORDER.index(decision.then))


class RuleTable:
    """The first rule that fits a call decides it."""

    def __init__(self, rules: Sequence[Rule], default: Decision) -> None:
        self.rules, self.default = rules, default
        self._known: dict[tuple[int, str], tuple[Function, list[Rule]]] = {}

    def _naming(self, function: Function, principal: str, upstreams: Upstreams) -> list[Rule]:
        """The rules that may fit a principal's calls of a function: all that name an upstream, which may be another at
        the next call, and of the others those that fit. These are found out once."""
        known = self._known.get((id(function), principal))
        if known is not None and known[0] is function:
            return known[1]
        found = [
            rule
            for rule in self.rules
            if rule.principals.fit(principal) and (rule.by_upstream or rule.fits(function, upstreams))
        ]
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[id(function), principal] = function, found
        return found

    def decide(self, function: Function, asked: Asked, upstreams: Upstreams) -> Decision:
        """What is decided of a call. A condition without an answer counts as fitting and as not fitting: the stricter
        of both counts. Raises: DoorwardError if it cannot be told."""
        least = ALLOWED
        for rule in self._naming(function, asked.principal, upstreams):
            if rule.by_upstream and not rule.fits(function, upstreams):
                continue
            if rule.condition is None:
                return stricter(least, rule.decision)
            try:
                if rule.condition.holds(asked):
                    return stricter(least, rule.decision)
            except Unanswerable as error:
                least = stricter(least, _unsure(rule.decision, error))
        return stricter(least, self.default)

    def possible(self, function: Function, principal: str, upstreams: Upstreams) -> list[Decision]:
        """What may be decided of calls of a function, whatever their arguments. Raises: as `decide` does."""
        found = []
        for rule in self._naming(function, principal, upstreams):
            if not rule.by_upstream or rule.fits(function, upstreams):
                found.append(rule.decision)
                if rule.condition is None:
                    return found
        return [*found, self.default]

    def of_route(self, function: Function, principal: str, route: str, upstreams: Upstreams) -> Decision:
        """What is decided of a request by its method and whole path, where the function alone did not tell: it leads to
        what another rule names, or away from what a rule allows. Raises: as `decide` does."""
        strayed = False
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


def denied(function: Function, decision: Decision) -> str:
    """Why a call is refused, for whoever made it."""
    return f"{function.qualified} {not_allowed(decision)}"


def not_allowed(decision: Decision) -> str:
    """The same without the name of the function."""
    why = f": {decision.reason}" if decision.reason else ""
    return f"is not allowed by the operator's policy: {decision.rule}{why}"
