"""The tools, prompts, resources and handlers that plugins add to the MCP server. No plugin can replace what another
one, or Doorward itself, offers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import mcp_types as t
from doorward import DoorwardError, Gateway, ServerError, log
from doorward.serving import RawPrompt, RawResource, RawTool
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.shared.uri_template import UriTemplate

Kind = TypeVar("Kind")
Raw = TypeVar("Raw", RawTool, RawPrompt, RawResource)


class Additions:
    """What the configured hook plugins add. They are asked each time, because additions may come and go."""

    def __init__(self, gate: Gateway) -> None:
        self._plugins = gate.plugins

    def tools(self) -> dict[str, RawTool]:
        """The tools by name, sorted: the order of plugins does not matter."""
        return self._found("mcp_tools", RawTool, lambda raw: _of(t.Tool, raw.tool).name, "call", t.CallToolResult)

    def prompts(self) -> dict[str, RawPrompt]:
        """The prompts by name."""
        return self._found(
            "mcp_prompts", RawPrompt, lambda raw: _of(t.Prompt, raw.prompt).name, "get", t.GetPromptResult
        )

    def resources(self) -> dict[str, RawResource]:
        """The resources, by URI or by template."""
        return self._found("mcp_resources", RawResource, _uri, "read", t.ReadResourceResult)

    def listed(self, kind: type[t.Resource | t.ResourceTemplate]) -> list[Any]:
        """The resources, or the templates."""
        return [raw.resource for raw in self.resources().values() if isinstance(raw.resource, kind)]

    def resource(self, uri: str) -> RawResource | None:
        """The resource with this URI, else the first whose template matches it."""
        found = self.resources()
        if uri in found:
            return found[uri]
        templates = (raw for raw in found.values() if isinstance(raw.resource, t.ResourceTemplate))
        return next(
            (raw for raw in templates if UriTemplate.parse(raw.resource.uri_template).match(uri) is not None), None
        )

    def extend(self, server: Server[Any], changed: Callable[[Any], Awaitable[None]]) -> None:
        """Let plugins add handlers."""
        self._plugins.hook.mcp_server(server=server, changed=changed)

    def _found(
        self, hook: str, kind: type[Raw], name: Callable[[Raw], str], method: str, answers: type[Any]
    ) -> dict[str, Raw]:
        def named(answer: Any) -> list[tuple[str, Raw]]:
            whose = str(getattr(answer, "plugin", "its plugin"))
            return [
                (
                    name(raw),
                    replace(raw, **{method: Handler(getattr(raw, method), whose, (answers, t.InputRequiredResult))}),
                )
                for raw in answer or ()
                if isinstance(raw, kind)
            ]

        found: dict[str, Raw] = {}
        for pairs in self._plugins.each(hook, named):
            for key, raw in pairs:
                found.setdefault(key, raw)
        return {key: found[key] for key in sorted(found)}


class PluginTools:
    """The tools that plugins add. Doorward only passes calls on; plugins run their tools themselves."""

    def __init__(self, additions: Additions) -> None:
        self._additions = additions

    async def listed(self, principal: str) -> Sequence[t.Tool]:
        """All tools of plugins, sorted by name."""
        return [raw.tool for raw in self._additions.tools().values()]

    def find(self, name: str, principal: str) -> Callable[[Any, t.CallToolRequestParams], Awaitable[Any]] | None:
        """The handler of a tool, if there is one of that name."""
        raw = self._additions.tools().get(name)
        return partial(self._call, raw) if raw else None

    async def _call(self, raw: RawTool, ctx: Any, params: t.CallToolRequestParams) -> Any:
        return await of_plugin(f"the tool {raw.tool.name}", raw.call, ctx, params.arguments or {})


@dataclass(frozen=True, slots=True)
class Handler:
    """What a plugin runs for what it has added: `whose` it is, and what it may answer, first of all the usual."""

    run: Callable[..., Awaitable[Any]]
    whose: str
    answers: tuple[type[Any], ...]

    async def __call__(self, *given: Any, **named: Any) -> Any:
        return await self.run(*given, **named)


async def of_plugin(what: str, answer: Callable[..., Awaitable[Any]], *given: Any, **named: Any) -> Any:
    """The answer of a plugin's own code. Raises: MCPError and DoorwardError as the plugin raised them; ServerError in
    place of any other exception, and of an answer of another type."""
    handler = answer if isinstance(answer, Handler) else Handler(answer, "its plugin", (object,))
    hint = "Tell the operator: the log has the details."
    try:
        found = await handler(*given, **named)
    except (MCPError, DoorwardError):
        raise
    except Exception as error:
        log.exception("plugin_failed", what=what, plugin=handler.whose)
        raise ServerError(f"{what} failed inside {handler.whose}: {type(error).__name__}", hint=hint) from None
    if not isinstance(found, handler.answers):
        why = f"it answered {type(found).__name__}, not {handler.answers[0].__name__}"
        log.error("plugin_failed", what=what, plugin=handler.whose, why=why)
        raise ServerError(f"{what} failed inside {handler.whose}: {why}", hint=hint)
    return found


def _uri(raw: RawResource) -> str:
    if isinstance(raw.resource, t.ResourceTemplate):
        UriTemplate.parse(raw.resource.uri_template)  # a template that cannot be read fails here, not in a later search
        return raw.resource.uri_template
    return str(_of(t.Resource, raw.resource).uri)


def _of(kind: type[Kind], given: Any) -> Kind:
    if not isinstance(given, kind):
        raise TypeError(f"{given!r:.200} is not an mcp_types.{kind.__name__}")
    return given
