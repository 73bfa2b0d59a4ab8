"""The plugin: guides are tools, resources, a part of the instructions, and a helper of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from doorward import AgentTool, ConfigError, DoorwardError, Gateway, ToolAnswer, ToolCaller, hookimpl, log
from doorward.administration import some
from doorward.configuration import module_name
from doorward.serving import principal_of
from doorward.values import in_a_line

from doorward_skills.guides import Guides

if TYPE_CHECKING:
    from doorward.helping import HelperContext
    from doorward.serving import RawResource

PREFIX = "skills://"

GUIDES_PER_PAGE = 100
"""Guides in one answer."""

MAX_INSTRUCTIONS_CHARACTERS = 2048
"""Longest instructions: clients cut what is longer."""

MAX_GUIDES_SHOWN = 10
"""Guides whose text is put into the instructions, if there is room for it."""

MAX_GUIDES_NAMED = 50
"""Guides that the instructions may name: to check that one can be read takes time."""

_GUIDES = "The servers to which there is a guide."
_GUIDE = "The guide to a server, written by its owner. Read it before you use the server."
_NAMES = {"type": "array", "items": {"type": "string"}}
_STRING = {"type": "string"}


class Skills:
    """Offers the guides of a gateway's servers."""

    guides: Guides

    def __init__(self, context: Any = None) -> None:
        pass

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        self._gateway, self.guides = gateway, Guides(gateway)
        gateway.modules.add("doorward", {"skills": self.skills}, recorded=("skills",))

    @hookimpl
    async def compile_ended(self, server: str) -> Sequence[str] | None:
        wrong = await self.guides.refresh(server)
        if wrong:
            log.warning("skills_missing", server=server, why=wrong)
        return [wrong] if wrong else None

    async def skills(self, run: HelperContext, server: str | None = None) -> Any:
        """The guide to a server, as Markdown. Without one: the servers that have a guide."""
        whose = run.program.principal
        return self.guides.names(whose) if server is None else self.guides.read(module_name(str(server)), whose)

    @hookimpl
    def agent_tools(self) -> list[AgentTool]:
        async def list_skills(caller: ToolCaller, cursor: str | None = None) -> ToolAnswer:
            names, following = self.guides.page(caller.principal, GUIDES_PER_PAGE, cursor)
            lines = [*(names or ["No guide can be read."]), *([f"more with cursor={following!r}"] if following else [])]
            return ToolAnswer({"skills": names} | ({"cursor": following} if following else {}), "\n".join(lines))

        async def get_server_skills(caller: ToolCaller, server: str) -> ToolAnswer:
            guide = self.guides.read(module_name(server), caller.principal)
            return ToolAnswer({"server": server, "guide": guide}, guide)

        def tool(handle: Any, title: str, about: str, **properties: Any) -> AgentTool:
            schema = {"type": "object", "properties": properties, "required": [k for k in properties if k != "cursor"]}
            return AgentTool(
                handle, title, about, calls=about, output_schema=schema, read_only=True, open_world=False,
                offered=lambda gateway, principal: self.guides.configured,
            )  # fmt: skip

        return [
            tool(list_skills, "List skills", _GUIDES, skills=_NAMES, cursor=_STRING),
            tool(get_server_skills, "Get server skills", _GUIDE, server=_STRING, guide=_STRING),
        ]

    @hookimpl
    def mcp_resources(self) -> list[RawResource]:
        import mcp_types as t
        from doorward.serving import RawResource
        from mcp import MCPError

        async def read(context: Any, uri: str) -> t.ReadResourceResult:
            try:
                guide = self.guides.read(module_name(uri.removeprefix(PREFIX)), principal_of(context))
            except DoorwardError as error:
                why = f"Resource not found: {in_a_line(error)}"
                raise MCPError(t.INVALID_PARAMS, why, {"uri": uri[:2000]}) from None
            return t.ReadResourceResult(
                contents=[t.TextResourceContents(uri=uri, mime_type="text/markdown", text=guide)]
            )

        about = {"mime_type": "text/markdown", "description": "Read it before you use the server."}
        return [RawResource(t.ResourceTemplate(name="skills", uri_template=PREFIX + "{server}", **about), read)]

    @hookimpl
    def mcp_server(self, server: Any, changed: Any) -> None:
        """Name the guides of a principal where its resources are listed, and in its instructions."""

        async def around(context: Any, proceed: Callable[[Any], Any]) -> Any:
            if context.method == "resources/list":
                return await self._listed(context, proceed)
            if context.method not in ("initialize", "server/discover") or not self.guides.configured:
                return await proceed(context)
            await self._gateway.ready()  # a guide may be fetched by the first compile
            answer = await proceed(context)
            if text := self.instructions(answer.get("instructions") or "", principal_of(context)):
                answer["instructions"] = text
            return answer

        server.middleware.insert(0, around)

    async def _listed(self, context: Any, proceed: Callable[[Any], Any]) -> Any:
        """All other resources and the first guides; or the guides behind a cursor."""
        import mcp_types as t
        from mcp import MCPError

        cursor = (context.params or {}).get("cursor")
        try:
            names, following = self.guides.page(principal_of(context), GUIDES_PER_PAGE, cursor)
        except DoorwardError as error:
            raise MCPError(t.INVALID_PARAMS, str(error)) from None
        answer = await proceed(context)
        about = {"mimeType": "text/markdown", "description": "Read it before you use the server."}
        guides = [{"name": f"{n} skills", "title": f"Guide to {n}", "uri": PREFIX + n, **about} for n in names]
        answer["resources"] = [*([] if cursor else answer["resources"]), *guides]
        return answer | ({"nextCursor": following} if following else {})

    def instructions(self, before: str, principal: str) -> str:
        """The instructions of a principal, with what stands `before`. Guides are quoted if there is room for them, and
        named in any case."""
        names, more = self.guides.page(principal, MAX_GUIDES_NAMED)
        if not names:
            return before
        minimal = self._gateway.surface(principal) == "minimal"
        how = "doorward.skills(server) in a program" if minimal else "get_server_skills(server)"
        parts = [before] if before else []
        parts.append(
            f"# Server Skills\nRead the guide before you use its server: {some(names, 300)}{', …' * bool(more)}; "
            f"{how} or the resource {PREFIX}SERVER."
        )
        for name in names[:MAX_GUIDES_SHOWN]:
            guide = self._quoted(name, principal)
            if guide and sum(map(len, parts)) + 2 * len(parts) + len(guide) < MAX_INSTRUCTIONS_CHARACTERS:
                parts.append(guide)
        return "\n\n".join(parts)

    def _quoted(self, name: str, principal: str) -> str:
        try:
            return f"## {name}\n{self.guides.read(name, principal).strip()}"
        except ConfigError:
            return ""
