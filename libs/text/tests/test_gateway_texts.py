"""Functions and mistakes through a gateway, as agents read them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from doorward import Function
from doorward_testing.samples import CONFIG, Anything
from doorward_testing.scripted import Scripted

pytestmark = pytest.mark.anyio
NO_PARAMETERS = {"type": "object", "properties": {}}
ANY_SOURCE = CONFIG.replace('"fake"', '"any"')
BOTH = CONFIG.replace('"inprocess"', '["inprocess", "scripted"]')


def function(name: str, **fields: Any) -> Function:
    return replace(Function("weather", name, name, read_only=True, parameters=NO_PARAMETERS), **fields)


@pytest.fixture
def source(doorward_host: Any) -> type[Anything]:
    class Source(Anything):
        functions, answers, calls = {}, {}, []

    doorward_host.install("source", "any", Source)
    return Source


@pytest.fixture
def scripted(doorward_host: Any) -> Any:
    doorward_host.install("executor", "scripted", Scripted)
    return doorward_host


async def test_a_card_is_python(doorward_host: Any) -> None:
    """Its import line, its signature, and its types. CONTRACT: DIS-03, DIS-09."""
    async with doorward_host.gateway(CONFIG) as gate:
        (card,) = await gate.get_functions(["weather.getForecast"])
        assert card["import"] == "from weather import get_forecast"
        assert card["signature"].startswith("def get_forecast(")
        assert "city: str" in card["text"]
        assert "def get_forecast" in card["text"]


async def test_arguments_are_checked_before_the_call(doorward_host: Any) -> None:
    """The hint has what is right. CONTRACT: SEC-10."""
    async with doorward_host.gateway(CONFIG) as gate:
        for code, said in [
            ("await weather.get_forecast(town='x')", "no parameter 'town'"),
            ("await weather.get_forecast()", "needs the argument 'city'"),
            ("await weather.get_forecast(city=3)", "argument city"),
            ("await weather.get_forecast('a', city='b')", "two values for 'city'"),
            ("await weather.get_forecast('a', 1, 2)", "takes 2 arguments"),
        ]:
            error = (await gate.execute(code)).error
            assert error is not None
            assert said in error.message
            assert "city: str" in (error.hint or "")


CALLS = [
    ('await weather.get_forecast({"city": "Oslo", "days": 3})', None),
    ('await weather.get_forecast("Oslo", 3)', None),
    ('await weather.get_forecast("Oslo", {"days": 3})', None),
    ('await weather.get_forecast({"city": 5})', "argument city: expected string, got number 5"),
    ('await weather.get_forecast({"town": "Oslo"})', "has no parameter 'town'"),
    ('await weather.get_forecast({"city": null})', "argument city: expected string, got null"),
    ('await weather.get_forecast({"city": {"a": [1]}})', "argument city: expected string, got an object with 'a'"),
]


@pytest.mark.parametrize(("code", "wrong"), CALLS)
async def test_arguments_are_an_object(scripted: Any, code: str, wrong: str | None) -> None:
    """One object names them; places work, too. What is wrong is told in the words of the language, with its signature
    and the line."""
    async with scripted.gateway(BOTH) as gate:
        outcome = await gate.execute(f"\n{code}", language="typescript")
        assert outcome.ok is (wrong is None), outcome.error
        if outcome.error:
            assert wrong is not None
            assert wrong in outcome.error.message
            assert outcome.error.line == 2
            hint = outcome.error.hint or ""
            assert "    city: string;" in hint or "declare function get_forecast(args: { city: string; days?: " in hint


async def test_programs_read_declarations_of_their_language(scripted: Any) -> None:
    """Cards and stubs are in the language of the program that asks, with all that it can write of types."""
    async with scripted.gateway(BOTH) as gate:
        (described,) = await gate.get_functions(["weather.get_forecast"], language="typescript")
        assert "declare function get_forecast(args: {\n    city: string;" in described["text"]
        assert gate.modules.stub("weather", ["get_forecast", "getForecast"], "local", "typescript") == (
            "export function get_forecast(args: { city: string; days?: number }): Promise<any>;\n"
            "export { get_forecast as getForecast };\n"
        )


async def test_errors_have_hints(scripted: Any) -> None:
    """Those of the executor that reads programs of the language, of what is known of names and answers."""
    async with scripted.gateway(BOTH) as gate:
        error = ("TypeError", "weather.get_forcast is not a function")
        code = f'const found = await weather.get_forecast({{"city": "Oslo"}})\nthrow {json.dumps(error)}'
        failed = (await gate.execute(code, language="typescript")).error
        assert failed is not None
        assert (failed.type, failed.line) == ("TypeError", 2)
        assert "weather.get_forecast" in (failed.hint or ""), failed.hint
