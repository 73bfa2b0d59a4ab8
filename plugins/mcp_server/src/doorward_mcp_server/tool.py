"""A tool of Doorward's own: what clients are told of it, and the check of its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import mcp_types as t
from doorward import Client, Gateway, InvalidArguments
from doorward.serving import compact, mistakes

Answer = tuple[str, Any, bool, *tuple[t.ImageContent, ...]]
"""The text, which must do without the rest; the structured content; whether it is an error; and images."""

_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
_PLAIN_TYPES = {"string": str, "object": dict, "boolean": bool, "integer": int}
"""Types that need no library to be checked, where a schema says nothing but the type."""

_SAYS_NO_MORE = {"type", "description", "default"}

_CHECKED_BY_GATEWAY = ("minItems", "maxItems")
"""Keywords of schemas that the gateway checks itself, with a hint."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a tool: on which gateway, as which principal, the client that can be asked, and the form in which
    it gets the text of answers."""

    gate: Gateway
    principal: str
    client: Client
    form: str


def always(gate: Gateway) -> bool:
    """For tools that every gateway offers."""
    return True


def unchanged(gate: Gateway, tool: t.Tool) -> t.Tool:
    """For tools that are the same on every gateway."""
    return tool


@dataclass(frozen=True)
class OwnTool:
    """An entry of the table of tools.

    `handler` gets a `Caller` and the arguments: it names the tool, and its signature is the tool's input schema. An
    optional parameter is one with a default; `Annotated` adds a description, or more of a schema.
    """

    handler: Callable[..., Awaitable[Answer]]
    title: str
    description: str
    output_schema: dict[str, Any]
    annotations: t.ToolAnnotations
    minimal: str = ""
    """Its description in the surface `minimal`; empty if it is not part of that."""
    calls: str = ""
    """The same for the surface `calls`."""
    offered: Callable[[Gateway], bool] = always
    """Whether a gateway has anything that the tool is for."""
    adapted: Callable[[Gateway, t.Tool], t.Tool] = unchanged
    """The tool in the words of a gateway: without arguments for which that has no use."""

    @property
    def name(self) -> str:
        return self.handler.__name__

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        _, *parameters = inspect.signature(self.handler, eval_str=True).parameters.values()
        required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
        properties = {parameter.name: _schema(parameter) for parameter in parameters}
        return {"type": "object", "properties": properties} | ({"required": required} if required else {})

    def on(self, surface: str, gate: Gateway) -> t.Tool | None:
        """The tool as clients see it on this surface, or `None` if it is not part of it."""
        others = {"minimal": self.minimal, "calls": self.calls}
        description = others.get(surface, self.description)
        if not description:
            return None
        tool = t.Tool(
            name=self.name, title=self.title, annotations=self.annotations, description=description,
            input_schema=self.input_schema, output_schema=self.output_schema,
        )  # fmt: skip
        return self.adapted(gate, tool)

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> t.CallToolResult:
        """The answer of the tool to checked arguments."""
        text, structured, is_error, *images = await self.handler(caller, **arguments)
        if caller.form == "json":
            text = compact(structured)
        return t.CallToolResult(
            content=[t.TextContent(text=text), *images], structured_content=structured, is_error=is_error
        )

    def checked(self, arguments: Mapping[str, Any], shown: t.Tool | None = None) -> dict[str, Any]:
        """The arguments, if they fit the schema; what they mean is checked by the gateway. `shown` is the tool as the
        client sees it. Raises: InvalidArguments, written for the agent."""
        if not self._fits_plainly(arguments):
            schema = shown.input_schema if shown else self.input_schema
            known = schema["properties"]
            found = self._validator.iter_errors(_outline(arguments))
            errors = [e for e in found if e.kind.name not in _CHECKED_BY_GATEWAY]
            if told := mistakes(errors, lambda place: () if place else known):
                raise InvalidArguments(f"{self.name} {'; '.join(told)}", hint=self._usage(schema))
        # To JSON 10.0 is an integer too.
        return {name: int(value) if name in self._whole else value for name, value in arguments.items()}

    def _fits_plainly(self, arguments: Mapping[str, Any]) -> bool:
        """Whether they fit at first sight: the library, whose import takes time and memory, judges what does not."""
        known, required = self.input_schema["properties"], self.input_schema.get("required", ())
        return all(name in arguments for name in required) and all(
            name in known
            and type(value) is _PLAIN_TYPES.get(known[name]["type"])
            and known[name].keys() <= _SAYS_NO_MORE
            for name, value in arguments.items()
        )

    @cached_property
    def _whole(self) -> set[str]:
        """The arguments that are integers."""
        return {name for name, schema in self.input_schema["properties"].items() if schema["type"] == "integer"}

    @cached_property
    def _validator(self) -> Any:
        import jsonschema_rs

        return jsonschema_rs.Draft202012Validator(self.input_schema | {"additionalProperties": False})

    def _usage(self, schema: Mapping[str, Any]) -> str:
        known, required = schema["properties"], schema.get("required", ())
        parameters = [f"{name}{'' if name in required else '?'}: {of['type']}" for name, of in known.items()]
        return f"{self.name}({', '.join(parameters)})"


def _schema(parameter: inspect.Parameter) -> dict[str, Any]:
    """The JSON Schema of a parameter. `| None` only says that it may be left out."""
    kind, *said = (
        get_args(parameter.annotation) if get_origin(parameter.annotation) is Annotated else (parameter.annotation,)
    )
    schema = _typed(next((one for one in get_args(kind) if NoneType in get_args(kind) and one is not NoneType), kind))
    for more in said:
        schema |= {"description": more} if isinstance(more, str) else more
    return schema | (
        {"default": parameter.default} if parameter.default and parameter.default is not parameter.empty else {}
    )


def _typed(kind: Any) -> dict[str, Any]:
    origin = get_origin(kind) or kind
    return {"type": _JSON_TYPES[origin]} | ({"items": _typed(get_args(kind)[0])} if origin is list else {})


def _outline(value: Any, depth: int = 3) -> Any:
    """A value as deep as the schemas of tools look: programs and parameters may be larger and deeper than that."""
    if isinstance(value, Mapping):
        return {_outline(str(key)): _outline(each, depth - 1) for key, each in value.items()} if depth else {}
    if isinstance(value, list):
        return [_outline(each, depth - 1) for each in value] if depth else []
    if isinstance(value, str) and not value.isascii():
        return value.encode(errors="replace").decode()  # the library refuses half a surrogate pair
    return value
