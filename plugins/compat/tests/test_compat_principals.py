"""By other systems' names nobody learns more than by ours."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import DoorwardError, Failure, Gateway
from doorward.sandboxing import Frame
from doorward_compat import Compat
from doorward_compat.aliases import RUNTIME

pytestmark = pytest.mark.anyio

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
    ("get_forecast",),
    ("mcp__zephyr_vault__get_forecast",),
    ("zephyr_vault", "get_forecast"),
    ("zephyr_vault", "get_forecast", {"city": "Oslo"}),
    ("mcp__zephyr_vault__get_forecast", {"city": "Oslo"}),
]


async def said(gate: Gateway, who: str, helper: str, args: tuple[Any, ...]) -> str:
    """What a helper answers a program of a principal, error and hint included."""
    try:
        return str(await gate.execution.of_call(who).call(f"doorward.runtime.{helper}", args, {}))
    except DoorwardError as error:
        return f"{error} {error.hint}"


@pytest.mark.slow
async def test_a_server_that_is_not_theirs_does_not_exist(doorward_host: Any) -> None:
    """Neither listed, described, called, made a name of, nor named by an error that does not repeat what was asked."""
    async with doorward_host.gateway(BOTH) as gate:
        await gate.ready()
        texts: dict[str, list[str]] = {"alice": [], "bob": []}
        for who, found in texts.items():
            theirs = gate.execution.of_call(who)
            found += [str(theirs.aliases("mcp_zephyr_vault; mcp_servers", everything=every)) for every in (True, False)]
            found.append(str((await gate.execute("mcp__zephyr_vault.get_forecast()", principal=who)).error))
            for helper in gate.modules.helpers[RUNTIME]:
                answers = [await said(gate, who, helper, args) for args in GIVEN]
                found += [answers[0], answers[3]]
                for args in GIVEN[1:] if who == "alice" else ():  # the words are those for a name that nobody has
                    vault, fault = await said(gate, who, helper, args), await said(gate, who, helper, _absent(args))
                    assert vault.replace("vault", "fault") == fault, helper
    assert "zephyr" in "".join(texts["bob"])
    told = [text.replace("name 'mcp__zephyr_vault' is not defined", "") for text in texts["alice"]]
    assert not [text for text in told if "zephyr" in text and "not available" not in text]


def _absent(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(arg.replace("vault", "fault") if isinstance(arg, str) else arg for arg in args)


async def test_what_an_undefined_name_of_another_system_is(doorward_host: Any) -> None:
    """The server that was meant, or who brings models."""
    doorward_host.install_real("text")
    async with doorward_host.gateway(BOTH) as gate:
        await gate.ready()
        asked = {
            "mcp_wether.get()": "Server 'wether' is not available. Near: weather.",
            "llm.ask('x')": "No language model is configured",
        }
        for code, hint in asked.items():
            error = (await gate.execute(code)).error
            assert error is not None
            assert hint in str(error.hint), code
    frame = Frame(1, "", "mcp_servers['wether-one'].get()")
    missed = Failure("program", "KeyError", "'wether-one'", frames=(frame,))
    assert Compat().missed_server(missed) == "mcp_wether_one"


async def test_without_it_there_are_only_our_names(doorward_host: Any) -> None:
    """The kernel has no other, whoever asks for a function."""
    async with doorward_host.gateway("capabilities = []\n" + BOTH) as gate:
        await gate.ready()
        for code in ("mcp_servers", "call_mcp_tool('weather__get_forecast')", "mcp_weather.get_forecast()"):
            error = (await gate.execute(code)).error
            assert error is not None
            assert error.type == "NameError"
        assert RUNTIME not in gate.modules.helpers
        assert gate.execution.of_call("ann").aliases("mcp_servers", everything=True).modules == {}
        with pytest.raises(DoorwardError, match="is no name of a function"):
            await gate.get_functions([{"server_name": "weather", "function_name": "get_forecast"}])
        assert gate.modules.names.server("weather.get_forecast") == "weather"
        assert gate.modules.names.text_rule("call_mcp_tool")({"a": 1}, "text", False) is False
    async with doorward_host.gateway(BOTH) as gate:
        (card,) = await gate.get_functions([{"server_name": "weather", "function_name": "get_forecast"}])
        assert card["function"] == "weather.get_forecast"
