"""One object for the agents of this process: the tools that MCP clients get, in the form of any framework."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio.abc import ObjectReceiveStream
from doorward import LOCAL, Gateway, InvalidArguments, Outcome, Principal
from doorward.configuration import Loaded
from doorward.serving import PRINCIPAL

CLOSING_SECONDS = 2.0
"""Seconds that our server has to end by itself, once the client is gone."""


class Calls(Protocol):
    """What makes the calls of tools."""

    async def call(self, name: str, arguments: Mapping[str, Any] | str) -> str: ...


@dataclass(frozen=True)
class Tool:
    """A tool for an agent. Called with its arguments by name, it answers with text for the model, an error too."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """The JSON Schema of its arguments."""
    box: Calls

    async def __call__(self, **arguments: Any) -> str:
        return await self.box.call(self.name, arguments)


class Toolbox:
    """The tools of a principal. Made by `open_tools`, or by `tools` of what was wrapped; for use in one event loop."""

    def __init__(self, gateway: Gateway, client: Any, principal: str) -> None:
        self.gateway, self.principal = gateway, principal
        self._client = client

    @property
    def instructions(self) -> str:
        """What an agent should be told about these tools, for its system prompt."""
        return self._client.instructions or ""

    async def tools(self, form: str = "") -> list[Any]:
        """The tools that the principal has now. `form` is whose they are to be: "anthropic", "openai" (chat
        completions), "openai-responses", "pydantic-ai" or "langchain"; if it is empty, they are `Tool`s.

        Raises: InvalidArguments for another form; ImportError where the framework is not installed.
        """
        if form not in _FORMS:
            raise InvalidArguments(f"there is no form {form!r}", hint=f"There are: {', '.join(filter(None, _FORMS))}.")
        found = [
            Tool(tool.name, tool.description or tool.title or tool.name, tool.input_schema, self)
            for tool in (await self._client.list_tools()).tools
        ]
        return [_FORMS[form](tool) for tool in found]

    async def call(self, name: str, arguments: Mapping[str, Any] | str = "") -> str:
        """Call a tool as a model has asked for it: `arguments` may be the JSON that some write. Returns: text for the
        model, for an error too."""
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except (ValueError, RecursionError):
                return f"The arguments of {name} are no JSON."
        if not isinstance(arguments, Mapping):
            return f"The arguments of {name} are no object."
        answer = await self._client.call_tool(name, dict(arguments))
        texts = [part.text if part.type == "text" else f"({part.type})" for part in answer.content]
        return "\n".join(texts)

    async def run_code(self, code: str, /, *, functions: Sequence[str] | None = None, **params: Any) -> Outcome:
        """Run a program in the sandbox. `params` are values for its parameters, `functions` limits what it may call. An
        error is in the outcome, never raised."""
        return await self.gateway.execute(
            code, params=params or None, functions=functions, principal=Principal(self.principal)
        )


@asynccontextmanager
async def open_tools(
    config: Path | str | Loaded | None = None, *, principal: str = LOCAL, **client: Any
) -> AsyncIterator[Toolbox]:
    """Open a configuration (default `doorward.toml`) for an agent of this process, and close it at the end.

    `principal` is who the agent acts for. Further arguments are those of the SDK's `mcp.Client`: with
    `elicitation_callback=…` a person is asked for approvals. Raises: ConfigError, PluginError.
    """
    from doorward_mcp_server import serving
    from mcp import Client
    from mcp.shared.memory import create_client_server_memory_streams

    who = Principal(principal)
    async with (
        Gateway.open(config) as gate,
        serving(gate) as server,
        create_client_server_memory_streams() as (ours, (incoming, outgoing)),
        anyio.create_task_group() as group,
    ):
        over = anyio.Event()

        async def run() -> None:
            try:
                await server.run(_Of(incoming, who), outgoing, server.create_initialization_options())
            finally:
                over.set()

        group.start_soon(run)
        try:
            async with Client(_Wires(ours), cache=None, **client) as connected:
                yield Toolbox(gate, connected, principal)
        finally:
            with anyio.CancelScope(shield=True):
                await ours[1].aclose()
                with anyio.move_on_after(CLOSING_SECONDS):
                    await over.wait()
            group.cancel_scope.cancel()


class _Wires:
    """Two streams as the SDK's client takes them. Whoever made them closes them."""

    def __init__(self, streams: Any) -> None:
        self._streams = streams

    async def __aenter__(self) -> Any:
        return self._streams

    async def __aexit__(self, *error: object) -> None:
        pass


class _Of(ObjectReceiveStream[Any]):
    """The messages of a principal: each says whose it is, as a request over HTTP does."""

    def __init__(self, stream: Any, principal: Principal) -> None:
        self._stream = stream
        self.scope = {PRINCIPAL: principal}
        self.headers: Mapping[str, str] = {}

    async def receive(self) -> Any:
        """The next message. Raises: anyio.EndOfStream."""
        from mcp.shared.message import ServerMessageMetadata, SessionMessage

        found = await self._stream.receive()
        if isinstance(found, SessionMessage):
            found.metadata = ServerMessageMetadata(request_context=self)
        return found

    async def aclose(self) -> None:
        await self._stream.aclose()


def _pydantic_ai(tool: Tool) -> Any:
    return import_module("pydantic_ai").Tool.from_schema(
        tool.__call__, tool.name, tool.description, dict(tool.parameters)
    )


def _langchain(tool: Tool) -> Any:
    return import_module("langchain_core.tools").StructuredTool(
        name=tool.name, description=tool.description, args_schema=dict(tool.parameters), coroutine=tool.__call__
    )


_FORMS: dict[str, Any] = {
    "": lambda tool: tool,
    "anthropic": lambda tool: {
        "name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters),
    },
    "openai": lambda tool: {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
    },
    "openai-responses": lambda tool: {
        "type": "function", "name": tool.name, "description": tool.description, "parameters": dict(tool.parameters),
        "strict": False,
    },
    "pydantic-ai": _pydantic_ai,
    "langchain": _langchain,
}  # fmt: skip
