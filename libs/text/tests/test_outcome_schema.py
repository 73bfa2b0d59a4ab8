"""The schema of an answer against the dataclass, and against what is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, get_args

import jsonschema_rs
import pytest
from doorward.model.programs import Artefact, Failure, Frame, Kind, Outcome, Waiting
from doorward_testing.schemas import closed
from doorward_text import outcome_as_dict, outcome_as_text, outcome_names, outcome_schema


@dataclass(frozen=True)
class Weight:
    """A part that a plugin adds."""

    grams: int = 0
    parcels: tuple[str, ...] = ()
    by: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> Any:
        return {"grams": self.grams, "parcels": [*self.parcels], "by": dict(self.by)}

    def as_lines(self) -> Sequence[str]:
        return [f"weight: {self.grams} g"]

    def sealed(self) -> Weight:
        return self


PARTS = {"weight": Weight}
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
    parts={"weight": Weight(3, ("a",), {"a": 3})},
    notes=("it is odd",),
    executor="monty",
    ms=1.5,
)


def test_every_field_is_in_the_schema() -> None:
    """An answer with all that there is has all that the schema names, and nothing else; so has the one of few words."""
    names = ["weight" if each.name == "parts" else each.name for each in fields(Outcome)]
    whole, brief = outcome_schema(PARTS), outcome_names(PARTS)
    assert [*whole["properties"]] == [*brief["properties"]] == names == [*outcome_as_dict(FULL)]
    jsonschema_rs.validate(closed(whole), outcome_as_dict(FULL))
    assert jsonschema_rs.is_valid({**brief, "additionalProperties": False}, outcome_as_dict(FULL))
    assert "weight" not in outcome_schema()["properties"]
    assert "\nweight: 3 g\n" in outcome_as_text(FULL)
    assert outcome_schema()["properties"]["error"]["properties"]["kind"]["enum"] == [*get_args(Kind)]


@pytest.mark.parametrize("outcome", [Outcome(True), Outcome(False), Outcome(False, error=Failure("guard", "", ""))])
def test_what_is_left_out_is_not_required(outcome: Outcome) -> None:
    """An answer with as little as there may be fits."""
    jsonschema_rs.validate(closed(outcome_schema()), outcome_as_dict(outcome))


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
