"""The schema of an answer against the dataclass, and against what is made of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import jsonschema_rs
import pytest
from doorward.model.outcomes import Artefact, Outcome, Plan, PlannedCalls, Waiting
from doorward.model.programs import Failure, Frame, Kind
from doorward.results.outcome_schema import outcome_names, outcome_schema
from doorward.results.outcome_text import as_dict
from doorward_testing.schemas import closed

FULL = Outcome(
    True,
    value={"a": [1, None]},
    printed="x",
    cache_id="c",
    next="run_cached_code(…)",
    session_id="s",
    calls=({"function": "a.b", "ok": True, "count": 1, "ms": 0.5},),
    usage={"a": {"tokens": 12, "cost": 0.5}},
    artefacts=(Artefact("doorward://results/a", "image/png", 0, "a.png"),),
    truncated={"shape": "list", "bytes": 5, "rest": "doorward://results/b", "read": "doorward.read(…)"},
    error=Failure("program", "KeyError", "'x'", 3, (Frame(3, "<module>"),), "Look."),
    waiting=Waiting("approval", "r1", ("github.repos_delete: ask",), 'resume_run("r1")'),
    plan=Plan(
        "r2",
        (
            PlannedCalls(
                "github.repos_delete", "destructive", ({"n": 1, "arguments": {"repo": "a"}},), "[[policy.rules]] 1"
            ),
        ),
        {"github.repos_delete": 1},
        ("github.repos_get: it is gone",),
        'commit_plan("r2")',
    ),
    notes=("it is odd",),
    executor="monty",
    ms=1.5,
)


def test_every_field_is_in_the_schema() -> None:
    """An answer with all that there is has all that the schema names, and nothing else; so has the one of few words."""
    names = [field.name for field in fields(Outcome)]
    assert [*outcome_schema()["properties"]] == [*outcome_names()["properties"]] == names == [*as_dict(FULL)]
    jsonschema_rs.validate(closed(outcome_schema()), as_dict(FULL))
    assert jsonschema_rs.is_valid({**outcome_names(), "additionalProperties": False}, as_dict(FULL))
    assert outcome_schema()["properties"]["error"]["properties"]["kind"]["enum"] == [*get_args(Kind)]


@pytest.mark.parametrize("outcome", [Outcome(True), Outcome(False), Outcome(False, error=Failure("guard", "", ""))])
def test_what_is_left_out_is_not_required(outcome: Outcome) -> None:
    """An answer with as little as there may be fits."""
    jsonschema_rs.validate(closed(outcome_schema()), as_dict(outcome))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"ok": 1, "ms": 1},
        {"ok": True},
        {"ok": True, "ms": 1, "more": 1},
        {"ok": True, "ms": 1, "calls": [{"function": "a.b"}]},
        {"ok": True, "ms": 1, "usage": {"a": {"tokens": "many"}}},
    ],
)
def test_what_is_no_answer_does_not_fit(wrong: Any) -> None:
    """The schema says something."""
    assert not jsonschema_rs.is_valid(closed(outcome_schema()), wrong)
