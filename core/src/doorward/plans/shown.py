"""A change set as an agent reads it: grouped, counted and bounded."""

from __future__ import annotations

from typing import Any

from doorward.data import marked_places
from doorward.data.values import cut, plain
from doorward.model.outcomes import Plan, PlannedCall, PlannedCalls
from doorward.plans.change_set import ChangeSet

MOST_SHOWN = 50
"""Calls of a plan that are shown."""

_BYTES_SHOWN = 600
"""Of the arguments of one call, about."""


def _cut(arguments: Any) -> Any:
    return cut(plain(arguments), _BYTES_SHOWN)


def shown(found: ChangeSet) -> Plan:
    """What a program would change. Of many calls the first of each function are shown."""
    groups: dict[tuple[str, str, str], list[PlannedCall]] = {}
    for change in found.changes:
        rule = ""
        if change.decision.then == "confirm":
            rule = ": ".join(filter(None, (change.decision.rule, change.decision.reason))) or "policy"
        arguments, places = marked_places.shown(dict(change.arguments), change.files, _cut)
        call: PlannedCall = {"n": change.number, "arguments": arguments, **places}  # type: ignore[typeddict-item]
        groups.setdefault((change.function, change.effect, rule), []).append(call)
    left, changes = MOST_SHOWN, []
    for number, ((function, effect, rule), calls) in enumerate(groups.items()):
        calls = calls[: max(1, left // (len(groups) - number))] if left > 0 else []
        left -= len(calls)
        if calls:
            changes.append(PlannedCalls(function, effect, tuple(calls), rule))
    return Plan(changes=tuple(changes), counts=found.counts())
