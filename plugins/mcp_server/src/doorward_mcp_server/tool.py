"""A tool for agents as MCP clients get it: what they are told of it, the check of its arguments, and its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import mcp_types as t
from doorward import AgentTool, Gateway, InvalidArguments, Outcome, ToolAnswer, ToolCaller
from doorward.serving import seldom
from doorward_text import compact_json, outcome_names

from doorward_mcp_server.calling import answered
from doorward_mcp_server.plugin_tools import Handler, of_plugin

_PLAIN_TYPES = {"string": str, "object": dict, "boolean": bool, "integer": int}
"""Types that need no library to be checked, where a schema says nothing but the type."""

_SAYS_NO_MORE = {"type", "description", "default"}

_CHECKED_BY_GATEWAY = ("minItems", "maxItems")
"""Keywords of schemas that the gateway checks itself, with a hint."""


def listed(tool: AgentTool, surface: str, parts: Iterable[str]) -> t.Tool | None:
    """The tool as clients see it on this surface, or `None` if it is not part of it. `parts` are those of outcomes."""
    description = {"minimal": tool.minimal, "calls": tool.calls}.get(surface, tool.description)
    if not description:
        return None
    annotations = t.ToolAnnotations(
        read_only_hint=tool.read_only, destructive_hint=None if tool.read_only else tool.destructive,
        open_world_hint=tool.open_world,
    )  # fmt: skip
    output = outcome_names(parts) if tool.output_schema is None else dict(tool.output_schema)
    return t.Tool(
        name=tool.name, title=tool.title, annotations=annotations, description=description,
        input_schema=tool.input_schema, output_schema=output,
    )  # fmt: skip


class ServedTool:
    """A tool of a server, and whose it is. `shown` is the tool as clients see it, if it is part of their surface."""

    def __init__(self, tool: AgentTool, whose: str, shown: t.Tool | None = None) -> None:
        self.tool, self.shown = tool, shown
        self._whose, self._schema = whose, tool.input_schema
        self._handle = Handler(tool.handle, whose, (ToolAnswer, Outcome))

    def offered(self, gate: Gateway, principal: str) -> bool:
        """Whether a principal has it now."""
        try:
            return self.shown is not None and self.tool.offered(gate, principal)
        except Exception as error:
            what, why = f"whether {self.tool.name} is offered", type(error).__name__
            seldom.warning("plugin_failed", what=what, plugin=self._whose, why=why)
            return False

    async def call(self, arguments: Mapping[str, Any], caller: ToolCaller) -> t.CallToolResult:
        """The answer of the tool to checked arguments."""
        images: Sequence[t.ImageContent] = ()
        answer = await of_plugin(f"the tool {self.tool.name}", self._handle, caller, **arguments)
        if isinstance(answer, Outcome):
            answer, images = await answered(caller, answer)
        text = compact_json(answer.value) if caller.form == "json" else answer.text
        return t.CallToolResult(
            content=[t.TextContent(text=text), *images], structured_content=answer.value, is_error=answer.failed
        )

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, if they fit the schema; what they mean is checked by the gateway. Raises: InvalidArguments,
        written for the agent."""
        if not self._fits_plainly(arguments):
            from doorward_text import mistakes

            schema = self.shown.input_schema if self.shown else self._schema
            known = schema["properties"]
            found = self._validator.iter_errors(_outline(arguments))
            errors = [e for e in found if e.kind.name not in _CHECKED_BY_GATEWAY]
            if told := mistakes(errors, lambda place: () if place else known):
                raise InvalidArguments(f"{self.tool.name} {'; '.join(told)}", hint=self._usage(schema))
        # To JSON 10.0 is an integer too.
        return {name: int(value) if name in self._whole else value for name, value in arguments.items()}

    def _fits_plainly(self, arguments: Mapping[str, Any]) -> bool:
        """Whether they fit at first sight: the library, whose import takes time and memory, judges what does not."""
        known, required = self._schema["properties"], self._schema.get("required", ())
        return all(name in arguments for name in required) and all(
            name in known
            and type(value) is _PLAIN_TYPES.get(known[name]["type"])
            and known[name].keys() <= _SAYS_NO_MORE
            for name, value in arguments.items()
        )

    @cached_property
    def _whole(self) -> set[str]:
        """The arguments that are integers."""
        return {name for name, schema in self._schema["properties"].items() if schema["type"] == "integer"}

    @cached_property
    def _validator(self) -> Any:
        import jsonschema_rs

        return jsonschema_rs.Draft202012Validator(self._schema | {"additionalProperties": False})

    def _usage(self, schema: Mapping[str, Any]) -> str:
        known, required = schema["properties"], schema.get("required", ())
        parameters = [f"{name}{'' if name in required else '?'}: {of['type']}" for name, of in known.items()]
        return f"{self.tool.name}({', '.join(parameters)})"


def _outline(value: Any, depth: int = 3) -> Any:
    """A value as deep as the schemas of tools look: programs and parameters may be larger and deeper than that."""
    if isinstance(value, Mapping):
        return {_outline(str(key)): _outline(each, depth - 1) for key, each in value.items()} if depth else {}
    if isinstance(value, list):
        return [_outline(each, depth - 1) for each in value] if depth else []
    if isinstance(value, str) and not value.isascii():
        return value.encode(errors="replace").decode()  # the library refuses half a surrogate pair
    return value
