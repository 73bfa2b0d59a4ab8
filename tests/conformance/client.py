"""Doorward as the client of the MCP conformance suite: `python client.py SOCKET` listens there, for `forward.py` hands
each scenario on.

It does what a person would: writes a configuration with that one server, compiles it, and runs programs that call its
functions. MCP_CONFORMANCE_SCENARIO names the scenario, MCP_CONFORMANCE_CONTEXT has what it says of itself, as JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w
from authorization import scenario as authorization
from doorward import Gateway
from doorward.config.config import load

CALL = "name = ''\narguments = {}\nimport doorward\nresult = await doorward.call(name, arguments)"


class LoginPrompt:
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
        """The value of a program with this one call, of a tool or another function; `None` if it failed, which is
        told."""
        params = {"name": f"upstream.{name}", "arguments": dict(arguments or {})}
        outcome = await self.gate.execute(CALL, params=params, client=LoginPrompt())
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
        file.write_text(
            tomli_w.dumps({"state": "state", "executor": "monty", "plugins": [], "servers": {"upstream": server}})
        )
        async with Gateway.open(load(file), compile=False) as gate:
            report = (await gate.compile())["upstream"]
            print(f"compiled: {report}")
            yield Agent(gate)


async def plain(name: str, url: str, context: Mapping[str, Any]) -> None:
    async with gateway(url, {}) as agent:
        if calls := context.get("toolCalls"):
            for call in calls:  # what is null is not given
                await agent.call(
                    call["name"], {key: value for key, value in call["arguments"].items() if value is not None}
                )
            return
        await agent.call_all()
        if name == "http-standard-headers":
            for resource in await agent.call("list_resources"):
                await agent.call("read_resource", {"uri": resource["uri"]})
            for prompt in await agent.call("list_prompts"):
                await agent.call("get_prompt", {"name": prompt["name"]})


AT_ONCE = 4
"""Scenarios: the suite starts all of a revision at once, and a handshake that waits for a CPU is taken for one without
an answer."""


async def serve(path: str) -> None:
    """Play scenarios, until nobody listens to what is printed any more."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        given = json.loads(await reader.read())
        code = b"0"
        async with turn:
            try:
                name, url, context = given["scenario"], given["url"], json.loads(given.get("context") or "{}")
                await (authorization if name.startswith("auth/") else plain)(name, url, context)
            except Exception:
                traceback.print_exc(file=sys.stdout)
                code = b"1"
        writer.write(code)
        writer.close()

    server = await asyncio.start_unix_server(play, path)
    print("listening", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
