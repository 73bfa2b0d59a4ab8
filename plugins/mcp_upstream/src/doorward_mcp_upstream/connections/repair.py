"""Reads the tools of a server as they come. A defect of one tool never loses the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
from doorward import Skipped
from mcp.shared.inbound import find_invalid_x_mcp_header

from doorward_mcp_upstream.connections.troubles import Trouble
from doorward_mcp_upstream.connections.wire import MAX_MESSAGE_BYTES
from doorward_mcp_upstream.tools.text import line

MAX_TOOLS = 10_000
MAX_PAGES = 1_000
MAX_TOOL_CHARACTERS = 2**20
"""Characters of a tool without its description, of which only the beginning is kept. All tools of a server together
have `MAX_MESSAGE_BYTES`."""
MAX_TOOL_DEPTH = 100
"""Levels of nesting in a tool."""
_MAX_NAME_CHARACTERS = 300
"""Longest name of a tool."""
_MAX_DESCRIPTION_CHARACTERS = 10_000


async def read_tools(
    page: Callable[[str | None], Awaitable[Mapping[str, Any]]],
) -> tuple[list[dict[str, Any]], list[Skipped]]:
    """All tools, page after page. `page` fetches the page at a cursor.

    Raises: Trouble if the first page is no list of tools.
    """
    tools: dict[str, dict[str, Any]] = {}
    skipped: list[Skipped] = []
    cursor: str | None = None
    seen: set[str] = set()
    size = 0
    for number in range(1, MAX_PAGES + 1):
        answer = await page(cursor)
        listed = answer.get("tools")
        if not isinstance(listed, list):
            if number == 1:
                raise Trouble("it answered tools/list without a list of tools")
            skipped.append(Skipped(f"page {number}", "is not a list of tools"))
            break
        size += await anyio.to_thread.run_sync(_take, listed, number, tools, skipped)
        cursor = answer.get("nextCursor")
        if size > MAX_MESSAGE_BYTES:
            skipped.append(
                Skipped(
                    f"page {number}",
                    f"more than {MAX_MESSAGE_BYTES // 2**20} MiB of tools; what comes after is left out",
                )
            )
            break
        if len(tools) + len(skipped) > MAX_TOOLS:
            skipped.append(Skipped(f"page {number}", f"more than {MAX_TOOLS} tools; what comes after is left out"))
            break
        if not isinstance(cursor, str) or not cursor:
            break
        if cursor in seen:
            why = "names a page as the next that was read already; what comes after is left out"
            skipped.append(Skipped(f"page {number}", why))
            break
        seen.add(cursor)
    else:
        skipped.append(Skipped(f"page {MAX_PAGES}", "is followed by more; what comes after is left out"))
    return list(tools.values())[:MAX_TOOLS], skipped[:MAX_TOOLS]


def _take(listed: list[Any], page: int, tools: dict[str, dict[str, Any]], skipped: list[Skipped]) -> int:
    """Add the tools of a page to `tools` or `skipped`. Returns: how large they are."""
    size = 0
    for index, given in enumerate(listed[: MAX_TOOLS + 1]):
        tool = _shortened(given)
        large = _size(tool)
        size += large or 0
        if large is None or large > MAX_TOOL_CHARACTERS:
            too_large = f"has more than {MAX_TOOL_CHARACTERS} characters"
            taken: Any = "is nested too deeply" if large is None else too_large
        else:
            taken = _tool(tool, tools)
        if isinstance(taken, str):
            skipped.append(Skipped(_place(tool, page, index), taken))
        else:
            tools[taken["name"]] = taken
    return size


def _shortened(tool: Any) -> Any:
    description = tool.get("description") if isinstance(tool, dict) else None
    return {**tool, "description": description[:_MAX_DESCRIPTION_CHARACTERS]} if isinstance(description, str) else tool


def _size(tool: Any) -> int | None:
    """About how many characters a tool has as JSON, counted up to `MAX_TOOL_CHARACTERS`; `None` if it is too deep."""
    size, level = 0, [tool]
    for _ in range(MAX_TOOL_DEPTH):
        below: list[Any] = []
        for node in level:
            size += 2 + (len(node) if isinstance(node, str) else 0)
            if isinstance(node, dict):
                size += sum(len(key) + 4 for key in node)
                below += node.values()
            elif isinstance(node, list):
                below += node
            if size > MAX_TOOL_CHARACTERS:
                return size
        if not (level := below):
            return size
    return None


def _place(tool: Any, page: int, index: int) -> str:
    name = tool.get("name") if isinstance(tool, dict) else None
    return line(name, _MAX_NAME_CHARACTERS) or f"page {page}, tool {index + 1}"


def _tool(tool: Any, taken: Mapping[str, Any]) -> dict[str, Any] | str:
    """The tool, repaired; or why it is skipped."""
    if not isinstance(tool, dict):
        return "is not an object"
    name = tool.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > _MAX_NAME_CHARACTERS:
        return f"has no name of at most {_MAX_NAME_CHARACTERS} characters"
    if name in taken:
        return "another tool has the same name"
    schema = tool.get("inputSchema")
    if schema is None or schema is True:
        schema = {}
    if not isinstance(schema, dict):
        return "its inputSchema is not an object"
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return f"its inputSchema is of type {str(kind)[:50]!r}; arguments are an object"
    if not isinstance(schema.get("properties", {}), dict):
        return "the properties of its inputSchema are not an object"
    if why := _bad_header(schema):
        return line(f"x-mcp-header: {why}", 500)
    fine = {key: value for key, value in tool.items() if isinstance(value, _FIELD_TYPES.get(key, object))}
    return fine | {"inputSchema": {**schema, "type": "object"}}


_FIELD_TYPES: dict[str, Any] = {
    "description": str,
    "title": str,
    "outputSchema": dict,
    "annotations": dict,
    "_meta": dict,
}
"""The types of optional fields. A field of another type is ignored."""


def _bad_header(schema: dict[str, Any]) -> str | None:
    """Why a tool must be skipped that wants arguments in HTTP headers (MCP 2026-07-28, streamable HTTP, custom
    headers); `None` if it need not."""
    try:
        return find_invalid_x_mcp_header(schema)
    except RecursionError:
        return "the schema is nested too deeply"
