"""The rules of a gateway as a person reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward import Function, Gateway

    from doorward_policy_rules.policy_rules import PolicyRules
    from doorward_policy_rules.rules import Rule


def explained(gate: Gateway, name: str | None, principal: str, *, count: bool = True) -> list[dict[str, Any]]:
    """The rules in the order in which they are asked: `{"rule", "then", "functions", "for"}`, of how many functions
    each decides for a principal, if that is to be counted; or what each says of the function of this name. Raises:
    UnknownName."""
    from doorward_policy_rules.explanation import fitting, steps

    if (rules := rules_of(gate)) is None:
        return []
    if name is not None:
        function = gate.broker.functions.find(name, principal)
        return [step._asdict() for step in steps(gate.discovery.policy, rules, function, principal)]
    fits = fitting(rules, functions_of(gate), principal) if count else {}
    return [
        {"rule": rule.name, "then": rule.decision.then}
        | ({"functions": len(fits[rule.name])} if count else {})
        | {"for": _shown(rule)}
        for each in rules.tables
        for rule in each.rules
    ]


def rules_of(gate: Gateway) -> PolicyRules | None:
    """The rules of a gateway; `None` if it has none."""
    found: PolicyRules | None = gate.plugins.manager.get_plugin("rules")
    return found


def functions_of(gate: Gateway, servers: Sequence[str] = ()) -> Iterator[Function]:
    """The functions of these servers; of all, if none is named."""
    for server in servers or gate.servers.modules:
        yield from gate.catalog.functions(server)


def _shown(rule: Rule) -> str:
    """What a rule is for, in a line."""
    given = rule.settings.model_dump(by_alias=True, exclude_defaults=True, exclude={"then"})
    return json.dumps(given, ensure_ascii=False)
