"""Why a call is decided as it is, and which rules decide nothing: for operators, who wrote the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from doorward import Function, Principal, Program
from doorward.administration import some

from doorward_policy_rules.tables import RuleTable

if TYPE_CHECKING:
    from doorward.deciding import Policy

    from doorward_policy_rules.policy_rules import PolicyRules
    from doorward_policy_rules.rules import Rule


class Step(NamedTuple):
    """What a rule says of a call, and whether it counts."""

    rule: str
    then: str
    what: str


def steps(policy: Policy, rules: PolicyRules, function: Function, principal: str) -> Iterator[Step]:
    """What each rule says of a principal's calls of a function, in the order in which they are asked."""
    if refusal := policy.refusal_by_lists(Program("", principal=principal), function):
        yield Step("allow and deny", "deny", refusal)
    for table in rules.tables:
        decided, reached = "", table.reached(function, principal)
        for rule in table.rules:
            if decided:
                what = f"not asked: {decided} decides"
            elif why := rule.unfit(function, principal, reached):
                what = f"does not fit: {why}"
            elif rule.condition:
                what = f"fits when {rule.condition.text}"
            else:
                what, decided = "fits", rule.name
            yield Step(rule.name, rule.decision.then, what)
        default = table.default
        yield Step(default.rule or "default", default.then, f"not asked: {decided} decides" if decided else "fits")
    for decider in rules.deciders():
        for decision in () if isinstance(decider, RuleTable) else decider.possible(function, Principal.of(principal)):
            if decision.rule:
                yield Step(decision.rule, decision.then, decision.reason)


def fitting(rules: PolicyRules, functions: Iterable[Function], principal: str) -> dict[str, set[str]]:
    """The functions that each rule is for, whoever asks, by the name of the rule."""
    found: dict[str, set[str]] = {rule.name: set() for table in rules.tables for rule in table.rules}
    for function in functions:
        for table in rules.tables:
            reached = table.reached(function, principal)
            for rule in table.rules:
                if rule.fits(function, reached):
                    found[rule.name].add(function.qualified)
    return found


def idle(rules: PolicyRules, functions: Iterable[Function], principal: str) -> Iterator[tuple[str, str]]:
    """The rules that never decide anything, and why: none of these functions fits them, or others stand before."""
    fits = fitting(rules, functions, principal)
    for table in rules.tables:
        for number, rule in enumerate(table.rules):
            if not fits[rule.name]:
                yield rule.name, "no function fits it"
            elif before := _before(rule, table, number, fits):
                yield rule.name, f"it is never asked: all of its calls are decided before, by {some(before)}"


def _before(rule: Rule, table: RuleTable, number: int, fits: Mapping[str, set[str]]) -> list[str]:
    """The rules that decide all calls of a rule before it is asked; none if some are left."""
    left, found = set(fits[rule.name]), []
    for each in table.rules[:number]:
        if each.covers_principals(rule) and each.condition is None and left & fits[each.name]:
            left -= fits[each.name]
            found.append(each.name)
    return [] if left else found
