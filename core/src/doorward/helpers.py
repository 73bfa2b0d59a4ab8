"""What `import doorward` offers to programs. Each helper gets the run that asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from doorward.config import module_name
from doorward.errors import InvalidArguments, UnknownName
from doorward.pages import MOST_PAGES, items, pages

if TYPE_CHECKING:
    from doorward.discovery import Discovery
    from doorward.door import RunDoor
    from doorward.servers import Servers
    from doorward.skills import Skills

Helper = Callable[..., Awaitable[Any]]


class Helpers:
    """`all` by name."""

    def __init__(self, discovery: Discovery, servers: Servers, skills: Skills) -> None:
        self._discovery = discovery
        self._servers = servers
        self._skills = skills
        self.all: dict[str, Helper] = {
            "servers": self._list_servers,
            "search": self._search,
            "describe": self._describe,
            "call": self._call,
            "pages": self._pages,
            "items": self._items,
            "reply": self._reply,
            "server": self._server,
            "list_resources": self._list_resources,
            "read_resource": self._read_resource,
            "list_prompts": self._list_prompts,
            "get_prompt": self._get_prompt,
            "capabilities": self._capabilities,
            "skills": self._read_skills,
            "close_session": self._close_session,
        }

    async def _list_servers(self, run: RunDoor) -> Any:
        return self._discovery.servers(run.program.principal)["servers"]

    async def _search(
        self,
        run: RunDoor,
        query: str = "",
        server: str | None = None,
        read_only: bool | None = None,
        limit: int = 10,
        cursor: str | None = None,
    ) -> Any:
        whose = run.program.principal
        return self._discovery.search(str(query), principal=whose, server=server, read_only=read_only, limit=int(limit), cursor=cursor)

    async def _describe(self, run: RunDoor, *names: str) -> Any:
        flat = [n for name in names for n in ([name] if isinstance(name, str) else name)]
        cards = self._discovery.describe(flat, run.program.principal)
        return "\n\n".join(card.get("text") or f"{card['function']}: {card['error']}" for card in cards)

    async def _call(self, run: RunDoor, function: str, arguments: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        return await call(run, function, {**(arguments or {}), **kwargs})

    async def _pages(
        self, run: RunDoor, function: str, arguments: Mapping[str, Any] | None = None, *, most: int = MOST_PAGES, **kwargs: Any
    ) -> Any:
        """The answers of all pages of what a function lists, whole, as a list: from that of the arguments on, `most` at most."""
        run.made -= 1  # its calls are counted
        return await pages(run, function, {**(arguments or {}), **kwargs}, int(most))

    async def _items(
        self, run: RunDoor, function: str, arguments: Mapping[str, Any] | None = None, *, most: int | None = None, **kwargs: Any
    ) -> Any:
        """What is in all pages of what a function lists, as one list: the items of each page, `most` at most."""
        run.made -= 1
        declared = self._discovery.list_in(function, run.program.principal) if isinstance(function, str) else ()
        return await items(run, function, {**(arguments or {}), **kwargs}, None if most is None else int(most), declared)

    async def _reply(self, run: RunDoor, function: str, arguments: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        """A call with what its answer has besides the value: `value`, the HTTP `status`, and `headers`, by names in small letters."""
        run.made -= 1
        reply = await run.reply(function, (), {**(arguments or {}), **kwargs}, headers=True)
        return {"value": reply.value, "status": reply.status, "headers": dict(reply.headers)}

    async def _server(self, run: RunDoor, name: str) -> Any:
        return self._discovery.module(name, run.program.principal)  # which the sandbox imports

    async def _list_resources(self, run: RunDoor, server: str) -> Any:
        return await self._offered(run, server, "resources/list", {})

    async def _read_resource(self, run: RunDoor, server: str, uri: str) -> Any:
        return await self._offered(run, server, "resources/read", {"uri": uri})

    async def _list_prompts(self, run: RunDoor, server: str) -> Any:
        return await self._offered(run, server, "prompts/list", {})

    async def _get_prompt(self, run: RunDoor, server: str, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        return await self._offered(run, server, "prompts/get", {"name": name, "arguments": dict(arguments or {})})

    async def _offered(self, run: RunDoor, server: str, id: str, arguments: Mapping[str, Any]) -> Any:
        """Call what a server's source offers besides its functions. Raises: UnknownName if this one has no such thing."""
        module = self._discovery.module(server, run.program.principal)
        if self._servers.offered(module, id) is None:
            hint = "MCP servers have them, where `include`, `exclude` and `read_only` of the configuration leave them."
            raise UnknownName(f"the server {module!r} has no {id.partition('/')[0]}", hint=hint)
        return await call(run, f"{module}.{id}", arguments)

    async def _capabilities(self, run: RunDoor) -> Any:
        return self._discovery.capabilities(run.program.principal)

    async def _read_skills(self, run: RunDoor, server: str | None = None) -> Any:
        whose = run.program.principal
        return self._skills.names(whose) if server is None else self._skills.read(module_name(str(server)), whose)

    async def _close_session(self, run: RunDoor) -> None:
        if run.session is None:
            raise InvalidArguments("this run has no session", hint="Only a run with a session_id can close its session.")
        run.session.dead = True  # it ends with this run


async def call(run: RunDoor, name: str, arguments: Mapping[str, Any]) -> Any:
    """One call for a helper: that is counted, not the asking for it."""
    run.made -= 1
    return await run.call(name, (), arguments)
