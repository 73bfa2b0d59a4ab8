"""`doorward compile --probe`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Call, Compiled, Function, ServerContext, ServerError, Settings

pytestmark = pytest.mark.anyio

NO_PARAMETERS = {"type": "object", "properties": {}}


class Anything:
    """A source whose functions and answers a test sets."""

    Settings = Settings
    functions: dict[str, Function]
    answers: dict[str, Any]
    calls: list[str]
    version = 0

    def __init__(self, server: ServerContext) -> None:
        pass

    async def fingerprint(self) -> str:
        return str(self.version)

    async def compile(self) -> Compiled:
        return Compiled(list(self.functions.values()))

    async def call(self, call: Call) -> Any:
        self.calls.append(call.function.name)
        answer = self.answers[call.function.name]
        if callable(answer):
            answer = await answer()
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        pass


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
