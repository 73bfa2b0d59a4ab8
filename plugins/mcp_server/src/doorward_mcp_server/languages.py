"""The tools in the languages that a gateway runs. Where that is Python alone, nothing is said of languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as t
from doorward import Gateway

from doorward_mcp_server.guides import PYTHON, in_words_of

_HOW = 'TypeScript: `import * as server from "server"; const result = await server.function({ name: value })`'


def declaring(gate: Gateway, tool: t.Tool, surface: str) -> t.Tool:
    """`get_functions`: an agent says for which language, where it may choose between Python and others."""
    if surface == "calls":
        return _with(tool, None)
    served = gate.languages.served
    return _with(tool, {"enum": served} if PYTHON in served and len(served) > 1 else None)


def running(gate: Gateway, tool: t.Tool, surface: str) -> t.Tool:
    """`execute_code`: the languages that the executors run, and how a program looks that is no Python; and the modes,
    where there are others than `run`."""
    modes = gate.modes if surface == "standard" else {}
    tool = _in_modes(tool, modes) if modes else without(tool, "mode")
    served = gate.languages.served
    if PYTHON in served or not served:
        return _with(tool, {"enum": served, "description": _HOW} if len(served) > 1 else None)
    description = in_words_of(gate, tool.description or "")
    return _with(tool.model_copy(update={"description": description}), {"enum": served} if len(served) > 1 else None)


def _in_modes(tool: t.Tool, modes: Mapping[str, str]) -> t.Tool:
    about = "; ".join(f"{name}: {text}" for name, text in modes.items())
    mode = {"type": "string", "enum": ["run", *modes], "description": about, "default": "run"}
    properties = tool.input_schema["properties"] | {"mode": mode}
    return tool.model_copy(update={"input_schema": tool.input_schema | {"properties": properties}})


def without(tool: t.Tool, argument: str) -> t.Tool:
    """The tool without an argument."""
    arguments = {name: schema for name, schema in tool.input_schema["properties"].items() if name != argument}
    return tool.model_copy(update={"input_schema": tool.input_schema | {"properties": arguments}})


def _with(tool: t.Tool, language: dict[str, Any] | None) -> t.Tool:
    """The tool whose argument `language` has this schema, or that has none."""
    tool = without(tool, "language")
    if language:
        tool.input_schema["properties"]["language"] = {"type": "string", **language}
    return tool


ADAPTED = {"get_functions": declaring, "execute_code": running}
"""What puts a tool into the words of a gateway, by the tool's name."""
