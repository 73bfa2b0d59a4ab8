"""Results that were observed, as an agent reads them."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from typing import Any

import pytest
from doorward import Function
from doorward.texts import Observation
from doorward_observed.shapes import as_schema, bounded, merge, shape
from doorward_testing.any_schema import JSON
from doorward_testing.samples import CONFIG, Anything
from doorward_text.cards import describe
from doorward_text.signatures import observed_in_words, signature, stub
from hypothesis import given, settings
from hypothesis import strategies as st

ANY_SOURCE = CONFIG.replace('"fake"', '"any"')


def function(name: str, **fields: Any) -> Function:
    return replace(
        Function("weather", name, name, read_only=True, parameters={"type": "object", "properties": {}}), **fields
    )


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(JSON, max_size=4))
def test_the_text_of_what_was_observed_is_python(values: list[Any]) -> None:
    """CONTRACT: SRC-23."""
    merged: Any = {}
    for value in values:
        merged = bounded(merge(merged, shape(value)))
    known = Function("weather", "f", returns=as_schema(merged))
    ast.parse(describe(known, lambda name: None, module="weather"))
    ast.parse(f"{signature(known, lambda name: None)}: ...")


def test_how_far_to_rely_on_it() -> None:
    """How often, and when last; also in a stub."""
    now = 1.8e9
    seen = Observation(as_schema({"array": {"object": {"a": {"integer": {}}}}}), "", 3, now)
    assert observed_in_words(seen, now) == "observed 3 times, last today, not promised"
    assert observed_in_words(seen, now + 2 * 86400) == "observed 3 times, last 2 days ago, not promised"
    stubbed = stub([Function("s", "f")], lambda name: None, lambda function: seen)
    assert "-> Any: ...  # list[dict[str, Any]], observed" in stubbed
    ast.parse(stubbed)


@pytest.mark.anyio
async def test_functions_show_what_was_observed(doorward_host: Any, source: type[Anything]) -> None:
    """CONTRACT: SRC-23, SRC-25."""
    source.functions = {"f": function("f"), "typed": function("typed", returns={"type": "object"})}
    source.answers = {"f": [{"id": 1, "token": "s3cret"}], "typed": {"a": 1}}
    async with doorward_host.gateway(ANY_SOURCE) as gate:
        assert (await gate.get_functions(["weather.f"]))[0]["signature"] == "def f() -> Any"
        version = gate.catalog.version()
        await gate.execute("await weather.f()\nawait weather.typed()")
        (card,) = await gate.get_functions(["weather.f"])
        assert card["signature"] == "def f() -> list[FResponseItem]  # observed once, last today, not promised"
        assert "# The result: observed once, last today, not promised.\nclass FResponseItem(TypedDict" in card["text"]
        assert "s3cret" not in card["text"]
        assert "token: str" in (await gate.get_functions(["weather.f#FResponseItem"]))[0]["text"]
        assert gate.catalog.notes.result(gate.catalog.function("weather", "typed")) is None
        assert gate.catalog.version() == version
    async with doorward_host.gateway(ANY_SOURCE) as gate:
        assert "observed once" in (await gate.get_functions(["weather.f"]))[0]["signature"]
    files = [each for each in (doorward_host.folder / "state").rglob("*") if each.is_file()]
    assert files
    assert not [each for each in files if b"s3cret" in each.read_bytes()]


@pytest.mark.slow
@pytest.mark.parametrize("returns", [None, {"type": "string"}])
@pytest.mark.parametrize(
    ("answer", "told"), [('{"a": 1}', "JSON: json.loads"), ("{'a': None}", "a Python literal: `import ast`")]
)
@pytest.mark.anyio
async def test_a_text_that_holds_values_is_told(
    doorward_host: Any, source: type[Anything], returns: Any, answer: str, told: str
) -> None:
    """On the card of a function that answered one, also where its schema says only that it is text."""
    source.functions = {"report": function("report", returns=returns), "plain": function("plain", returns=returns)}
    source.answers = {"report": answer, "plain": "words"}
    async with doorward_host.gateway(ANY_SOURCE) as gate:
        assert (await gate.execute("await weather.plain()\nresult = [await weather.report()]")).ok
        report, plain = await gate.get_functions(["weather.report", "weather.plain"])
        assert f"It is text that holds {told}" in report["text"]
        assert "-> str" in report["text"]
        assert "holds" not in plain["text"]
        assert (await gate.execute("result = {'in': await weather.report()}")).ok


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters were read as JSON, and as Python literals, which takes a hundred times as long."""
    read = [0, 0]
    for number, (module, name) in enumerate([(json, "loads"), (ast, "literal_eval")]):
        real = getattr(module, name)

        def counted(text: str, real: Any = real, number: int = number) -> Any:
            read[number] += len(text)
            return real(text)

        monkeypatch.setattr(module, name, counted)
    return read


def test_texts_that_hold_nothing_take_no_time(read: list[int]) -> None:
    """An upstream may answer thousands of texts that look like JSON or a literal up to their end: nobody else waits for
    them to be read."""
    trap = "[" + "1," * 9990 + "x"
    shape([[trap] * 20 for _ in range(50)])
    shape([[trap[:400]] * 20 for _ in range(50)])
    assert read[0] < 100_000
    assert read[1] < 50_000
