"""The writes that a plan withholds."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Function, LimitExceeded
from doorward.access.effects import Effects
from doorward.recording import planned
from doorward.sandboxing import PLANNED_KEY, Planned
from doorward_durable_runs.plans import change_set
from doorward_durable_runs.plans.change_set import Change, ChangeSet, is_as_planned
from doorward_durable_runs.plans.unknown_values import planned_in

READ = Function("api", "get", read_only=True)
WRITE = Function("api", "create")
DELETE = Function("api", "delete", destructive=True)
UNKNOWN = {PLANNED_KEY: [1, "id"]}


def test_writes_are_withheld_in_their_order() -> None:
    """Reads are made, unless they ask for what is not known yet."""
    found = ChangeSet()
    assert found.withhold(READ, {"id": 1}) is None
    assert found.withhold(WRITE, {"title": "a"}) == Planned(1)
    assert found.withhold(READ, {"id": UNKNOWN}) == Planned(-1)
    assert found.withhold(DELETE, {"id": UNKNOWN}) == Planned(2)
    assert [(each.function, each.effect) for each in found.changes] == [
        ("api.create", "write"),
        ("api.delete", "destructive"),
    ]
    assert found.counts() == {"api.create": 1, "api.delete": 1}


def test_what_is_a_read_by_a_guess_is_made_unless_the_operator_says_otherwise() -> None:
    """A plan goes by what functions do, as conventions and `[policy.classes]` say."""
    asks = Function("api", "search", guessed_read=True)
    assert ChangeSet().withhold(asks, {"words": "a"}) is None
    assert ChangeSet(effect_of=Effects({"write": ["api.search"]}).of).withhold(asks, {"words": "a"}) == Planned(1)


def test_there_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no person can read is no plan."""
    monkeypatch.setattr(change_set, "MAX_CHANGES", 2)
    found = ChangeSet()
    for _ in range(2):
        found.withhold(WRITE, {})
    with pytest.raises(LimitExceeded, match="a plan may have 2 writes"):
        found.withhold(WRITE, {})


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (UNKNOWN, Planned(1, ("id",))),
        ({PLANNED_KEY: [2, "a", 0]}, Planned(2, ("a", 0))),
        ({PLANNED_KEY: []}, None),
        ({PLANNED_KEY: ["1"]}, None),
        ({PLANNED_KEY: [1, {}]}, None),
        ({PLANNED_KEY: [1], "more": 1}, None),
        ("x", None),
    ],
)
def test_what_stands_for_an_unknown_value(value: Any, meant: Planned | None) -> None:
    """Only an object of exactly this form does; a program may send any."""
    assert planned(value) == meant
    assert [*planned_in({"deep": [value]})] == ([meant] if meant else [])


@pytest.mark.parametrize(
    ("arguments", "same"),
    [
        ({"id": 7, "title": "a", "labels": ["x"]}, True),
        ({"id": {"any": "thing"}, "title": "a", "labels": ["x"]}, True),
        ({"id": 7, "title": "b", "labels": ["x"]}, False),
        ({"id": 7, "title": "a", "labels": ["x", "y"]}, False),
        ({"id": 7, "title": "a"}, False),
        ({"id": 7, "title": "a", "labels": ["x"], "more": 1}, False),
        ({"id": 7, "title": True, "labels": ["x"]}, False),
    ],
)
def test_a_call_is_compared_with_the_plan(arguments: Any, same: bool) -> None:
    """What was known must be the same, to its type; what was not may be anything."""
    change = Change("api.update", "write", {"id": UNKNOWN, "title": "a", "labels": ["x"]})
    assert is_as_planned(change, "api.update", arguments) is same
    assert not is_as_planned(change, "api.other", arguments)
