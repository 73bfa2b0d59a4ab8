"""What programs find with the helpers, in every language, and no more than their principal may know."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import DoorwardError, Gateway
from doorward_testing.samples import CONFIG
from doorward_testing.scripted import Scripted

pytestmark = pytest.mark.anyio

SCRIPTS = CONFIG.replace('"inprocess"', '["inprocess", "scripted"]')
ALICE = '[principals.alice]\nservers = ["*"]\ndeny = ["weather.get_forecast"]\n'

BOTH = """
executor = "inprocess"
cache = "none"
plugins = []
[servers.weather]
source = "fake"
[servers.zephyr-vault]
source = "fake"
[principals.alice]
servers = ["weather"]
"""
GIVEN: list[tuple[Any, ...]] = [
    (),
    ("zephyr-vault",),
    ("zephyr_vault",),
    ("zephyr_vault.get_forecast",),
    ("get_forecast",),
    ("mcp__zephyr_vault__get_forecast",),
    ("zephyr_vault", "get_forecast"),
    ("zephyr_vault", "get_forecast", {"city": "Oslo"}),
    ("mcp__zephyr_vault__get_forecast", {"city": "Oslo"}),
    ("x", "zephyr_vault"),
    ("zephyr_vault", "uri"),
]


async def test_discovery_inside_the_sandbox(doorward_host: Any) -> None:
    """`import doorward` lists, searches, describes and calls. CONTRACT: DIS-07, DIS-09, DIS-12, DIS-15, EXE-08."""
    async with doorward_host.gateway(CONFIG) as gate:
        code = (
            "s = await doorward.servers()\nf = await doorward.search('forecast')\nd = await "
            "doorward.describe('weather.get_forecast')\n"
            "c = await doorward.call('weather.get_forecast', {'city': 'Oslo'})\nt = await doorward.capabilities()\n"
            "result = [s[0]['name'], f['total'] > 0, 'def get_forecast(' in d, c['high'], 'weather' in t]"
        )
        outcome = await gate.execute(code)
        assert outcome.value == ["weather", True, True, 20.5, True]
        assert outcome.calls[0]["function"] == "weather.get_forecast"


async def test_programs_find_what_policy_allows(doorward_host: Any) -> None:
    """`doorward.search`, and the searches that programs of other systems call."""
    async with doorward_host.gateway(CONFIG + ALICE) as gate:
        for code in (
            "result = str(await doorward.search('forecast for a city'))",
            "result = str(await doorward.search(queries=['forecast', 'city']))",
        ):
            assert "get_forecast" in (await gate.execute(code)).value
            assert "get_forecast" not in (await gate.execute(code, principal="alice")).value
        found = await gate.discovery.find(["forecast for a city"], "alice")  # what compat asks
        assert found.hits
        assert "get_forecast" not in {hit.function.name for hit in found.hits}


async def test_a_narrowed_run_finds_what_it_may_call(doorward_host: Any) -> None:
    """`functions` of a run narrows `doorward.search`, `describe` and `servers` in it, and nothing outside."""
    code = (
        "found = await doorward.search('forecast for a city', limit=50)\n"
        "texts = [await doorward.describe(n) for n in ('weather.get_forecast', 'weather.add_station', 'weather')]\n"
        "result = [[f['function'] for f in found['functions']], found['total'], texts, await doorward.servers()]"
    )
    async with doorward_host.gateway(CONFIG + ALICE) as gate:
        found, total, texts, servers = (await gate.execute(code, functions=["weather.add_*", "weather.raw"])).value
        assert (found, total) == (["weather.add_station"], 1)
        assert "weather.get_forecast is not among the `functions` that this run may call" in texts[0]
        assert "def add_station(" in texts[1]
        assert "2 functions: add_station, raw" in texts[2]
        assert (servers[0]["functions"], servers[0]["first"]) == (2, ["add_station", "raw"])
        assert (await gate.execute(code, functions=[])).value[:2] == [[], 0]
        assert "weather.get_forecast" in (await gate.execute(code)).value[0]
        theirs = (await gate.execute(code, functions=["weather.*"], principal="alice")).value
        assert "weather.get_forecast" not in theirs[0]
        assert theirs[3][0]["functions"] == 7


async def test_helpers_take_options_as_an_object(doorward_host: Any) -> None:
    """An object at the end has what Python writes as keywords; one that is a value of its own stays one."""
    doorward_host.install("executor", "scripted", Scripted)
    async with doorward_host.gateway(SCRIPTS) as gate:
        for code in (
            'await doorward.search("forecast", {"limit": 1})',
            'await doorward.search({"query": "forecast", "limit": 1})',
        ):
            outcome = await gate.execute(code, language="typescript")
            assert len(outcome.value["functions"]) == 1, outcome.error
        read = await gate.execute('await doorward.read({"artefact": "doorward://results/none"})', language="ts")
        assert read.error is not None
        assert "doorward://results/none" in read.error.message


async def test_descriptions_are_in_the_language_of_the_program(doorward_host: Any) -> None:
    """Of functions, servers, helpers, and of what can be done."""
    doorward_host.install("executor", "scripted", Scripted)
    async with doorward_host.gateway(SCRIPTS) as gate:
        described = await gate.execute('await doorward.describe("weather.get_forecast")', language="typescript")
        assert "declare function get_forecast(args: {\n    city: string;" in described.value
        can = await gate.execute("await doorward.capabilities()", language="typescript")
        assert '`import * as SERVER from "SERVER"`' in can.value
        helpers = await gate.execute('await doorward.describe("doorward", "doorward.read", "weather")', language="ts")
        assert helpers.value.count("// As Python writes it. In TypeScript:") == 2
        assert 'Write `import * as weather from "weather";`.' in helpers.value


async def said(gate: Gateway, who: str, helper: str, args: tuple[Any, ...]) -> str:
    """What a helper answers a program of a principal, error and hint included."""
    try:
        return str(await gate.execution.of_call(who).call(f"doorward.{helper}", args, {}))
    except DoorwardError as error:
        return f"{error} {error.hint}"


@pytest.mark.slow
async def test_a_server_that_is_not_theirs_does_not_exist(doorward_host: Any) -> None:
    """Neither listed, described, called, nor named by an error that does not repeat what was asked: the words are those
    for a name that nobody has."""
    async with doorward_host.gateway(BOTH) as gate:
        await gate.ready()
        helpers = [name for name in gate.modules.helpers["doorward"] if name != "close_session"]
        assert {"call", "search", "read_resource"} <= {*helpers}
        texts: dict[str, list[str]] = {"alice": [], "bob": []}
        for who, found in texts.items():
            for helper in helpers:
                found += [await said(gate, who, helper, args) for args in ((), ("get_forecast",))]
                for args in GIVEN[1:] if who == "alice" else ():
                    vault, fault = await said(gate, who, helper, args), await said(gate, who, helper, _absent(args))
                    assert vault.replace("vault", "fault") == fault, helper
    assert "zephyr" in "".join(texts["bob"])
    assert "zephyr" not in "".join(texts["alice"])


def _absent(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(arg.replace("vault", "fault") if isinstance(arg, str) else arg for arg in args)
