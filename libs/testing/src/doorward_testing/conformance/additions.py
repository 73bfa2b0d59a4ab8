"""Conformance tests of what plugins add to the MCP server: inherit `AdditionConformance`, and say what works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from doorward import DoorwardError
from doorward.serving import RawPage, RawPrompt, RawResource, RawSite, RawTool

from doorward_testing.conformance.base import only, require
from doorward_testing.conformance.hooks import ODD_VALUES, HookConformance, ask

CONTEXT = SimpleNamespace(request=None, session=None, params={}, meta=None)
"""The context of a request over stdio, as far as plugins may rely on it."""


class AdditionConformance(HookConformance):
    """For plugins with `mcp_tools`, `mcp_prompts`, `mcp_resources` or `http_pages`. Say `plugin`; override `works`, and
    `settings`, where it needs any."""

    hooks = ("mcp_tools", "mcp_prompts", "mcp_resources", "http_pages")
    kinds: ClassVar[Mapping[str, tuple[type, ...]]] = {
        "mcp_tools": (RawTool,),
        "mcp_prompts": (RawPrompt,),
        "mcp_resources": (RawResource,),
        "http_pages": (RawPage, RawSite),
    }

    def works(self) -> Sequence[tuple[str, Any]]:
        """Names of tools and prompts with arguments with which they succeed, URIs of resources and paths of pages (with
        `{}`, the headers)."""
        self.say('def works(self): return [("notes_find", {"words": "milk"})]  # a tool or prompt, and its arguments')

    def test_what_it_adds_can_be_told_apart(self, host: Any) -> None:
        """Objects of the right type, with names of their own, the same each time: clients keep lists."""
        plugin = self.made(host)
        for hook in self.implemented:
            found = self._added(plugin, hook)
            odd = [one for one in found if not isinstance(one, self.kinds[hook])]
            require(not odd, f"{hook} answered {odd[:1]}: it answers doorward.{self.kinds[hook][0].__name__} objects")
            names = [name_of(one) for one in found]
            require(all(names), f"{hook} answered something without a name")
            require(len({*names}) == len(names), f"{hook} answered several of the same name: {sorted(names)}")
            again = [name_of(one) for one in self._added(plugin, hook)]
            require(again == names, f"{hook} answered others the second time: {names}, then {again}")

    def test_tools_say_what_they_take(self, host: Any) -> None:
        """A description, and a JSON Schema of an object: an agent has nothing else."""
        import jsonschema_rs

        for one in self._added(self.made(host), "mcp_tools") if "mcp_tools" in self.implemented else ():
            tool = one.tool
            require((tool.description or "").strip(), f"the tool {tool.name} has no description")
            schema = dict(tool.input_schema)
            require(schema.get("type") == "object", f"the input_schema of {tool.name} is not of an object")
            require(jsonschema_rs.meta.is_valid(schema), f"the input_schema of {tool.name} is no JSON Schema")

    @pytest.mark.anyio
    async def test_it_works(self, host: Any) -> None:
        """What should succeed does, and answers something."""
        async with self.opened(host) as plugin:
            require(self.works(), "`works` is empty: say at least one thing that works")
            added = self._all(plugin)
            for name, given in self.works():
                require(name in added, f"there is no {name!r}; it adds {sorted(added)}")
                with only((), f"{name}, given {given!r:.60},", "Say in `works` what succeeds."):
                    answer = await handler(added[name])(*_given(added[name], name, given))
                require(answer is not None, f"{name} answered None")

    @pytest.mark.anyio
    async def test_odd_arguments_are_refused_or_answered(self, host: Any) -> None:
        """Arguments come from agents as they are: what they get then is an error of doorward's, or of MCP."""
        async with self.opened(host) as plugin:
            for name, one in self._all(plugin).items():
                odd: list[Any] = [{}, *({"value": value} for value in ODD_VALUES)]
                if isinstance(one, RawTool):
                    names = dict(one.tool.input_schema).get("properties", {})
                    odd += [dict.fromkeys(names, value) for value in ODD_VALUES]
                for given in odd if isinstance(one, (RawTool, RawPrompt)) else ():
                    try:
                        await handler(one)(*_given(one, name, given))
                    except Exception as error:
                        fine = isinstance(error, DoorwardError) or type(error).__name__ == "MCPError"
                        raised = f"{name}, given {given!r:.60}, raised {type(error).__name__}"
                        require(fine, f"{raised}: raise doorward.InvalidArguments")

    def _added(self, plugin: Any, hook: str) -> list[Any]:
        return list(ask(plugin, hook) or ())

    def _all(self, plugin: Any) -> dict[str, Any]:
        return {name_of(one): one for hook in self.implemented for one in self._added(plugin, hook)}


def name_of(one: Any) -> str:
    """What an addition is asked for by: its name, URI, template or path."""
    match one:
        case RawTool():
            return str(one.tool.name)
        case RawPrompt():
            return str(one.prompt.name)
        case RawResource():
            return str(getattr(one.resource, "uri", None) or one.resource.uri_template)
    return str(one.path)


def handler(one: Any) -> Any:
    """The function of an addition."""
    return next(getattr(one, name) for name in ("call", "get", "read", "answer") if hasattr(one, name))


def _given(one: Any, name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(one, RawPage):
        return (given,)
    return (CONTEXT, name) if isinstance(one, RawResource) else (CONTEXT, given)
