"""Answers of another type than their function declares."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Function
from doorward_testing.samples import CONFIG, Weather
from doorward_text.type_mismatches import type_mismatch

STRING, OBJECT = {"type": "string"}, {"type": "object"}
DEFINED = {"Zone": OBJECT, "Loop": {"$ref": "#/$defs/Loop"}, "a/b": {"type": "array"}}


@pytest.mark.parametrize(
    ("declared", "value", "said"),
    [
        (STRING, {"zone": "text", "b": 1}, "a dict with zone, b; its signature says str"),
        (STRING, {}, "an empty dict; its signature says str"),
        (OBJECT, [1], "a list of 1, an int; its signature says dict"),
        ({"$ref": "#/$defs/Zone"}, "text", "a str; its signature says dict"),
        ({"$ref": "#/$defs/a/b"}, "text", "a str; its signature says list"),
        ({"type": ["array", "null"]}, 7, "an int; its signature says list | None"),
        (OBJECT, True, "a bool; its signature says dict"),
        (STRING, {f"k{n}\u202e": n for n in range(12)}, "a dict with k0, k1, "),
        (STRING, "text", ""), (STRING, None, ""), (STRING, {"artefact": "doorward://x", "bytes": 1}, ""), ({"type": "number"}, 7, ""),
        ({"type": "integer"}, 7.0, ""), (None, [1], ""), (True, [1], ""), ({}, [1], ""), ({"anyOf": [STRING, OBJECT]}, [1], ""),
        ({"$ref": "#/$defs/Loop"}, 1, ""), ({"$ref": "#/$defs/None"}, 1, ""), ({"type": "file"}, 1, ""), ({"type": 3}, 1, ""),
    ],
)  # fmt: skip
def test_another_type_is_told(declared: Any, value: Any, said: str) -> None:
    """Where it is surely another one, as a whole: which, with the names of an object, and which was declared."""
    told = type_mismatch(Function("dns", "export", "export", returns=declared), value, DEFINED.get)
    assert said in told
    assert bool(told) == bool(said)
    assert told.isprintable()


RECORD = {
    "type": "object",
    "properties": {"data": {"type": "array"}, "zone": {"$ref": "#/$defs/Zone"}, "any": {}, "n": {"type": "integer"}},
}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"data": {"id": 1}}, "answered 'data' as a dict with id; its signature says list"),
        ({"data": [], "zone": "text"}, "answered 'zone' as a str; its signature says dict"),
        ({"data": {"artefact": "doorward://x"}}, ""), ({"data": None, "any": 3, "other": 1, "n": 1.0}, ""), ({}, ""),
        ({"artefact": "doorward://x", "data": 1}, ""),
    ],
)  # fmt: skip
def test_a_member_of_another_type_is_told(value: Any, said: str) -> None:
    """So is one below the answer itself, of those that are declared."""
    told = type_mismatch(
        Function("dns", "export", "export", returns={"$ref": "#/$defs/Record"}),
        value,
        (DEFINED | {"Record": RECORD}).get,
    )
    assert said in told
    assert bool(told) == bool(said)


@pytest.mark.anyio
async def test_a_run_tells_it_once(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that fails by it, or does not, has a note; one for all calls of the function."""

    async def listed(self: Weather, call: Any) -> Any:
        return ["sun"] * (1 + len(call.arguments["city"]))

    monkeypatch.setattr(Weather, "call", listed)
    async with doorward_host.gateway(CONFIG) as gate:
        code = "days = [await weather.get_forecast(city=n * 'o') for n in range(3)]\nresult = days[0]['high']"
        outcome = await gate.execute(code)
        assert not outcome.ok
        assert outcome.notes == ("weather.get_forecast answered a list of 1, a str; its signature says dict.",)


@pytest.mark.anyio
async def test_what_differs_from_call_to_call_is_told_once(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of an answer are new in each: one of them is told."""

    async def numbered(self: Weather, call: Any) -> Any:
        return {"high": {call.arguments["city"]: 1}}

    monkeypatch.setattr(Weather, "call", numbered)
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute("for n in range(5):\n    await weather.get_forecast(city=str(n))\nn")
        assert outcome.notes == ("weather.get_forecast answered 'high' as a dict with 0; its signature says float.",)
