"""Refusals of an API that name a place among the arguments."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Function, ServerError
from doorward.model.errors import ApiError
from doorward_testing.samples import CONFIG, Weather
from doorward_text.refusals import class_refused

STATE = {"type": "object", "properties": {"type": {"$ref": "#/$defs/Type"}, "name": {"type": "string"}}}
TYPE = {"type": "object", "properties": {"any_": {"type": "array", "items": {"type": "string"}}}}
RUNS = {"type": "object", "properties": {"state": {"$ref": "#/$defs/State"}}}
PARAMETERS = {
    "type": "object",
    "properties": {
        "flow_runs": {"anyOf": [{"$ref": "#/$defs/Runs"}, {"type": "null"}]},
        "sets_body": {"type": "array", "items": {"$ref": "#/$defs/State"}},
        "limit": {"type": "integer"},
    },
}
FUNCTION = Function("prefect", "count", parameters=PARAMETERS, names={"sets_body": "sets"})
DEFINITIONS: Any = {"State": STATE, "Type": TYPE, "Runs": RUNS}


def hint(said: str, status: int = 422) -> str:
    return class_refused(FUNCTION, ApiError(f"prefect.count answered {status}: {said}", status=status), DEFINITIONS.get)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "body.flow_runs.state.type.any: Extra inputs are not permitted",
            "flow_runs.state.type.any is of the type Type",
        ),
        ("body.flow_runs.state.type: wrong", "flow_runs.state.type is of the type Type"),
        ("/flow_runs/state/type/any is wrong", "flow_runs.state.type"),
        ("see https://x.example/flow_runs/1; $.sets[0].nam: no", "sets_body[0]"),
        ("sets.3.name must not be empty.", "sets_body[3]"),
        ("body.flow_runs: wrong", "flow_runs is of the type Runs"),
        ("body.limit: too much", ""),
        ("flow_runs is wrong", ""),
        ("body.flow_runs.nothing.type.any: no", ""),
        ("body.other.state: no", ""),
        ("example.com/flow_runs/state: no", ""),
        ("." * 3000 + "[" * 3000, ""),
        ("body." * 3000, ""),
        ("flow_runs.999999999999999999999999.²", ""),
    ],
)
def test_the_class_at_the_place(said: str, shown: str) -> None:
    """Only where the arguments have the place, but for its last part: the class there, or what it is in."""
    told = hint(said)
    assert bool(told) == bool(shown)
    if shown:
        assert told.startswith(shown.partition(" is")[0].removesuffix(".any").removesuffix(".nam"))
        assert "class " in told
    assert len(told) < 2000
    assert not hint(said, 500)


def test_other_errors_have_none() -> None:
    """What is no answer of an API is left as it is."""
    assert class_refused(FUNCTION, ServerError("body.flow_runs.state: x"), DEFINITIONS.get) == ""


@pytest.mark.anyio
async def test_a_run_is_told(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint of a refusal that a program does not catch; one that the source gave stays."""

    async def refused(self: Weather, call: Any) -> Any:
        raise ApiError("it answered 422: body.city.name: no", status=422, hint=given[0])

    made, given = Weather.compile, [""]

    async def compiled(self: Weather) -> Any:
        found = await made(self)
        place = {"type": "object", "properties": {"city": {"type": "object", "properties": {"id": {"type": "string"}}}}}
        object.__setattr__(found.functions[0], "parameters", place)
        return found

    monkeypatch.setattr(Weather, "call", refused)
    monkeypatch.setattr(Weather, "compile", compiled)
    async with doorward_host.gateway(CONFIG) as gate:
        for given[0], said in (("", "city is of the type"), ("Wait.", "Wait.")):
            error = (await gate.execute("await weather.get_forecast(city={'id': 'x'})")).error
            assert error.hint.startswith(said)
