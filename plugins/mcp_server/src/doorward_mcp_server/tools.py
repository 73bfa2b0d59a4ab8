"""The tools of every gateway: a handler and an entry in `TOOLS` each. Lists, checks and docs follow from these."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from doorward import AgentTool, Outcome, ToolAnswer, ToolCaller
from doorward.texts import indented
from doorward_text import executors_in_brief

from doorward_mcp_server.calling import read_on
from doorward_mcp_server.found import found_lines
from doorward_mcp_server.guides import MINIMAL

SERVERS_PER_PAGE = 50
"""Servers in one answer of `list_servers`."""


def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties} | ({"required": required.split()} if required else {})


_STRING, _OBJECT = {"type": "string"}, {"type": "object"}
_NAMES = {"type": "array", "items": _STRING}
_NAMES_IN_A_HIT = "function summary gives needs read_only destructive deprecated confirm answers matched"
_FOUND = _object("function", **{name: {} for name in _NAMES_IN_A_HIT.split()})
"""Names alone: the definition of a tool takes room in the context of every client."""
_CARD = _object("function", function=_STRING, text=_STRING, error=_STRING)

_reading = partial(AgentTool, read_only=True, open_world=False)
_FIND = "Find functions by what they do. Best first."
_Seconds = Annotated[float | None, "Seconds"]


async def list_servers(caller: ToolCaller, cursor: str | None = None) -> ToolAnswer:
    found = await caller.gateway.list_servers(limit=SERVERS_PER_PAGE, cursor=cursor, principal=caller.principal)
    lines = [_server_line(s) for s in found["servers"]] or [
        "There are no more servers." if cursor else "No servers are configured."
    ]
    if "cursor" in found:
        lines.append(
            f"{found['total']} in all; search_functions looks in all of them; more with cursor={found['cursor']!r}"
        )
    lines.append(f"executors: {executors_in_brief(caller.gateway) or 'none is installed'}")
    return ToolAnswer(found, "\n".join(lines))


async def search_functions(
    caller: ToolCaller,
    query: Annotated[str, "In words; tag:NAME narrows"] = "",
    queries: Annotated[list[str] | None, "Several at once"] = None,
    server: str | None = None,
    read_only: bool | None = None,
    limit: int = 10,
    cursor: str | None = None,
    explain: bool = False,
) -> ToolAnswer:
    found = await caller.gateway.search_functions(
        query, queries=queries or (), server=server, read_only=read_only, limit=limit, cursor=cursor, explain=explain,
        principal=caller.principal,
    )  # fmt: skip
    if caller.gateway.surface(caller.principal) != "standard":  # the others have no tool that runs these
        found.pop("programs", None)
    return ToolAnswer(found, "\n".join(found_lines(found)))


_FUNCTIONS = {"minItems": 1, "maxItems": 5, "items": {"type": ["string", "object"]}}
"""An object is `{"server_name": …, "function_name": …}`, which programs of another system's agents send."""


async def get_functions(
    caller: ToolCaller,
    functions: Annotated[list[str], _FUNCTIONS, '["server.function"]'],
    language: str = "",
) -> ToolAnswer:
    cards = await caller.gateway.get_functions(functions, principal=caller.principal, language=language)
    text = "\n\n".join(card.get("text") or f"{card['function']}: {card['error']}" for card in cards)
    structured = [{k: v for k, v in card.items() if k in ("function", "text", "error")} for card in cards]
    return ToolAnswer({"functions": structured}, text, all("error" in card for card in cards))


async def execute_code(
    caller: ToolCaller,
    code: str,
    description: Annotated[str, "What it does, in general words"] = "",
    params: Annotated[dict[str, Any] | None, "Values for top-level variables"] = None,
    functions: Annotated[list[str] | None, "Narrow what it may call; wildcards work"] = None,
    session_id: Annotated[str, '"new" keeps variables'] = "",
    timeout: _Seconds = None,
    show_bytes: int | None = None,
    language: str = "",
    mode: str = "run",
    sampling: bool | None = None,
) -> Outcome:
    outcome: Outcome = await caller.gateway.execute(
        code, description=description, params=params, functions=functions, session_id=session_id, timeout=timeout,
        show_bytes=show_bytes, principal=caller.principal, client=caller.client, language=language, mode=mode,
        sampling=sampling,
    )  # fmt: skip
    return outcome


async def run_cached_code(
    caller: ToolCaller,
    cache_id: str,
    params: dict[str, Any] | None = None,
    timeout: _Seconds = None,
    show_bytes: int | None = None,
) -> Outcome:
    outcome: Outcome = await caller.gateway.run_cached(
        cache_id, params, timeout=timeout, show_bytes=show_bytes, principal=caller.principal, client=caller.client
    )
    return outcome


async def call_function(
    caller: ToolCaller,
    function: Annotated[str, '"server.function"'],
    arguments: dict[str, Any] | None = None,
    cursor: Annotated[str | None, "Reads on where an answer was cut, without a call"] = None,
    show_bytes: int | None = None,
) -> ToolAnswer | Outcome:
    if cursor is not None:
        return await read_on(caller, cursor)
    outcome: Outcome = await caller.gateway.answer(
        function, arguments, show_bytes=show_bytes, principal=caller.principal, client=caller.client
    )
    return outcome


def _server_line(server: Mapping[str, Any]) -> str:
    if "broken" in server:
        return f"{server['name']}: {indented(server['broken'])}"
    more = ", …" if server["functions"] > len(server["first"]) else ""
    about = f"\n  {server['about']}" if "about" in server else ""
    note = f" ({server['note']})" if "note" in server else ""
    count = f"{server['functions']} function{'s' * (server['functions'] != 1)}"
    return f"{server['name']}: {count}: {', '.join(server['first'])}{more}{note}{about}"


def _keeps_programs(gateway: Any, principal: str) -> bool:
    return bool(gateway.keeps_programs)


TOOLS = (
    _reading(
        list_servers, "List servers", "The servers whose functions can be called, and what the sandbox can do.",
        output_schema=_object("servers", servers={"type": "array"}, executors={"type": "array"}),
    ),
    _reading(
        search_functions, "Search functions", _FIND, calls=_FIND,
        output_schema=_object(
            "functions total",
            functions={"type": "array", "items": _FOUND}, total={"type": "integer"}, well={}, cursor=_STRING, near={},
            compiling={},
        ),
    ),
    _reading(
        get_functions, "Get functions",
        "Signature, response type, docs, import line and an example of 1 to 5 functions.",
        calls="Arguments, answer, docs and an example of 1 to 5 functions.",
        output_schema=_object("functions", functions={"type": "array", "items": _CARD}),
    ),
    AgentTool(
        execute_code, "Execute code",
        "Run a Python program in the sandbox. Its value is `result`, or the last expression.", MINIMAL,
    ),
    AgentTool(
        run_cached_code, "Run cached code",
        "Run a program that succeeded again, with other values for its top-level literals.",
        offered=_keeps_programs,
    ),
    AgentTool(
        call_function, "Call function", "", calls="Call a function. Look it up with get_functions first.",
        output_schema=_object(
            "ok", ok={}, value={}, cursor=_STRING, truncated={}, artefacts={}, error={}, notes={}
        ),
    ),
)  # fmt: skip
"""The tools, in the order in which clients see them; those of plugins come behind."""
