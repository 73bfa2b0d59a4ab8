"""Doorward as the client of the MCP conformance suite: `python client.py URL`, started once a scenario.

It does what a person would: writes a configuration with that one server, compiles it, and runs programs that call its functions.
MCP_CONFORMANCE_SCENARIO names the scenario, MCP_CONFORMANCE_CONTEXT has what it says of itself, as JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w
from doorward import Gateway
from doorward.config import load

CALL = "name = ''\narguments = {}\nimport doorward\nresult = await doorward.call(name, arguments)"


class Person:
    """Who is asked: accepts each form, with what is proposed in it."""

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        print(f"progress {done} of {total} {message}")

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        print(f"asked {method} {json.dumps(params)}")
        fields = params.get("requestedSchema", {}).get("properties", {})
        return {"action": "accept", "content": {name: _proposed(field) for name, field in fields.items()}}


def _proposed(schema: Mapping[str, Any]) -> Any:
    if "default" in schema:
        return schema["default"]
    some = {"boolean": True, "integer": 3, "number": 2.5, "array": [], "object": {}}
    return schema.get("enum", [some.get(schema.get("type", "string"), "text")])[0]


class Agent:
    """A gateway with the server `upstream`, and programs that call its functions."""

    def __init__(self, gate: Gateway) -> None:
        self.gate = gate
        self.functions = {function.id: function for function in gate.catalog.functions("upstream")}

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """The value of a program with this one call, of a tool or another function; `None` if it failed, which is told."""
        params = {"name": f"upstream.{name}", "arguments": dict(arguments or {})}
        outcome = await self.gate.execute(CALL, params=params, client=Person())
        print(f"{name}: {outcome.value if outcome.ok else outcome.error}")
        return outcome.value

    async def call_all(self) -> None:
        """Call every tool once, with the arguments that it needs."""
        for name, function in self.functions.items():
            needed = function.parameters.get("required", ())
            await self.call(name, {key: _proposed(function.parameters["properties"][key]) for key in needed})


@contextlib.asynccontextmanager
async def gateway(url: str, settings: Mapping[str, Any]) -> AsyncIterator[Agent]:
    """The gateway of a configuration with the server of a scenario."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "doorward.toml"
        server = {"source": "mcp", "url": url, **settings}
        file.write_text(tomli_w.dumps({"state": "state", "executor": "monty", "plugins": [], "servers": {"upstream": server}}))
        async with Gateway.open(load(file), compile=False) as gate:
            report = (await gate.compile())["upstream"]
            print(f"compiled: {report}")
            yield Agent(gate)


async def scenario(name: str, url: str, context: Mapping[str, Any]) -> None:
    async with gateway(url, {}) as agent:
        if calls := context.get("toolCalls"):
            for call in calls:  # what is null is not given
                await agent.call(call["name"], {key: value for key, value in call["arguments"].items() if value is not None})
            return
        await agent.call_all()
        if name == "http-standard-headers":
            for resource in await agent.call("list_resources"):
                await agent.call("read_resource", {"uri": resource["uri"]})
            for prompt in await agent.call("list_prompts"):
                await agent.call("get_prompt", {"name": prompt["name"]})


if __name__ == "__main__":
    given = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    asyncio.run(scenario(os.environ["MCP_CONFORMANCE_SCENARIO"], sys.argv[-1], given))
