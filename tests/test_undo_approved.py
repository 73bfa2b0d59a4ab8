"""An undo, and a person's approval: of its own calls, and of a run that waits for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from doorward import Call, Compiled, Function
from doorward_testing import Cli
from doorward_testing.samples import CONFIG, Weather

pytestmark = pytest.mark.slow

UNDO = """
[servers.weather.undo.add]
call = "remove"
arguments = { id = "answer.id" }
"""
ALWAYS = CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "always"')


@pytest.fixture
def things(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> Mapping[int, str]:
    """Things on a shelf, by their ids: `weather` adds and removes them."""
    found: dict[int, str] = {}

    async def compile(source: Weather) -> Compiled:
        def made(name: str, key: str, kind: str, **more: Any) -> Function:
            parameters = {"type": "object", "properties": {key: {"type": kind}}, "required": [key]}
            return Function("weather", name, parameters=parameters, **more)

        functions = [made("add", "name", "string"), made("send", "name", "string"), made("remove", "id", "integer")]
        return Compiled(functions)

    async def call(source: Weather, call: Call) -> Any:
        if call.function.name == "add":
            found[len(found) + 1] = call.arguments["name"]
            return {"id": len(found)}
        return found.pop(call.arguments["id"])

    monkeypatch.setattr(Weather, "compile", compile)
    monkeypatch.setattr(Weather, "call", call)
    doorward_host.install_real(
        "approvals", "runs", "undo", "runs.undo", "doorward-policy-rules", "doorward-store-sqlite"
    )
    return found


def run(cli: Cli, host: Any, code: str, more: str) -> str:
    """The id of a run of some code."""

    async def execute() -> None:
        async with host.gateway(ALWAYS + UNDO + more) as gate:
            outcome = await gate.execute(code)
            assert outcome.error is None

    anyio.run(execute)
    return str(cli("runs", "list", "--json").json["runs"][0]["run"])


def test_a_call_of_an_undo_that_needs_a_yes_waits_for_it(
    cli: Cli, doorward_host: Any, things: Mapping[int, str]
) -> None:
    """After the yes the same command goes on."""
    rule = '[[policy.rules]]\nmatch = "weather.remove"\nthen = "confirm"\n[limits]\nasking = 0.5\n'
    ran = run(cli, doorward_host, 'await weather.add(name="one")', rule)
    waits = cli("runs", "undo", ran, "--yes", "--json").json["failed"]["error"]
    assert "waits for a person's approval" in waits["message"]
    (request,) = cli("approvals", "list", "--json").json["requests"]
    assert request["id"] in waits["hint"]
    assert cli("approvals", "approve", request["id"]).code == 0
    assert cli("runs", "undo", ran, "--yes", "--json").json["done"] == [0]
    assert things == {}


def test_a_run_that_waits_cannot_go_on_after_an_undo(cli: Cli, doorward_host: Any, things: Mapping[int, str]) -> None:
    """And what it waits with was not made: there is nothing to undo of it."""
    rule = '[[policy.rules]]\nmatch = "weather.send"\nthen = "confirm"\n'
    ran = run(cli, doorward_host, 'await weather.add(name="one")\nawait weather.send(name="mail")', rule)
    assert "it waits (approval)" in cli("runs", "list").out
    told = cli("runs", "undo", ran, "--yes", "--json").json
    assert (told["done"], told["kept"], things) == ([0], [], {})
    assert "its writes were undone" in cli("runs", "resume", ran, "--json").json["error"]["message"]
