"""An executor that plans: it isolates nothing, and hands on what it does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from doorward import Call, Capabilities, Compiled, Door, Function, Program, ProgramResult, Reply
from doorward.sandboxing import Planned
from doorward_approvals.conformance import requests_in
from doorward_testing.samples import InProcess, Weather
from doorward_testing.samples import _Running as Running


class PlansInProcess(InProcess):
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), plans=True)

    async def open(self, program: Program, *, session: bool = False) -> Any:
        return _Planning()


class _Planning(Running):
    async def run(self, program: Program, door: Door) -> ProgramResult:
        ended = await super().run(program, _Known(door))  # type: ignore[arg-type]
        return replace(ended, value=_sent(ended.value))


class _Known:
    """A door behind which a program gets what stands for unknown answers, as JSON."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def __getattr__(self, name: str) -> Any:
        return getattr(self._door, name)

    async def call(self, function: str, args: Any, kwargs: Any) -> Any:
        found = await self._door.call(function, _sent(args), _sent(kwargs))
        return _Unknown(found.call, found.path) if isinstance(found, Planned) else found


def _sent(value: Any) -> Any:
    if isinstance(value, bytes):
        return value
    if isinstance(value, (list, tuple)):
        return [*map(_sent, value)]
    return {key: _sent(part) for key, part in value.items()} if isinstance(value, dict) else value


class _Unknown(dict[str, Any]):
    def __init__(self, call: int, path: tuple[Any, ...]) -> None:
        super().__init__({"\0planned": [call, *path]})
        self._place = (call, path)

    def __getitem__(self, key: Any) -> Any:
        return {"\0planned": [self._place[0], *self._place[1], key]}


_PICTURE = {
    "type": "object",
    "properties": {"picture": {"type": "string", "format": "binary"}, "about": {"type": "string"}},
}


class Stations(Weather):
    """The weather with writes whose answers count: each station gets the next number."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.made: list[tuple[str, dict[str, Any]]] = []
        STATIONS.append(self)

    async def compile(self) -> Compiled:
        compiled = await super().compile()
        number = {"type": "object", "properties": {"id": {"type": "integer"}, "city": {"type": "string"}}}
        tag = {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "tag": {"type": "string"}},
            "required": ["id", "tag"],
        }
        functions = [
            replace(each, returns=number) if each.name == "add_station" else each for each in compiled.functions
        ]
        functions += [
            Function(self.name, "tag", "tag", "Tags", parameters=tag, idempotent=True, route="PUT /stations/{id}/tag"),
            Function(self.name, "remove", "remove", "Removes", parameters=tag, destructive=True),
            Function(self.name, "picture", "picture", "Pictures", parameters=_PICTURE),
            Function(
                self.name, "station", "station", "A station", parameters={**tag, "required": ["id"]}, read_only=True
            ),
        ]
        return replace(compiled, functions=functions)

    async def call(self, call: Call) -> Any:
        name, arguments = call.function.name, dict(call.arguments)
        (READ if call.function.read_only else self.made).append((name, arguments))
        if name == "get_forecast" and WORLD["etag"]:
            return Reply({**WORLD["forecast"], "city": arguments["city"]}, headers={"ETag": WORLD["etag"]})
        if name == "get_forecast":
            return {**WORLD["forecast"], "city": arguments["city"]}
        if name == "add_station":
            return {"id": 100 + len(self.made), "city": arguments["city"]}
        if name == "station":
            return {"id": arguments["id"], "seen": len(self.made)}
        if name == "picture":
            return {"id": len(self.made)}
        return arguments if name in ("tag", "remove") else await super().call(call)


STATIONS: list[Stations] = []
READ: list[tuple[str, dict[str, Any]]] = []
WORLD: dict[str, Any] = {}

CONFIG = """
executor = "plans"
cache = "none"
plugins = []
[servers.weather]
source = "stations"
"""


@pytest.fixture(autouse=True)
def _approvals_installed(doorward_host: Any) -> None:
    doorward_host.install_real("approvals", "doorward-store-sqlite")


def gate_requests(gate: Any) -> list[Any]:
    """All requests for approval."""
    return requests_in(gate.state)


def requests(gate: Any) -> list[Any]:
    """What waits for a person."""
    return [each for each in gate_requests(gate) if each.state == "open"]


@pytest.fixture
def writes(doorward_host: Any) -> Callable[[], list[tuple[str, dict[str, Any]]]]:
    """What was written, in order."""
    STATIONS.clear()
    READ.clear()
    WORLD.update(forecast={"high": 20}, etag="")
    doorward_host.install("executor", "plans", PlansInProcess)
    doorward_host.install("source", "stations", Stations)
    return lambda: [made for each in STATIONS for made in each.made]
