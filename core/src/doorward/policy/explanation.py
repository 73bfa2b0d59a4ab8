"""Why a call is decided as it is, and which rules decide nothing: for operators, who wrote the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from doorward.model.functions import Function
from doorward.model.names import some
from doorward.model.programs import Program

if TYPE_CHECKING:
    from doorward.policy.decisions import Decisions
    from doorward.policy.rules import Rule
    from doorward.policy.tables import RuleTable


class Step(NamedTuple):
    """What a rule says of a call, and whether it counts."""

    rule: str
    then: str
    what: str


def steps(policy: Decisions, function: Function, principal: str) -> Iterator[Step]:
    """What each rule says of a principal's calls of a function, in the order in which they are asked."""
    if refusal := policy.by_lists(Program("", principal=principal), function):
        yield Step("allow and deny", "deny", refusal)
    reached = policy.reached(function, principal)
    for table in policy.rule_tables:
        decided = ""
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
    for decision in policy.possible(function, principal)[-1]:
        if decision.rule:
            yield Step(decision.rule, decision.then, decision.reason)


def fitting(policy: Decisions, functions: Iterable[Function], principal: str) -> dict[str, set[str]]:
    """The functions that each rule is for, whoever asks, by the name of the rule."""
    found: dict[str, set[str]] = {rule.name: set() for table in policy.rule_tables for rule in table.rules}
    for function in functions:
        reached = policy.reached(function, principal)
        for table in policy.rule_tables:
            for rule in table.rules:
                if rule.fits(function, reached):
                    found[rule.name].add(function.qualified)
    return found


def idle(policy: Decisions, functions: Iterable[Function], principal: str) -> Iterator[tuple[str, str]]:
    """The rules that never decide anything, and why: none of these functions fits them, or others stand before."""
    fits = fitting(policy, functions, principal)
    for table in policy.rule_tables:
        for number, rule in enumerate(table.rules):
            if not fits[rule.name]:
                yield rule.name, "no function fits it"
            elif before := _before(rule, table, number, fits):
                yield rule.name, f"it is never asked: all of its calls are decided before, by {some(before)}"


def _before(rule: Rule, table: RuleTable, number: int, fits: Mapping[str, set[str]]) -> list[str]:
    """The rules that decide all calls of a rule before it is asked; none if some are left."""
    left, found = set(fits[rule.name]), []
    for each in table.rules[:number]:
        covers = "*" in each.principals.written or rule.principals.written <= each.principals.written
        if covers and each.condition is None and left & fits[each.name]:
            left -= fits[each.name]
            found.append(each.name)
    return [] if left else found
