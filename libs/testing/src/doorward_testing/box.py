"""A source like that of MCP servers, whose tools have other names in Python: for tests of what programs see of one."""

from __future__ import annotations

from typing import Any

from doorward import Call, Compiled, Function, Settings, ToolError


class BoxSettings(Settings):
    cwd: str = ""
    capable: bool = True


OFFERED = [
    Function(
        "",
        name,
        id,
        parameters={"type": "object", "properties": {p: {} for p in needs}, "required": needs},
        read_only=True,
    )
    for name, id, needs in [
        ("list_resources", "resources/list", []),
        ("read_resource", "resources/read", ["uri"]),
        ("list_prompts", "prompts/list", []),
        ("get_prompt", "prompts/get", ["name", "arguments"]),
    ]
]


class Box:
    """A source like that of MCP servers: tools that fail with a text, resources and prompts."""

    Settings = BoxSettings
    offers = OFFERED

    def __init__(self, server: Any) -> None:
        self.name = server.name

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        open_it = {"type": "object", "properties": {"per_page": {"type": "integer"}}, "required": ["per_page"]}
        opened = Function(
            self.name, "open_it", "open-it", "Open the box", parameters=open_it, names={"per_page": "perPage"}
        )
        functions = [opened, Function(self.name, "jam", "jamNow")]
        many = [Function(self.name, f"spare_{n}", summary="One of many") for n in range(600)]
        return Compiled([*functions, *many], description="A box of things")

    async def call(self, call: Call) -> Any:
        if call.function.name == "jam":
            raise ToolError("the box is jammed")
        return [call.function.id, dict(call.arguments)]

    async def close(self) -> None:
        pass


BOX = """
[servers.tool-box]
source = "box"
cwd = "things"
"""
