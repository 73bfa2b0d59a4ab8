"""Functions of an MCP server as its tools again, and their recorded answers as results of `tools/call`."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from doorward.administration import plain_value

if TYPE_CHECKING:
    from doorward import Function
    from doorward.recording import RecordedCall

_WRAPPER = "result"
"""What wraps a structured result that is no object: the name that frameworks give it, and clients take off."""

_SAYS = "the tool says: "
"""How the error of a tool begins (`ToolError`)."""


def tool_of(function: Function, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as `tools/list` has it. `definitions` are those to which the function's schemas refer."""
    below = {"$defs": dict(definitions)} if definitions else {}
    given, names = function.parameters, function.names
    properties = {names.get(name, name): schema for name, schema in given.get("properties", {}).items()}
    required = [names.get(name, name) for name in given.get("required", ())]
    kept = {key: value for key, value in given.items() if key not in ("properties", "required", "anyOf")}
    tool = {
        "name": function.id,
        "description": f"{function.summary}\n\n{function.description}".strip(),
        "inputSchema": {**kept, "type": "object", "properties": properties, "required": required, **below},
        "annotations": {
            "readOnlyHint": function.read_only,
            "destructiveHint": function.destructive,
            "idempotentHint": function.idempotent,
        },
    }
    if function.returns is not None:
        whole = function.returns
        if whole.get("type") != "object":
            whole = {"type": "object", "properties": {_WRAPPER: whole}, "required": [_WRAPPER]}
        tool["outputSchema"] = {**whole, **below}
    return tool


def result_of(function: Function, call: RecordedCall) -> dict[str, Any]:
    """What `tools/call` answered: the value, or the tool's error in its words."""
    if call.error is not None:
        said = call.error.message.removeprefix(_SAYS)
        with suppress(ValueError):  # a text of the tool stands there as a JSON string
            said = str(json.loads(said))
        return {"isError": True, "content": [_text(said)]}
    value = call.reply.value if call.reply else None
    if isinstance(value, bytes):
        blob = {"uri": "mock:///file", "blob": base64.b64encode(value).decode()}
        return {"content": [{"type": "resource", "resource": blob}]}
    value = plain_value(value)
    content = [] if value is None else [_text(value if isinstance(value, str) else json.dumps(value))]
    if function.returns is None:
        return {"content": content}
    is_object = function.returns.get("type") == "object"
    return {"content": content, "structuredContent": value if is_object else {_WRAPPER: value}}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
