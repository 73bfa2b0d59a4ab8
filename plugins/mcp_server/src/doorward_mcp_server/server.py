"""The SDK's low-level server, with our tools, prompt and resources. It speaks all protocol versions of the SDK."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as t
from doorward import DoorwardError, Gateway, __version__
from doorward.files import shared_secret
from doorward.serving import principal_of
from doorward.values import in_a_line
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from doorward_mcp_server import apps, guides, resources, tasks
from doorward_mcp_server.changes import ChangeNotifier, advertise
from doorward_mcp_server.other_machines import shared_key
from doorward_mcp_server.plugin_tools import Additions, of_plugin
from doorward_mcp_server.served_tools import Tools

_PROMPT = t.Prompt(
    name="reusable_code_guide",
    title="Reusable code",
    description="How to write programs that can be run again with other parameters.",
)

CHANGING_TTL_MS = 5_000
"""Milliseconds for which a client may keep a list of tools some of which are an API's: these change with it."""

_LISTS = CacheHint(ttl_ms=60_000)
"""How long a client may keep what changes only with the configuration, of which those that listen are told at once.
Always private: each principal has a list of their own. What resources hold is read each time."""


@contextlib.asynccontextmanager
async def serving(gate: Gateway, changes: ChangeNotifier | None = None) -> AsyncIterator[Server[Any]]:
    """A server of this gateway, to be run over a transport. Within the block, clients are told of changes."""
    changes = changes or ChangeNotifier()
    if any(gate.servers.exposing()):
        await gate.ready()  # the instructions name what is known only after compiling
    server = build(gate, changes, await shared_key(gate))
    watching = asyncio.ensure_future(changes.watch(gate))  # no task group: it would wrap the errors of our caller
    try:
        yield server
    finally:
        watching.cancel()


def build(gate: Gateway, changes: ChangeNotifier | None = None, key: bytes | None = None) -> Server[Any]:
    """A server of this gateway. `changes` is told which clients list something. `key` is the one by which machines that
    share the store encrypt what clients keep for them, if they do."""
    changes = changes or ChangeNotifier()
    additions = Additions(gate)

    def ours(ctx: Any) -> dict[str, t.Prompt]:
        return {_PROMPT.name: _PROMPT} if gate.surface(principal_of(ctx)) != "calls" else {}

    sealing = key or _key_of_states(gate.state)
    tools = Tools(gate, additions, sealing)
    if key is not None:
        tools.suspended.share(gate.store, key)
    changes.offered = tools.offered
    pages = apps.Apps(gate, tools.exposed)

    async def list_tools(ctx: Any, params: Any) -> t.ListToolsResult:
        changes.remember(ctx)
        found = await tools.listed(principal_of(ctx))
        if apps.declared(ctx) and pages.there():
            found = pages.shown(found, principal_of(ctx))
        if tools.come_and_go:  # whoever has just got one looks for it at once
            return t.ListToolsResult(tools=found)
        return t.ListToolsResult(tools=found, ttl_ms=CHANGING_TTL_MS if any(gate.servers.exposing()) else _LISTS.ttl_ms)

    async def call_tool(ctx: Any, params: t.CallToolRequestParams) -> Any:
        return await tools.call(ctx, params)

    async def list_resources(ctx: Any, params: Any) -> t.ListResourcesResult:
        changes.remember(ctx)
        return resources.listed(additions.listed(t.Resource))

    async def list_templates(ctx: Any, params: Any) -> t.ListResourceTemplatesResult:
        return t.ListResourceTemplatesResult(
            resource_templates=[*resources.TEMPLATES, *additions.listed(t.ResourceTemplate)]
        )

    async def read_resource(ctx: Any, params: t.ReadResourceRequestParams) -> Any:
        uri = str(params.uri)
        if apps.declared(ctx) and (page := await pages.read(uri, principal_of(ctx))) is not None:
            return page
        if not uri.startswith(resources.OWN_PREFIX) and (raw := additions.resource(uri)) is not None:
            return await told(f"the resource {uri}", raw.read, ctx, uri)
        return await resources.read(gate, uri, principal_of(ctx))

    async def list_prompts(ctx: Any, params: Any) -> t.ListPromptsResult:
        changes.remember(ctx)
        own = ours(ctx)
        others = (raw.prompt for name, raw in additions.prompts().items() if name not in own)
        return t.ListPromptsResult(prompts=[*own.values(), *others])

    async def get_prompt(ctx: Any, params: t.GetPromptRequestParams) -> Any:
        if params.name not in (own := ours(ctx)):
            prompts = additions.prompts()
            if params.name not in prompts:
                names = ", ".join(dict.fromkeys([*own, *prompts])) or "none"
                raise MCPError(t.INVALID_PARAMS, f"There is no prompt {params.name!r}. There are: {names}.")
            return await told(f"the prompt {params.name}", prompts[params.name].get, ctx, params.arguments or {})
        message = t.PromptMessage(role="user", content=t.TextContent(text=guides.REUSE))
        return t.GetPromptResult(description=_PROMPT.description, messages=[message])

    async def told(what: str, answer: Callable[..., Awaitable[Any]], *given: Any) -> Any:
        try:
            return await of_plugin(what, answer, *given)
        except DoorwardError as error:
            raise MCPError(t.INTERNAL_ERROR, in_a_line(error)) from None

    async def instructed(ctx: Any, call_next: Callable[[Any], Awaitable[Any]]) -> Any:
        """Give each principal instructions of its own, and say whether there are interfaces now: the SDK has one text
        for all, and for ever."""
        answer = await call_next(ctx)
        if ctx.method in ("initialize", "server/discover"):
            if text := guides.instructions(gate, tools.exposed.tools(principal_of(ctx)), principal_of(ctx)):
                answer["instructions"] = text
            if pages.there():
                answer["capabilities"].setdefault("extensions", {})[apps.EXTENSION] = {}
        return answer

    @contextlib.asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await tools.suspended.close()

    brand = gate.loaded.managed.branding if gate.loaded.managed else None
    server: Server[Any] = Server(
        (brand and brand.name) or "doorward",
        version=__version__,
        title=(brand and brand.title) or "Doorward",
        lifespan=lifespan,
        cache_hints={
            "server/discover": _LISTS,
            "prompts/list": _LISTS,
            "resources/list": _LISTS,
            "resources/templates/list": _LISTS,
        },
        get_tool_input_schema=tools.schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_subscriptions_listen=changes.listen,
    )
    security = RequestStateSecurity(keys=[sealing], ttl=tools.suspended.lasting, bind_principal=principal_of)
    server.middleware.append(instructed)
    server.middleware.append(RequestStateBoundary(security, default_audience=server.name))
    for method in tasks.METHODS:
        server.add_request_handler(method, tasks.TaskParams, tools.suspended.about_task)
    server.extensions[tasks.EXTENSION] = {}
    advertise(server)
    additions.extend(server, changes.tell)
    return server


def _key_of_states(state: Path) -> bytes:
    """The key of what clients keep for us while they answer: that of all processes of a state folder, later ones too;
    our own where the folder cannot be written. Raises: ConfigError if the file is not ours."""
    try:
        return shared_secret(state / "states.key", 32)
    except OSError:
        return secrets.token_bytes(32)
