"""The MCP tools: their definitions, and each as a call of the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import mcp_types as t
from doorward.config.config import module_name
from doorward.data.quoting import indented, told
from doorward.describe.outcome_schema import outcome_names
from doorward.describe.outcome_text import as_dict, as_text
from doorward.gateway import Gateway
from doorward.model.errors import DoorwardError, InvalidArguments
from doorward.model.interaction import Client
from doorward.model.types import Outcome
from doorward.plugins.mcp_additions import principal_of
from doorward.runs.program_text import json_type

from doorward_mcp_server.direct_tools import Direct
from doorward_mcp_server.guides import MINIMAL
from doorward_mcp_server.images import shown
from doorward_mcp_server.plugin_tools import Additions, of_plugin
from doorward_mcp_server.suspended_calls import Parked

Answer = tuple[str, Any, bool, *tuple[t.ImageContent, ...]]
"""The text that stands alone, the structured content, whether it is an error, and images."""


def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties} | ({"required": required.split()} if required else {})


_STRING, _OBJECT = {"type": "string"}, {"type": "object"}
_NAMES = {"type": "array", "items": _STRING}
_FOUND = _object("function", function=_STRING, summary=_STRING)
_CARD = _object("function", function=_STRING, text=_STRING, error=_STRING)
_OUTCOME = outcome_names()

_TIMEOUT = {"type": "number", "description": "Seconds"}
_READS = t.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_RUNS = t.ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)

LIST = t.Tool(
    name="list_servers", title="List servers", annotations=_READS,
    description="The servers whose functions can be called, and what the sandbox can do.",
    input_schema=_object(cursor=_STRING), output_schema=_object("servers", servers={"type": "array"}, executors={"type": "array"}),
)  # fmt: skip
SEARCH = t.Tool(
    name="search_functions", title="Search functions", annotations=_READS,
    description="Find functions by what they do. Best first.",
    input_schema=_object(
        "query", query=_STRING | {"description": "In words; tag:NAME narrows"}, server=_STRING, read_only={"type": "boolean"},
        limit={"type": "integer", "default": 10}, cursor=_STRING,
    ),
    output_schema=_object("functions total", functions={"type": "array", "items": _FOUND}, total={"type": "integer"}, cursor=_STRING),
)  # fmt: skip
GET = t.Tool(
    name="get_functions", title="Get functions", annotations=_READS,
    description="Signature, response type, docs, import line and an example of 1 to 5 functions.",
    input_schema=_object("functions", functions=_NAMES | {"minItems": 1, "maxItems": 5, "description": '["server.function"]'}),
    output_schema=_object("functions", functions={"type": "array", "items": _CARD}),
)  # fmt: skip
EXECUTE = t.Tool(
    name="execute_code", title="Execute code", annotations=_RUNS,
    description="Run a Python program in the sandbox. Its value is `result`, or the last expression.",
    input_schema=_object(
        "code",
        code=_STRING,
        description=_STRING | {"description": "What it does, in general words"},
        params=_OBJECT | {"description": "Values for top-level variables"},
        functions=_NAMES | {"description": "Narrow what it may call; wildcards work"},
        session_id=_STRING | {"description": '"new" keeps variables for further runs'},
        timeout=_TIMEOUT,
    ),
    output_schema=_OUTCOME,
)  # fmt: skip
CACHED = t.Tool(
    name="run_cached_code", title="Run cached code", annotations=_RUNS,
    description="Run a program that succeeded again, with other values for its top-level literals.",
    input_schema=_object("cache_id", cache_id=_STRING, params=_OBJECT, timeout=_TIMEOUT),
    output_schema=_OUTCOME,
)  # fmt: skip
SKILLS = t.Tool(
    name="list_skills", title="List skills", annotations=_READS, description="The servers to which there is a guide.",
    input_schema=_object(cursor=_STRING), output_schema=_object("skills", skills=_NAMES, cursor=_STRING),
)  # fmt: skip
SKILL = t.Tool(
    name="get_server_skills", title="Get server skills", annotations=_READS,
    description="The guide to a server, written by its owner. Read it before you use the server.",
    input_schema=_object("server", server=_STRING), output_schema=_object("server guide", server=_STRING, guide=_STRING),
)  # fmt: skip
SERVERS = 50
"""Servers in one answer of `list_servers`."""

GUIDES = 100
"""Guides in one answer of `list_skills`."""

_ASK = ("execute_code", "run_cached_code")
"""The tools whose runs may turn to the client."""

SURFACES = {"standard": [LIST, SEARCH, GET, EXECUTE, CACHED], "minimal": [EXECUTE.model_copy(update={"description": MINIMAL})]}


class Tools:
    """The tools of the configured surface, those for guides where there are any, the direct ones, and what plugins add."""

    def __init__(self, gate: Gateway, additions: Additions) -> None:
        self._gate = gate
        self._additions = additions
        self._direct = Direct(gate)
        self.parked = Parked(gate.limits.asking)
        surface = SURFACES[gate.config.surface]
        if gate.config.surface == "standard" and gate.skills.configured:
            surface = [*surface, SKILLS, SKILL]
        self._tools = surface
        run: dict[str, Callable[..., Awaitable[Answer]]] = {
            "list_servers": self._list, "search_functions": self._search, "get_functions": self._get,
            "execute_code": self._execute, "run_cached_code": self._cached,
            "list_skills": self._skills, "get_server_skills": self._skill,
        }  # fmt: skip
        self._run = {tool.name: run[tool.name] for tool in surface}
        self._known = {tool.name: tool.input_schema for tool in surface}

    async def listed(self, principal: str) -> list[t.Tool]:
        """Those of a principal, in an order that never changes: clients cache by it."""
        own = [*self._tools, *await self._direct.listed(principal)]
        names = {tool.name for tool in own}
        return [*own, *(raw.tool for name, raw in self._additions.tools().items() if name not in names)]

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """What a tool takes that may want arguments in headers too (2026-07-28, `x-mcp-header`): none but those of plugins does."""
        raw = None if name in self._run else self._additions.tools().get(name)
        return raw.tool.input_schema if raw else None

    async def call(self, ctx: Any, params: t.CallToolRequestParams) -> Any:
        """The answer of a tool, or what it asks. What goes wrong is an answer too, for the agent to read."""
        name, arguments, principal = params.name, params.arguments or {}, principal_of(ctx)
        try:
            if name in self._run:
                self._check(name, arguments)
                return await self.parked.call(ctx, params.request_state, partial(self._own, name, arguments, principal))
            if self._direct.has(name, principal):
                return await self.parked.call(ctx, params.request_state, partial(self._direct.call, name, arguments, principal))
            if (raw := self._additions.tools().get(name)) is not None:
                return await of_plugin(f"the tool {name}", raw.call, ctx, arguments)
            return _result(
                (f"There is no tool {name!r}. There are: {', '.join(tool.name for tool in await self.listed(principal))}.", None, True)
            )
        except DoorwardError as error:
            return _result((told(error), None, True))

    async def _own(self, name: str, arguments: Mapping[str, Any], principal: str, client: Client) -> t.CallToolResult:
        asks = {"client": client} if name in _ASK else {}
        return _result(await self._run[name](principal, **arguments, **asks))

    def _check(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Raises: InvalidArguments, for the agent to read. JSON types only: the gateway checks what they mean."""
        known, required = self._known[name]["properties"], self._known[name].get("required", ())
        usage = f"{name}({', '.join(k + ('' if k in required else '?') + ': ' + v['type'] for k, v in known.items())})"
        for key, value in arguments.items():
            if key not in known:
                raise InvalidArguments(f"{name} has no argument {key!r}", hint=usage)
            got, wanted = json_type(value), known[key]["type"]
            if got != wanted and (got, wanted) != ("integer", "number"):
                raise InvalidArguments(f"{name}: {key} must be of type {wanted}, not {got}", hint=usage)
        for key in required:
            if key not in arguments:
                raise InvalidArguments(f"{name} needs {key!r}", hint=usage)

    async def _list(self, principal: str, cursor: str | None = None) -> Answer:
        found = await self._gate.list_servers(limit=SERVERS, cursor=cursor, principal=principal)
        lines = [_server_line(s) for s in found["servers"]] or ["There are no more servers." if cursor else "No servers are configured."]
        if "cursor" in found:
            lines.append(f"{found['total']} in all; search_functions looks in all of them; more with cursor={found['cursor']!r}")
        lines.append(f"executors: {self._gate.executors.told() or 'none is installed'}")
        return "\n".join(lines), found, False

    async def _search(self, principal: str, query: str, **options: Any) -> Answer:
        found = await self._gate.search_functions(query, principal=principal, **options)
        lines = [f"{f['function']}: {f['summary']}{' (read-only)' if f.get('read_only') else ''}" for f in found["functions"]] or [
            "Nothing found. Try other words."
        ]
        if "cursor" in found:
            lines.append(f"{found['total']} in all; more with cursor={found['cursor']!r}")
        return "\n".join(lines), found, False

    async def _get(self, principal: str, functions: list[str]) -> Answer:
        cards = await self._gate.get_functions(functions, principal=principal)
        text = "\n\n".join(card.get("text") or f"{card['function']}: {card['error']}" for card in cards)
        structured = [{k: v for k, v in card.items() if k in ("function", "text", "error")} for card in cards]
        return text, {"functions": structured}, all("error" in card for card in cards)

    async def _execute(self, principal: str, code: str, **options: Any) -> Answer:
        return self._answer(await self._gate.execute(code, principal=principal, **options), principal)

    async def _cached(self, principal: str, cache_id: str, **options: Any) -> Answer:
        return self._answer(await self._gate.run_cached(cache_id, principal=principal, **options), principal)

    def _answer(self, outcome: Outcome, principal: str) -> Answer:
        outcome, images = shown(self._gate, outcome, principal)
        return as_text(outcome), as_dict(outcome), not outcome.ok, *images

    async def _skills(self, principal: str, cursor: str | None = None) -> Answer:
        names, following = self._gate.skills.page(principal, GUIDES, cursor)
        lines = [*(names or ["No guide can be read."]), *([f"more with cursor={following!r}"] if following else [])]
        return "\n".join(lines), {"skills": names} | ({"cursor": following} if following else {}), False

    async def _skill(self, principal: str, server: str) -> Answer:
        guide = self._gate.skills.read(module_name(server), principal)
        return guide, {"server": server, "guide": guide}, False


def _server_line(server: Mapping[str, Any]) -> str:
    if "broken" in server:
        return f"{server['name']}: {indented(server['broken'])}"
    more = ", …" if server["functions"] > len(server["first"]) else ""
    about = f"\n  {server['about']}" if "about" in server else ""
    note = f" ({server['note']})" if "note" in server else ""
    return f"{server['name']}: {server['functions']} functions: {', '.join(server['first'])}{more}{note}{about}"


def _result(answer: Answer) -> t.CallToolResult:
    text, structured, is_error, *images = answer
    return t.CallToolResult(content=[t.TextContent(text=text), *images], structured_content=structured, is_error=is_error)
