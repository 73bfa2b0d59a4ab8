"""The form of answers' text: TOON, JSON or plain, and that it says what the structured content says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from doorward import Artefact, Outcome
from doorward.data.values import plain
from doorward_mcp_server import output
from doorward_mcp_server.output import MAX_TOON_CHARS, encoder, outcome_text, written
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client.client import Client
from mcp_types import Implementation

pytestmark = pytest.mark.anyio
toon_format = pytest.importorskip("toon_format", reason="toon-format is absent: pip install toon-format")

ROWS = [{"id": n, "name": f"name {n}", "open": n % 2 == 0} for n in range(5)]
TABLE = "[5]{id,name,open}:\n  0,name 0,true\n  1,name 1,false\n"

STRANGE = (
    "", "-", "- a", "#", "# a", "true", "null", "1", "1.0", "-0", "05", "1e5", "a,b", "a: b", "[2]: 1,2", "x[2]{a,b}:",
    "{a}", '"', "\\", "\n", "a\n```\nhint: do it", "```", "~~~", "\t", "\r", "\0", "\x1b[2J", "\x85", "\u2028note: a",
    "\u202e", "\ufeff", " x ", "note: a", "hint: a", "error", "session: 1", "[cut: all]", "…", "ü", "\U0001f600",
)  # fmt: skip
"""Texts that mean something in TOON, in an answer, or to a terminal."""
TEXTS = st.sampled_from(STRANGE) | st.text(max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda part: (
        st.lists(part, max_size=4)
        | st.dictionaries(TEXTS, part, max_size=4)
        | st.tuples(TEXTS, TEXTS).flatmap(
            lambda keys: st.lists(st.fixed_dictionaries(dict.fromkeys(keys, part)), min_size=2, max_size=4)
        )
        | st.dictionaries(TEXTS, st.fixed_dictionaries({"a": part, "b": part}), min_size=2, max_size=4)
    ),
    max_leaves=25,
)
"""What programs may leave: any nesting, and many tables."""


def read(text: str) -> Any:
    """The value of a text, as a reader takes it who knows JSON, and TOON by its fence."""
    if not text.startswith("```"):
        return json.loads(text)
    opening, *lines, closing = text.split("\n")
    assert (opening, closing) == ("```toon", "```")
    assert not [line for line in lines if "```" in line]
    return toon_format.loads("\n".join(lines))


@pytest.fixture
def without_toon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The library is not installed."""
    monkeypatch.setitem(sys.modules, "toon_format", None)
    encoder.cache_clear()
    yield
    encoder.cache_clear()


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, st.sampled_from(["auto", "toon", "json"]))
def test_the_text_of_any_value_reads_back_as_that_value(value: Any, form: str) -> None:
    """Hostile texts, keys and numbers included, text and structured content never disagree. CONTRACT: OUT-02."""
    value = plain(value)
    assert read(written(value, form)) == value


@pytest.mark.parametrize("text", STRANGE)
@pytest.mark.parametrize("form", ["auto", "toon"])
def test_no_text_in_a_value_looks_like_a_part_of_the_answer(text: str, form: str) -> None:
    """A value neither ends its block nor begins a line like one of ours, wherever in it the text stands."""
    for value in ([{"a": text, "b": 1}] * 9, {text: 1, "rows": ROWS * 9}, [text, *ROWS], {"a": {text: ROWS}}):
        block = written(value, form)
        assert read(block) == value
        shown = outcome_text(Outcome(True, value=value, printed="seen"), form)
        assert shown == f"{block}\nprinted:\nseen"
        inside = block.splitlines()[1:-1]
        assert not any(line.strip(" -").startswith(("note:", "hint:", "session:", "[cut:", "```")) for line in inside)


def test_auto_shows_tables_as_toon_and_all_else_as_compact_json() -> None:
    """A table of few fields is shorter; one object, other lists and small tables are not, or not much."""
    assert written(ROWS, "auto").startswith(f"```toon\n{TABLE}")
    assert written({"total": 5, "items": ROWS}, "auto").startswith("```toon\ntotal: 5\nitems[5]{id,name,open}:\n")
    for value in ({"a": [1, 2]}, [1, {"b": 2}], ROWS[:1], [{"a": 1}, {"b": 2}], [[1, 2], [3, 4]], 1.5, None, [], {}):
        assert written(value, "auto") == json.dumps(value, separators=(",", ":"))
    assert written({"a": [1, 2]}, "toon") == "```toon\na[2]: 1,2\n```"
    assert outcome_text(Outcome(True, value={"a": [1, 2]}), "text") == '{"a": [1, 2]}'
    for form in ("auto", "toon", "text", "json"):
        assert outcome_text(Outcome(True, value="a: 1\nb"), form) == "a: 1\nb"


@pytest.mark.parametrize("form", ["auto", "toon", "text"])
def test_an_artefact_that_the_value_names_is_told_once(form: str) -> None:
    """In each form: the value has its handle; one that the value does not name has a line."""
    artefacts = tuple(Artefact(f"doorward://results/{n}", "image/png", 9, f"{n}.png") for n in range(4))
    handles = [{"artefact": a.uri, "type": a.type, "bytes": a.bytes, "name": a.name} for a in artefacts[:3]]
    shown = outcome_text(Outcome(True, value=handles, artefacts=artefacts), form)
    assert shown.startswith("```toon\n" if form != "text" else "[{")
    assert [line for line in shown.splitlines() if line.startswith("artefact:")] == [
        "artefact: doorward://results/3 (3.png, image/png, 9 bytes)"
    ]


def test_nothing_is_encoded_for_nothing() -> None:
    """The library is not even imported for other forms, for values without a table, and for large ones."""
    encoder.cache_clear()
    large = [{"id": n, "text": "a" * 50} for n in range(MAX_TOON_CHARS // 50)]
    for value, form in ((ROWS, "text"), (ROWS, "json"), ({"a": [1]}, "auto"), (large, "auto"), (large, "toon")):
        outcome_text(Outcome(True, value=value), form)
    assert encoder.cache_info().currsize == 0


def test_deep_values_do_not_become_long_ones() -> None:
    """Indentation that grows with the square of the depth is not worth it."""
    deep: Any = ROWS
    for _ in range(95):
        deep = [deep]
    assert written(deep, "toon") == json.dumps(deep, separators=(",", ":"))


@pytest.mark.slow
@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_each_client_gets_the_form_that_it_is_given(doorward_host: Any, era: str) -> None:
    """By its name; wildcards work, the first table counts, and without a table the key at the top. CONTRACT: OUT-02."""
    forms = (
        '[clients."plain*"]\noutput = "text"\n[clients.program]\noutput = "json"\n[clients."*gram"]\noutput = "text"\n'
    )
    code = f"result = {ROWS!r}"
    told = {}
    async with doorward_host.gateway(f'output = "toon"\n{CONFIG}\n{forms}') as gate:
        server = build(gate)
        for name in ("other", "plain-client", "program", "telegram"):
            async with Client(server, mode=era, client_info=Implementation(name=name, version="1")) as client:
                answer = await client.call_tool("execute_code", {"code": code})
                assert answer.structured_content["value"] == ROWS
                told[name] = answer.content[0].text
                listed = await client.call_tool("search_functions", {"query": "forecast"})
                assert (name == "program") == (listed.content[0].text[0] == "{")
                if name == "program":
                    assert json.loads(told[name]) == answer.structured_content
                    assert json.loads(listed.content[0].text) == listed.structured_content
    assert told["other"].startswith(f"```toon\n{TABLE}")
    for name in ("plain-client", "telegram"):
        assert told[name].startswith(json.dumps(ROWS))


@pytest.mark.slow
async def test_what_stands_around_a_value_is_the_same_in_each_form(doorward_host: Any) -> None:
    """Printed lines, cuts, notes of calls and errors stay; a value that was cut says where the rest is."""
    code = "print('a\\nhint: b')\nresult = [{{'id': n, 'name': 'x' * 40}} for n in range({})]"
    seen = {}
    for form in ("text", "auto", "toon"):
        async with doorward_host.gateway(f'output = "{form}"\n{CONFIG}') as gate, Client(build(gate)) as client:
            for rows in (3, 1000):
                answer = await client.call_tool("execute_code", {"code": code.format(rows)})
                text = answer.content[0].text
                value, _, rest = text.rpartition("\n[cut: " if rows == 1000 else "\nprinted:")
                if form != "text":
                    assert read(value) == answer.structured_content["value"]
                assert "printed:\n> a\n> hint: b\n" in text
                assert ("doorward.read(" in rest) == (rows == 1000)
            failed = await client.call_tool("execute_code", {"code": "1 / 0"})
            assert failed.is_error
            seen[form] = failed.content[0].text.splitlines()[:2]
    assert seen["text"] == seen["auto"] == seen["toon"]
    assert seen["text"][0] == "ZeroDivisionError: division by zero"


async def test_direct_tools_follow(doorward_host: Any) -> None:
    """The text of an exposed function's answer is in the client's form, too. CONTRACT: OUT-02."""
    exposed = CONFIG.replace("[servers.weather]", '[servers.weather]\nexpose = ["get_forecast"]')
    for form, wanted in (("toon", "```toon\ncity: Oslo\n"), ("json", '{"city":"Oslo"'), ("text", '{"city": "Oslo"')):
        async with doorward_host.gateway(f'output = "{form}"\n{exposed}') as gate, Client(build(gate)) as client:
            await client.list_tools()
            answer = await client.call_tool("weather_get_forecast", {"city": "Oslo"})
            assert answer.content[0].text.startswith(wanted)
            assert answer.structured_content["city"] == "Oslo"


async def test_without_the_library_answers_are_json(
    doorward_host: Any, without_toon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asked for TOON is told at the start what to install; `auto` needs nothing. CONTRACT: OUT-03."""
    warned: list[tuple[str, Any]] = []
    monkeypatch.setattr(output.log, "warning", lambda event, **about: warned.append((event, about)))
    for form, times in (("auto", 0), ("toon", 1)):
        async with doorward_host.gateway(f'output = "{form}"\n{CONFIG}') as gate, Client(build(gate)) as client:
            answer = await client.call_tool("execute_code", {"code": f"result = {ROWS!r}"})
            assert answer.content[0].text.startswith(json.dumps(ROWS, separators=(",", ":")))
            assert answer.structured_content["value"] == ROWS
        assert len(warned) == times
    assert warned == [("toon_not_installed", {"instead": "JSON", "hint": "`pip install doorward[toon]` brings it."})]
