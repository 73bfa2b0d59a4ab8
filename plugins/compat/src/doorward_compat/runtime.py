"""The helpers of other systems, with their own names and shapes of answers: the module `doorward.runtime`, see
`aliases.py`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import anyio.lowlevel
from doorward import Function, UnknownName
from doorward.configuration import module_name
from doorward_text import capabilities

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward.helping import HelperContext

Form = Callable[[Function], dict[str, Any]]

_SELF = "code_executor"
"""The name by which examples of another system call the system itself."""

MAX_LISTED = 500
"""Functions that one answer lists."""


class Runtime:
    """The helpers, `all` by name. Several names may mean one helper: every plain call can be awaited as well."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._discovery, self._catalog, self._servers = gateway.discovery, gateway.catalog, gateway.servers
        self.all: dict[str, Callable[..., Awaitable[Any]]] = {
            **dict.fromkeys(("discovered_servers", "list_servers", "list_servers_sync"), self._discovered),
            **dict.fromkeys(("query_tool_docs", "query_tool_docs_sync"), self._docs),
            **dict.fromkeys(("search_tool_docs", "search_tool_docs_sync"), self._search_docs),
            **dict.fromkeys(("list_tools", "list_tools_sync"), self._tools),
            "describe_server": self._describe_server,
            "list_loaded_server_metadata": self._metadata,
            "capability_summary": self._summary,
            "call_tool": self._call_tool,
            **dict.fromkeys(("call_mcp_tool", "callMCPTool"), self._call_mcp_tool),
            **dict.fromkeys(("discover_mcp_tools", "discoverMCPTools"), self._discover),
            **dict.fromkeys(("search_tools", "searchTools"), self._search_tools),
            **dict.fromkeys(("get_tool_schema", "getToolSchema"), self._tool_schema),
        }

    # Servers and tools as records

    async def _discovered(self, run: HelperContext, detailed: bool = False) -> Any:
        """All that are configured, broken ones too: calls of these say what is wrong."""
        configured = {**self._servers.usable_by(run.program.principal)}
        configured |= {module_name(name): name for name in self._servers.wrong(run.program.principal)}
        if not detailed:
            return list(configured.values())
        listed = await self._discovery.servers(run.program.principal, within=run.program.functions)
        about = {s["name"]: s.get("about", "") for s in listed["servers"]}
        return [{"name": name, "description": about.get(module, "")} for module, name in configured.items()]

    async def _docs(self, run: HelperContext, server: str, tool: str | None = None, detail: str = "summary") -> Any:
        module = self._discovery.module(server, run.program.principal)
        if tool is not None:
            return self._entry(self._discovery.callable(f"{module}.{tool}", run.program), detail)
        return await self._listed(run, module, lambda function: self._entry(function, detail))

    async def _search_docs(self, run: HelperContext, query: str, limit: int = 5, detail: str = "summary") -> Any:
        return [self._entry(function, detail) for function in await self._found(run, query, limit)]

    async def _tools(self, run: HelperContext, server: str) -> Any:
        return await self._listed(run, self._discovery.module(server, run.program.principal), self._tool)

    async def _describe_server(self, run: HelperContext, name: str) -> Any:
        module = self._discovery.module(name, run.program.principal)
        return self._about(run, module, await self._listed(run, module, self._tool))

    async def _metadata(self, run: HelperContext) -> Any:
        room = MAX_LISTED
        found: list[dict[str, Any]] = []
        for module in self._servers.names(run.program.principal):
            tools = await self._listed(run, module, lambda function: self._tool(function, schema=False), room)
            room -= len(tools)
            found.append(self._about(run, module, tools))
        return found

    async def _summary(self, run: HelperContext) -> Any:
        return capabilities(self._gateway, run.program.principal, run.program.language)

    # Tools as `mcp__server__tool`

    async def _discover(self, run: HelperContext, search: Any = None) -> Any:
        terms = search.get("search") if isinstance(search, Mapping) else search
        if terms:
            return await self._search_tools(run, terms if isinstance(terms, str) else " ".join(map(str, terms)), 50)
        found: list[dict[str, Any]] = []
        for module in self._servers.names(run.program.principal):
            found += await self._listed(run, module, self._named, MAX_LISTED - len(found))
        return found

    async def _search_tools(self, run: HelperContext, query: str, limit: int = 10) -> Any:
        return [self._named(function) for function in await self._found(run, query, limit)]

    async def _tool_schema(self, run: HelperContext, name: str) -> Any:
        try:
            return self._named(self._discovery.callable(self._qualified(run, name), run.program))
        except UnknownName:
            return None

    # Calls

    async def _call_tool(
        self, run: HelperContext, server: str, tool: str, arguments: Mapping[str, Any] | None = None, **more: Any
    ) -> Any:
        return await _call(
            run, f"{self._discovery.module(server, run.program.principal)}.{tool}", {**(arguments or {}), **more}
        )

    async def _call_mcp_tool(
        self, run: HelperContext, name: str, arguments: Mapping[str, Any] | None = None, **more: Any
    ) -> Any:
        if (function := self._qualified(run, name)).partition(".")[0] == _SELF:
            raise UnknownName(
                f"{name[:100]} is no function of a server, but what runs programs here",
                hint=f"Give its `code` to execute_code: {_as_run(function, arguments or more)}",
            )
        return await _call(run, function, {**(arguments or {}), **more})

    def _qualified(self, run: HelperContext, name: str) -> str:
        """`mcp__server__tool` or `server__tool` as `server.tool`; both parts may hold two underscores themselves."""
        bare = str(name).removeprefix("mcp__")
        if "__" not in bare or "." in bare.partition("__")[0]:
            return bare
        plain = module_name(bare)
        known = [module for module in self._servers.names(run.program.principal) if plain.startswith(f"{module}__")]
        length = max(map(len, known)) if known else bare.index("__")
        if not known and plain[:length] == _SELF:
            return f"{_SELF}.{bare[length + 2 :]}"
        return f"{self._discovery.module(bare[:length], run.program.principal)}.{bare[length + 2 :]}"

    # Functions

    async def _listed(
        self, run: HelperContext, module: str, form: Form, most: int = MAX_LISTED
    ) -> list[dict[str, Any]]:
        """The first functions of a server that the program may call, in this form; a note in the answer of the run says
        if there are more."""
        allowed = await self._discovery.allowed(module, run.program.principal, run.program.functions)
        names = self._catalog.names(module) if allowed is None else allowed
        if (count := len(names)) > most:
            run.note(f"{module} has {count} functions, of which {most} are listed; doorward.search finds others")
        listed = frozenset(names[:most])
        found = []
        for function in list(islice((f for f in self._catalog.functions(module) if f.name in listed), len(listed))):
            found.append(form(function))
            await anyio.lowlevel.checkpoint()  # large schemas take long
        return found

    async def _found(self, run: HelperContext, query: str, limit: int) -> list[Function]:
        most = max(1, min(int(limit), 50))
        found = await self._discovery.find(
            [str(query)], run.program.principal, limit=most, within=run.program.functions
        )
        return [hit.function for hit in found.hits]

    def _about(self, run: HelperContext, module: str, tools: list[dict[str, Any]]) -> dict[str, Any]:
        cwd = self._servers.cwd(module, run.program.principal)
        return {"name": self._servers.modules[module], "alias": module, "tools": tools} | ({"cwd": cwd} if cwd else {})

    def _entry(self, function: Function, detail: str) -> dict[str, Any]:
        server = {"server": self._servers.modules[function.server], "serverAlias": function.server}
        entry = server | {
            "tool": function.id or function.name,
            "toolAlias": function.name,
            "description": _description(function),
        }
        return entry | ({"inputSchema": self._schema(function)} if detail == "full" else {})

    def _tool(self, function: Function, *, schema: bool = True) -> dict[str, Any]:
        tool = {"name": function.id or function.name, "alias": function.name, "description": _description(function)}
        return tool | ({"input_schema": self._schema(function)} if schema else {})

    def _named(self, function: Function) -> dict[str, Any]:
        name = f"mcp__{self._servers.modules[function.server]}__{function.name}"
        return {"name": name, "description": _description(function), "parameters": self._schema(function)}

    def _schema(self, function: Function) -> dict[str, Any]:
        """The schema of the parameters, with the definitions that it refers to."""
        reached = self._catalog.reached(function.server, function.parameters)
        return {**function.parameters, **({"$defs": reached} if reached else {})}


def _as_run(function: str, arguments: Mapping[str, Any]) -> str:
    """The call of our tool that runs what another system's tool was to run."""
    given = ["code"] + (['language="typescript"'] if "script" in function.lower() else [])
    tools, sampling = arguments.get("allowedTools"), arguments.get("enableSampling")
    if isinstance(tools, list):
        given.append(f"functions={json.dumps([str(each)[:100] for each in tools[:20]])}")
    if isinstance(sampling, bool):
        given.append(f"sampling={json.dumps(sampling)}")
    return f"execute_code({', '.join(given)})"


async def _call(run: HelperContext, name: str, arguments: Mapping[str, Any]) -> Any:
    run.helper_makes_calls()
    return await run.call(name, (), arguments)


def _description(function: Function) -> str:
    return function.summary or function.description
