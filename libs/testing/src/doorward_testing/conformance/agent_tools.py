"""Conformance tests of tools for agents: inherit `AgentToolConformance`, and say what works."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
from doorward import AgentTool, CannotAsk, DoorwardError, Outcome, ToolAnswer, ToolCaller

from doorward_testing.conformance.base import fail, only, origin, require
from doorward_testing.conformance.hooks import NAME, ODD_VALUES, HookConformance

PRINCIPALS = ("local", "alice", "bob@example.com")


class SampleClient:
    """A client that hears of progress, and cannot be asked."""

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        pass

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        raise CannotAsk("the client cannot be asked")


class AgentToolConformance(HookConformance):
    """For plugins with `agent_tools`. Say `plugin`; override `works`, and `settings`, where it needs any."""

    hooks = ("agent_tools",)
    seconds = 10.0
    """How long a tool may take for anything."""

    def works(self) -> Sequence[tuple[str, dict[str, Any]]]:
        """Names of tools, and arguments with which they succeed when they are called in this order."""
        self.say('def works(self): return [("notes_find", {"words": "milk"})]  # a tool, and its arguments')

    @contextlib.asynccontextmanager
    async def served(self, host: Any) -> AsyncIterator[tuple[Any, dict[str, AgentTool]]]:
        """A gateway with the plugin, and its tools by their names."""
        host.install("plugin", NAME, self.plugin)
        config: dict[str, Any] = {"executor": "inprocess", "cache": "none", "plugins": [NAME]}
        config |= {"hooks": {NAME: self.settings(host)}} if self.settings(host) else {}
        async with host.gateway(config | {"servers": {"weather": {"source": "fake"}}}) as gateway:
            yield gateway, {tool.name: tool for tool in given_by(gateway)}

    @pytest.mark.anyio
    async def test_its_tools(self, doorward_host: Any) -> None:
        """Each has a name of its own, says what it is for, and what it takes and answers."""
        import jsonschema_rs

        async with self.served(doorward_host) as (gateway, tools):
            require(tools, "`agent_tools` answered none")
            again = [tool.name for tool in given_by(gateway)]
            require(len({*again}) == len(again), f"agent_tools answered several of the same name: {sorted(again)}")
            require(again == [*tools], f"agent_tools answered others the second time: {[*tools]}, then {again}")
            for name, tool in tools.items():
                require(re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name), f"{name!r} is no name that every model takes")
                require(tool.title.strip(), f"the tool {name} has no title")
                told = tool.description or tool.minimal or tool.calls
                require(told.strip(), f"the tool {name} has no description: it is offered to nobody")
                require(inspect.iscoroutinefunction(tool.handle), f"the tool {name}: its `handle` is `async def`")
                with only((), f"the signature of {name}", "Arguments are str, bool, int, float, list or dict."):
                    taken = tool.input_schema
                for what, schema in (("takes", taken), ("answers", tool.output_schema)):
                    good = schema is None or jsonschema_rs.meta.is_valid(dict(schema))
                    require(good, f"what {name} {what} is no JSON Schema: {schema!r:.200}")
                    require(schema is None or schema.get("type") == "object", f"what {name} {what} is no object")
                resumes = not tool.resumes or tool.resumes in taken["properties"]
                require(resumes, f"the tool {name} resumes by {tool.resumes!r}, which is none of its arguments")

    @pytest.mark.anyio
    async def test_it_says_whom_it_is_offered(self, doorward_host: Any) -> None:
        """At once, whoever it is: front ends ask often."""
        async with self.served(doorward_host) as (gateway, tools):
            for name, tool in tools.items():
                began = time.perf_counter()
                for principal in PRINCIPALS * 10:
                    with only((), f"`offered` of {name}", "Answer True or False."):
                        found = tool.offered(gateway, principal)
                    require(isinstance(found, bool), f"`offered` of {name} answered {found!r:.60}, no bool")
                took = (time.perf_counter() - began) / 30
                require(took < 0.01, f"`offered` of {name} took {took * 1000:.0f} ms: remember what it looks at")

    @pytest.mark.anyio
    async def test_it_works(self, doorward_host: Any) -> None:
        """What should succeed does, and answers what it says."""
        async with self.served(doorward_host) as (gateway, tools):
            require(self.works(), "`works` is empty: say at least one call that works")
            for name, given in self.works():
                require(name in tools, f"there is no {name!r}; it gives {sorted(tools)}")
                with only((), f"{name}, given {given!r:.60},", "Say in `works` what succeeds."):
                    answer = await self._answer(tools[name], gateway, given)
                self._check(tools[name], answer)
                failed = answer.failed if isinstance(answer, ToolAnswer) else not answer.ok and not answer.waiting
                require(not failed, f"{name}, given {given!r:.60}, failed: {answer!r:.300}")

    @pytest.mark.anyio
    async def test_odd_arguments_are_refused_or_answered(self, doorward_host: Any) -> None:
        """Arguments fit the schema, and are from agents else: what they get is an answer, or an error of doorward's."""
        import jsonschema_rs

        async with self.served(doorward_host) as (gateway, tools):
            for name, tool in tools.items():
                taken = tool.input_schema
                fits = jsonschema_rs.Draft202012Validator(taken | {"additionalProperties": False})
                usual = next((given for one, given in self.works() if one == name), {})
                odd: list[Any] = [{}, *({**usual, key: value} for key in taken["properties"] for value in ODD_VALUES)]
                for given in odd:
                    if not _is_valid(fits, given):
                        continue
                    try:
                        answer = await self._answer(tool, gateway, given)
                    except DoorwardError:
                        continue
                    except Exception as error:
                        raised = f"{name}, given {given!r:.60}, raised {type(error).__name__}"
                        fail(f"{raised}: raise doorward.InvalidArguments.{origin(error)}")
                    self._check(tool, answer)

    async def _answer(self, tool: AgentTool, gateway: Any, given: Mapping[str, Any]) -> Any:
        caller = ToolCaller(gateway, PRINCIPALS[1], SampleClient())
        return await asyncio.wait_for(tool.handle(caller, **given), self.seconds)

    def _check(self, tool: AgentTool, answer: Any) -> None:
        import jsonschema_rs

        right = isinstance(answer, (ToolAnswer, Outcome))
        require(right, f"{tool.name} answered {type(answer).__name__}, no doorward.ToolAnswer or Outcome")
        if isinstance(answer, Outcome):
            require(tool.output_schema is None, f"{tool.name} answered an Outcome, and says another output_schema")
            return
        require(answer.text.strip(), f"{tool.name} answered no text: some agents read nothing else")
        with only((), f"the answer of {tool.name} as JSON", "Answer plain values."):
            value = json.loads(json.dumps(answer.value))
        require(tool.output_schema is not None, f"{tool.name} answers a ToolAnswer: say its output_schema")
        fits = answer.failed or jsonschema_rs.is_valid(dict(tool.output_schema or {}), value)
        require(fits, f"{tool.name} answered {value!r:.100}, which is not of its output_schema")


def given_by(gateway: Any) -> list[AgentTool]:
    """The tools for agents that the plugin under test gives."""
    found = []
    for answer in gateway.plugins.hook.agent_tools():
        plugin = getattr(answer, "plugin", None)
        if getattr(plugin, "name", NAME) == NAME:
            found += answer
    return found


def _is_valid(fits: Any, given: Any) -> bool:
    try:
        return bool(fits.is_valid(given))
    except (TypeError, ValueError):  # what is no JSON at all
        return False
