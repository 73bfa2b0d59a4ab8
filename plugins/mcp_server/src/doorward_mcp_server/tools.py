"""Doorward's own MCP tools: a handler and an entry in `TOOLS` each. Lists, checks and docs follow from the entries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import mcp_types as t
from doorward import Gateway, module_name
from doorward.serving import indented, outcome_names

from doorward_mcp_server.calling import answered, read_on
from doorward_mcp_server.found import found_lines
from doorward_mcp_server.guides import MINIMAL
from doorward_mcp_server.languages import declaring, running
from doorward_mcp_server.tool import Answer, Caller, OwnTool

SERVERS_PER_PAGE = 50
"""Servers in one answer of `list_servers`."""

GUIDES_PER_PAGE = 100
"""Guides in one answer of `list_skills`."""


def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties} | ({"required": required.split()} if required else {})


_STRING, _OBJECT = {"type": "string"}, {"type": "object"}
_NAMES = {"type": "array", "items": _STRING}
_NAMES_IN_A_HIT = "function summary gives needs read_only destructive deprecated confirm answers matched"
_FOUND = _object("function", **{name: {} for name in _NAMES_IN_A_HIT.split()})
"""Names alone: the definition of a tool takes room in the context of every client."""
_CARD = _object("function", function=_STRING, text=_STRING, error=_STRING)
_OUTCOME = outcome_names()

_READS = t.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_RUNS = t.ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)
_FIND = "Find functions by what they do. Best first."
_GUIDES = "The servers to which there is a guide."
_GUIDE = "The guide to a server, written by its owner. Read it before you use the server."
_RESUME = "Let a run go on that waits or was cut off; no call is made twice. Without `run`: lists yours."
_Seconds = Annotated[float | None, "Seconds"]


async def list_servers(caller: Caller, cursor: str | None = None) -> Answer:
    found = await caller.gate.list_servers(limit=SERVERS_PER_PAGE, cursor=cursor, principal=caller.principal)
    lines = [_server_line(s) for s in found["servers"]] or [
        "There are no more servers." if cursor else "No servers are configured."
    ]
    if "cursor" in found:
        lines.append(
            f"{found['total']} in all; search_functions looks in all of them; more with cursor={found['cursor']!r}"
        )
    lines.append(f"executors: {caller.gate.executors.told() or 'none is installed'}")
    return "\n".join(lines), found, False


async def search_functions(
    caller: Caller,
    query: Annotated[str, "In words; tag:NAME narrows"] = "",
    queries: Annotated[list[str] | None, "Several at once"] = None,
    server: str | None = None,
    read_only: bool | None = None,
    limit: int = 10,
    cursor: str | None = None,
    explain: bool = False,
) -> Answer:
    found = await caller.gate.search_functions(
        query, queries=queries or (), server=server, read_only=read_only, limit=limit, cursor=cursor, explain=explain,
        principal=caller.principal,
    )  # fmt: skip
    return "\n".join(found_lines(found)), found, False


_FUNCTIONS = {"minItems": 1, "maxItems": 5, "items": {"type": ["string", "object"]}}
"""An object is `{"server_name": …, "function_name": …}`, which programs of another system's agents send."""


async def get_functions(
    caller: Caller,
    functions: Annotated[list[str], _FUNCTIONS, '["server.function"]'],
    language: str = "",
) -> Answer:
    cards = await caller.gate.get_functions(functions, principal=caller.principal, language=language)
    text = "\n\n".join(card.get("text") or f"{card['function']}: {card['error']}" for card in cards)
    structured = [{k: v for k, v in card.items() if k in ("function", "text", "error")} for card in cards]
    return text, {"functions": structured}, all("error" in card for card in cards)


async def execute_code(
    caller: Caller,
    code: str,
    description: Annotated[str, "What it does, in general words"] = "",
    params: Annotated[dict[str, Any] | None, "Values for top-level variables"] = None,
    functions: Annotated[list[str] | None, "Narrow what it may call; wildcards work"] = None,
    session_id: Annotated[str, '"new" keeps variables'] = "",
    timeout: _Seconds = None,
    show_bytes: int | None = None,
    language: str = "",
    mode: Annotated[str, {"enum": ["run", "plan"]}, "plan: withholds writes and shows them"] = "run",
    sampling: bool | None = None,
) -> Answer:
    outcome = await caller.gate.execute(
        code, description=description, params=params, functions=functions, session_id=session_id, timeout=timeout,
        show_bytes=show_bytes, principal=caller.principal, client=caller.client, language=language, mode=mode,
        sampling=sampling,
    )  # fmt: skip
    return answered(caller, outcome)


async def run_cached_code(
    caller: Caller,
    cache_id: str,
    params: dict[str, Any] | None = None,
    timeout: _Seconds = None,
    show_bytes: int | None = None,
) -> Answer:
    outcome = await caller.gate.run_cached(
        cache_id, params, timeout=timeout, show_bytes=show_bytes, principal=caller.principal, client=caller.client
    )
    return answered(caller, outcome)


async def resume_run(
    caller: Caller, run: str = "", give_up: Annotated[bool, "End it instead: its program may run again"] = False
) -> Answer:
    runs = caller.gate.runs
    if not run:
        return answered(caller, await runs.open(principal=caller.principal))
    if give_up:
        return answered(caller, await runs.give_up(run, principal=caller.principal))
    return answered(caller, await runs.resume(run, principal=caller.principal, client=caller.client))


async def commit_plan(caller: Caller, plan: Annotated[str, "Its id"]) -> Answer:
    return answered(caller, await caller.gate.plans.commit(plan, principal=caller.principal, client=caller.client))


async def call_function(
    caller: Caller,
    function: Annotated[str, '"server.function"'],
    arguments: dict[str, Any] | None = None,
    cursor: Annotated[str | None, "Reads on where an answer was cut, without a call"] = None,
    show_bytes: int | None = None,
) -> Answer:
    if cursor is not None:
        return read_on(caller, cursor)
    return answered(caller, await caller.gate.answer(
        function, arguments, show_bytes=show_bytes, principal=caller.principal, client=caller.client
    ))  # fmt: skip


async def list_skills(caller: Caller, cursor: str | None = None) -> Answer:
    names, following = caller.gate.skills.page(caller.principal, GUIDES_PER_PAGE, cursor)
    lines = [*(names or ["No guide can be read."]), *([f"more with cursor={following!r}"] if following else [])]
    return "\n".join(lines), {"skills": names} | ({"cursor": following} if following else {}), False


async def get_server_skills(caller: Caller, server: str) -> Answer:
    guide = caller.gate.skills.read(module_name(server), caller.principal)
    return guide, {"server": server, "guide": guide}, False


def _server_line(server: Mapping[str, Any]) -> str:
    if "broken" in server:
        return f"{server['name']}: {indented(server['broken'])}"
    more = ", …" if server["functions"] > len(server["first"]) else ""
    about = f"\n  {server['about']}" if "about" in server else ""
    note = f" ({server['note']})" if "note" in server else ""
    count = f"{server['functions']} function{'s' * (server['functions'] != 1)}"
    return f"{server['name']}: {count}: {', '.join(server['first'])}{more}{note}{about}"


def _has_guides(gate: Gateway) -> bool:
    return bool(gate.skills.configured)


def _has_waiting_runs(gate: Gateway) -> bool:
    return gate.runs.can_wait


def _has_plans(gate: Gateway) -> bool:
    return gate.plans.offered


RESUME_RUN = OwnTool(resume_run, "Resume run", _RESUME, _OUTCOME, _RUNS, minimal=_RESUME, offered=_has_waiting_runs)

TOOLS = (
    OwnTool(
        list_servers, "List servers", "The servers whose functions can be called, and what the sandbox can do.",
        _object("servers", servers={"type": "array"}, executors={"type": "array"}), _READS,
    ),
    OwnTool(
        search_functions, "Search functions", _FIND,
        _object(
            "functions total",
            functions={"type": "array", "items": _FOUND}, total={"type": "integer"}, well={}, cursor=_STRING, near={},
            compiling={},
        ), _READS, calls=_FIND,
    ),
    OwnTool(
        get_functions, "Get functions",
        "Signature, response type, docs, import line and an example of 1 to 5 functions.",
        _object("functions", functions={"type": "array", "items": _CARD}), _READS, adapted=declaring,
        calls="Arguments, answer, docs and an example of 1 to 5 functions.",
    ),
    OwnTool(
        execute_code, "Execute code",
        "Run a Python program in the sandbox. Its value is `result`, or the last expression.",
        _OUTCOME, _RUNS, minimal=MINIMAL, adapted=running,
    ),
    OwnTool(
        run_cached_code, "Run cached code",
        "Run a program that succeeded again, with other values for its top-level literals.",
        _OUTCOME, _RUNS,
    ),
    RESUME_RUN,
    OwnTool(
        commit_plan, "Commit plan",
        "Write what a plan withheld, after a person's yes if one is needed; nothing if what it read has changed.",
        _OUTCOME, _RUNS, offered=_has_plans,
    ),
    OwnTool(
        call_function, "Call function", "",
        _object("ok", ok={}, value={}, cursor=_STRING, truncated={}, artefacts={}, error={}, notes={}), _RUNS,
        calls="Call a function. Look it up with get_functions first.",
    ),
    OwnTool(
        list_skills, "List skills", _GUIDES,
        _object("skills", skills=_NAMES, cursor=_STRING), _READS, offered=_has_guides, calls=_GUIDES,
    ),
    OwnTool(
        get_server_skills, "Get server skills", _GUIDE,
        _object("server guide", server=_STRING, guide=_STRING), _READS, offered=_has_guides, calls=_GUIDE,
    ),
)  # fmt: skip
"""The tools, in the order in which clients see them."""
