"""The source driver `mcp`: offers the tools of an MCP server as functions, and calls them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

from anyio import to_thread
from doorward import Call, Compiled, Function, InvalidArguments, ServerContext, ServerError, Settings, log
from doorward.administration import starts_doorward
from doorward.values import aside, in_a_line

from doorward_mcp_upstream import apps, offers
from doorward_mcp_upstream.connections.settings import MCPSettings
from doorward_mcp_upstream.tools import files, functions, results
from doorward_mcp_upstream.tools.documents import digest
from doorward_mcp_upstream.tools.text import line, prose
from doorward_mcp_upstream.upstream import Listing, Opener, Upstream

_FORM = 3
"""Goes up when the same tools become other functions, so that they are compiled again."""


class MCP:
    """Functions from an MCP server of any kind: one that is started, or one that is reached by HTTP; or, in a subclass,
    by the wire that `wired` opens."""

    Settings: ClassVar[type[Settings]] = MCPSettings
    tells_changes = True
    offers: Sequence[Function] = offers.FUNCTIONS

    def __init__(self, server: ServerContext[MCPSettings], wired: Opener | None = None) -> None:
        self._server = server
        self._settings = server.settings
        self._upstream = Upstream(server, wired)
        self._known: tuple[Listing, dict[str, Mapping[str, Any]]] | None = None
        self._digests: dict[str, str] = {}

    async def fingerprint(self) -> str:
        """The hash of what the server offers. Connects to it.

        Raises: ServerError.
        """
        if self._starts_itself:
            return "itself"
        listing = await self._upstream.listing(fresh=True)
        return await to_thread.run_sync(_fingerprint, listing)

    async def compile(self) -> Compiled:
        """The tools of the server as functions. An entry that would start Doorward itself has none.

        Raises: ServerError.
        """
        if self._starts_itself:
            return self._nothing()
        listing = await self._upstream.listing()
        compiled = partial(
            functions.compiled, self._server.name, listing.tools, era=listing.era, skipped=listing.skipped
        )
        return replace(await to_thread.run_sync(compiled), description=self._about(listing))

    async def call(self, call: Call) -> Any:
        """Call a tool, if it has not changed since it was compiled.

        Raises: ServerError (ToolError if the tool says that it failed), LimitExceeded, InvalidArguments.
        """
        function = call.function
        if self._starts_itself:
            raise self._refused()
        listing = await self._upstream.listing(era=function.data.get("era", ""), principal=call.principal)
        if function.id == apps.READ and not function.data:
            return await apps.perform(call, self._upstream, self._settings, listing)
        if not function.data:
            return await offers.perform(call, self._upstream, listing.capabilities)
        name = function.data["tool"]
        tool = self._unchanged(function, listing)
        given = {function.names.get(key, key): value for key, value in call.arguments.items()}
        params = {"name": name, "arguments": files.sent(given, tool.get("inputSchema"))}
        result = await self._upstream.request(
            "tools/call", params, call=call, era=function.data["era"], safe=function.idempotent
        )
        wrapped, wants_text = function.data.get("wrapped", ""), call.wants_text
        wrapped = "result" if wrapped is True else wrapped  # compiled when there was no other
        declared = bool(wrapped) or function.returns is not None
        value = partial(results.of_tool, result, wrapped=wrapped, declared=declared, wants_text=wants_text)
        return await aside(value, results.weight(result))

    @staticmethod
    def upstreams(settings: MCPSettings, function: Function | None) -> list[str]:
        """See `doorward.abilities.TellsUpstreams`: where the server is, or what starts it."""
        if settings.image:
            return [f"image:{settings.image}"]
        return [settings.url or f"command:{shlex.join([*settings.command, *settings.args])}"]

    @staticmethod
    def sent(function: Function, arguments: Mapping[str, Any]) -> tuple[str, str, bytes | None]:
        """See `doorward.abilities.TellsRequests`."""
        if not function.data:
            raise InvalidArguments(f"{function.qualified} calls no tool")
        given = {function.names.get(key, key): value for key, value in arguments.items()}
        return "tools/call", function.id, json.dumps(files.sent(given, function.parameters)).encode()

    @staticmethod
    def app(settings: MCPSettings, function: Function) -> str:
        """See `doorward.abilities.TellsApps`."""
        return str(function.data.get("app", "")) if settings.apps else ""

    async def check(self, functions: Sequence[Function]) -> Sequence[tuple[str, bool, str]]:
        """See `doorward.abilities.SupportsServerCheck`: of a server in a container, its engine and image."""
        if not self._settings.image:
            return []
        from doorward_mcp_upstream.connections.container import about_engine

        return [await about_engine(self._server)]

    async def close(self) -> None:
        await self._upstream.close()

    def _unchanged(self, function: Function, listing: Listing) -> Mapping[str, Any]:
        """The tool of a function, as the server has it now.

        Raises: ServerError if it is gone, or has changed since the function was made.
        """
        if self._known is None or self._known[0] is not listing:
            self._known, self._digests = (listing, {tool["name"]: tool for tool in listing.tools}), {}
        name = function.data["tool"]
        tool = self._known[1].get(name)
        if tool is not None and name not in self._digests:
            self._digests[name] = functions.fingerprint(tool)
        if tool is None or self._digests[name] != function.data["schema"]:
            self._server.changed()
            what = (
                "is gone: its server has it no more"
                if tool is None
                else "has changed at its server since it was compiled"
            )
            hint = "It is compiled anew now. See get_functions, and write the call for what it is then."
            raise ServerError(f"{function.qualified} {what}", hint=hint)
        return tool

    def _about(self, listing: Listing) -> str:
        """The server's description of itself, and its working folder."""
        title = line(listing.server.get("title") or listing.server.get("name"), 100)
        about = prose(listing.instructions, 1500) or line(f"{title} {line(listing.server.get('version'), 50)}", 160)
        where = f"Working directory: {self._server.folder / self._settings.cwd}. " if self._settings.cwd else ""
        return where + about

    # An entry that starts Doorward

    @cached_property
    def _starts_itself(self) -> bool:
        """Whether the command of this entry starts Doorward; then it is never run. A command that hides it, such as a
        script, is found out once we are connected."""
        return not self._settings.allow_self and starts_doorward([*self._settings.command, *self._settings.args])

    def _refused(self) -> ServerError:
        hint = f"Remove it, or set `allow_self = true` in [servers.{self._server.name}] if that is what you want."
        return ServerError(f"{self._server.name}: this entry would start Doorward itself, so it is skipped", hint=hint)

    def _nothing(self) -> Compiled:
        error = self._refused()
        log.warning("starts_itself", server=self._server.name)
        return Compiled((), warnings=[in_a_line(error)])


def _fingerprint(listing: Listing) -> str:
    hashes = [functions.fingerprint(tool) for tool in listing.tools]
    texts = [
        [*(tool.get(key) for key in ("name", "title", "description")), functions.app_of(tool)] for tool in listing.tools
    ]
    about = [listing.era, listing.instructions, listing.server, listing.capabilities]
    return digest([_FORM, hashes, texts, len(listing.skipped), *about])
