"""Tools for agents, in the words of no protocol: a front end lists them, checks their arguments and writes answers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

from doorward.model.calls import Client
from doorward.model.programs import Outcome

_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """Who calls a tool: by which `doorward.Gateway`, as which principal, and the client, which gets progress and can be
    asked."""

    gateway: Any
    principal: str
    client: Client
    form: str = "text"
    """The form that values have in the text of answers: `[output]` of the configuration."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers: a JSON object, the same as text for agents that read nothing else, and whether it is an
    error."""

    value: Mapping[str, Any]
    text: str
    failed: bool = False


def always(gateway: Any, principal: str) -> bool:
    """For tools that every principal has."""
    return True


@dataclass(frozen=True)
class AgentTool:
    """A tool that front ends offer to agents: a hook plugin gives it by the hook `agent_tools`.

    `handle` gets a `ToolCaller` and the arguments by their names, as they fit the schema. Its name is that of the tool,
    and its signature says what the tool takes: a parameter with a default may be left out, and `Annotated` adds a
    description, or more of a JSON Schema. It raises DoorwardError, whose text the agent gets.
    """

    handle: Callable[..., Awaitable[ToolAnswer | Outcome]]
    title: str
    description: str
    """What agents that write programs are told of it; empty if it is not for them."""
    minimal: str = ""
    """The same on the surface `minimal`."""
    calls: str = ""
    """The same on the surface `calls`."""
    output_schema: Mapping[str, Any] | None = None
    """The JSON Schema of `ToolAnswer.value`; `None` for a tool that answers outcomes, whose schema front ends know."""
    read_only: bool = False
    destructive: bool = True
    """Whether it may change or delete what is there, if it is not `read_only`."""
    open_world: bool = True
    """Whether it may reach servers."""
    offered: Callable[[Any, str], bool] = always
    """Whether a principal has it now: gets the gateway and the principal. Asked often, so it must be quick."""
    resumes: str = ""
    """The argument that takes the id of a run, if the tool lets a stored run go on. Clients are told of it before an
    answer could be lost, and a front end uses it for a run whose process is gone."""

    @property
    def name(self) -> str:
        return self.handle.__name__

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        _, *parameters = inspect.signature(self.handle, eval_str=True).parameters.values()
        required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
        properties = {parameter.name: _schema(parameter) for parameter in parameters}
        return {"type": "object", "properties": properties} | ({"required": required} if required else {})


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
