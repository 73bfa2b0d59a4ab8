"""The resources and prompts of an MCP server, as functions that every server has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from doorward import Call, Function, ServerError
from doorward.values import aside

from doorward_mcp_upstream import apps
from doorward_mcp_upstream.tools import results
from doorward_mcp_upstream.upstream import Upstream

MAX_LISTED = 10_000
_MAX_PAGES = 1000

_TEXT = {"type": "string"}
_ENTRIES = {"type": "array", "items": {"type": "object", "additionalProperties": {}}}


def _function(
    name: str, id: str, summary: str, returns: Mapping[str, Any], properties: Mapping[str, Any], *required: str
) -> Function:
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Function("", name, id, summary, parameters=schema, returns=returns, read_only=True, idempotent=True)


FUNCTIONS = (
    _function(
        "list_resources",
        "resources/list",
        "The resources of the server (uri, name, …) and its templates (uriTemplate)",
        _ENTRIES,
        {},
    ),
    _function(
        "read_resource",
        "resources/read",
        "A resource: its text (JSON is parsed), or the handle of its bytes; a list if it has several contents",
        {},
        {"uri": _TEXT},
        "uri",
    ),
    _function("list_prompts", "prompts/list", "The prompts of the server: name, description, arguments", _ENTRIES, {}),
    _function(
        "get_prompt",
        "prompts/get",
        "A prompt: its description and messages",
        {"type": "object", "properties": {"description": _TEXT, "messages": _ENTRIES}},
        {"name": _TEXT, "arguments": {"type": "object", "additionalProperties": _TEXT, "default": {}}},
        "name",
    ),
    _function(
        "read_app",
        apps.READ,
        "The page of a tool's interface (MCP Apps), for clients that show it",
        {"type": "object", "properties": {"html": _TEXT}},
        {"uri": _TEXT},
        "uri",
    ),
)


async def perform(call: Call, upstream: Upstream, capabilities: Mapping[str, Any]) -> Any:
    """The value of a call of one of these functions.

    Raises: ServerError, LimitExceeded.
    """
    method = call.function.id
    kind = method.partition("/")[0]
    if not isinstance(capabilities.get(kind), Mapping):
        if method.endswith("/list"):
            return []
        raise ServerError(f"{call.function.server} has no {kind}")
    match method:
        case "resources/list":
            return await _all(upstream, call, method, "resources") + await _all(
                upstream, call, "resources/templates/list", "resourceTemplates"
            )
        case "prompts/list":
            return await _all(upstream, call, method, "prompts")
        case "resources/read":
            result = await upstream.request(method, dict(call.arguments), call=call, safe=True)
            return await aside(partial(results.of_resource, result), results.weight(result))
    return results.of_prompt(await upstream.request(method, {"arguments": {}, **call.arguments}, call=call, safe=True))


async def _all(upstream: Upstream, call: Call, method: str, key: str) -> list[Any]:
    """All entries that a method lists, page after page. Many servers have no method for templates."""
    found: list[Any] = []
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    while len(found) < MAX_LISTED and len(cursors) < _MAX_PAGES:
        try:
            page = await upstream.request(method, params, call=call, safe=True)
        except ServerError:
            if key == "resourceTemplates":
                break
            raise
        listed = page.get(key)
        found += [_plain(entry) for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor or cursor in cursors:
            break
        cursors.add(cursor)
        params = {"cursor": cursor}
    return found[:MAX_LISTED]


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in ("_meta", "icons", "annotations")}
