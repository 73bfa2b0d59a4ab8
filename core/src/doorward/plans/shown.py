"""A change set for a reader: grouped and counted; for an agent bounded, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from doorward.data import marked_places
from doorward.data.values import cut, plain
from doorward.model.outcomes import Plan, PlannedCall, PlannedCalls
from doorward.plans.change_set import Change, ChangeSet

MOST_SHOWN = 50
"""Calls of a plan that an agent is shown; whoever approves of it is shown all."""

_BYTES_SHOWN = 600
"""Of the arguments of one call, about."""


def _cut(arguments: Any) -> Any:
    return cut(plain(arguments), _BYTES_SHOWN)


def shown(found: ChangeSet) -> Plan:
    """What a program would change. Of many calls the first of each function are shown."""
    groups = grouped(found.changes, lambda change: planned_call(change.number, change.arguments, change.files, _cut))
    left, changes = MOST_SHOWN, []
    for number, each in enumerate(groups):
        calls = each.calls[: max(1, left // (len(groups) - number))] if left > 0 else ()
        left -= len(calls)
        if calls:
            changes.append(replace(each, calls=calls))
    return Plan(changes=tuple(changes), counts=found.counts())


def grouped(changes: Iterable[Change], call: Callable[[Change], PlannedCall]) -> list[PlannedCalls]:
    """Changes by their function, and by the rule that has a person asked about them. `call` shows one."""
    groups: dict[tuple[str, str, str], list[PlannedCall]] = {}
    for change in changes:
        rule = ""
        if change.decision.then == "confirm":
            rule = ": ".join(filter(None, (change.decision.rule, change.decision.reason))) or "policy"
        groups.setdefault((change.function, change.effect, rule), []).append(call(change))
    return [PlannedCalls(function, effect, tuple(each), rule) for (function, effect, rule), each in groups.items()]


def planned_call(
    number: int | str, arguments: Mapping[str, Any], files: Mapping[str, str], cut: Callable[[Any], Any]
) -> PlannedCall:
    """A call for a reader. `files` are the words for the bytes in its arguments."""
    said, places = marked_places.shown(dict(arguments), files, cut)
    return {"n": number, "arguments": said, **places}  # type: ignore[typeddict-item]
