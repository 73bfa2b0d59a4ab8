"""`doorward compile --probe`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Function, ServerError
from doorward_testing.samples import Anything

pytestmark = pytest.mark.anyio

NO_PARAMETERS = {"type": "object", "properties": {}}


CONFIG = 'executor = "inprocess"\ncache = "none"\nplugins = []\n[servers.weather]\nsource = "any"\n'


@pytest.fixture
def source(doorward_host: Any) -> type[Anything]:
    class Source(Anything):
        functions, answers, calls = {}, {}, []

    doorward_host.install("source", "any", Source)
    return Source


def function(name: str, **fields: Any) -> Function:
    return replace(Function("weather", name, name, read_only=True, parameters=NO_PARAMETERS), **fields)


@pytest.mark.anyio
async def test_probing_calls_only_what_surely_changes_nothing(doorward_host: Any, source: type[Anything]) -> None:
    """CONTRACT: SRC-23."""
    from doorward_cli.probe import probe

    needs = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    optional = {"type": "object", "properties": {"x": {"type": "string"}}}
    source.functions = {
        "writes": function("writes", read_only=False),
        "needs": function("needs", parameters=needs),
        "typed": function("typed", returns={"type": "string"}),
        "known": function("known"),
        "list": function("list", parameters=optional),
        "fails": function("fails"),
        "denied": function("denied"),
    }
    source.answers = {"known": 1, "list": [{"id": 1}], "fails": ServerError("it is down")}
    async with doorward_host.gateway(CONFIG + '[policy]\ndeny = ["weather.denied"]\n') as gate:
        await gate.call("weather.known")
        source.calls.clear()
        told = await probe(gate, ["weather"])
        assert sorted(source.calls) == ["fails", "list"]
        assert told["weather.list"] == {"result": "list[dict[str, Any]]"}
        assert told["weather.fails"] == {"failed": "it is down"}
        assert list(told["weather.denied"]) == ["failed"]
        assert len(told) == 3
        assert list(await probe(gate, ["weather"])) == ["weather.denied", "weather.fails"]
