"""Conformance tests of guards: inherit `GuardConformance`, and say which plugin it is, and what it refuses."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Sequence
from typing import Any

import pytest
from doorward import Call, Decision, Finding, Program

from doorward_testing.conformance.base import only, require
from doorward_testing.conformance.hooks import HookConformance, ask, odd_calls, odd_programs

Guarded = str | Program | Call | tuple[Call, Any]
"""What a guard judges: a program (or its code), a call, or a call with its result."""


class GuardConformance(HookConformance):
    """For guards. Say `plugin`; override `refused` and `passed`, and `settings`, where it needs any."""

    hooks = ("guard_program", "decide", "guard_call", "guard_result")
    may_wait = ("guard_program",)
    seconds = 10.0
    """How long it may take for anything: it runs in the event loop, and meanwhile nothing else does."""

    def refused(self) -> Sequence[Guarded]:
        """What it refuses: programs, calls, and calls with their results."""
        self.say('def refused(self): return ["import socket", call_of("notes.delete")]  # what it must refuse')

    def passed(self) -> Sequence[Guarded]:
        """What it lets pass."""
        self.say('def passed(self): return ["1 + 1", call_of("notes.find")]  # what it must let pass')

    @pytest.mark.anyio
    async def test_it_refuses(self, host: Any) -> None:
        """It refuses what it should, with a reason that its reader understands."""
        async with self.opened(host) as plugin:
            require(self.refused(), "`refused` is empty: say at least one thing that the guard refuses")
            for given in self.refused():
                reasons = await self._reasons(plugin, given)
                require(reasons, f"it let pass {_shown(given)}")
                empty = [reason for reason in reasons if not reason.strip()]
                require(
                    not empty, f"it refused {_shown(given)} without a reason: the agent learns what to do from it alone"
                )

    @pytest.mark.anyio
    async def test_it_lets_pass(self, host: Any) -> None:
        """It says nothing against what it should not refuse."""
        async with self.opened(host) as plugin:
            require(self.passed(), "`passed` is empty: say at least one thing that the guard lets pass")
            for given in self.passed():
                reasons = await self._reasons(plugin, given)
                require(not reasons, f"it refused {_shown(given)}: {'; '.join(reasons)}")

    @pytest.mark.anyio
    async def test_it_raises_nothing(self, host: Any) -> None:
        """Odd programs, calls and results are refused or pass; an exception would refuse them without a reason. None
        takes seconds."""
        async with self.opened(host) as plugin:
            calls = odd_calls()
            results: list[Guarded] = [(calls[-1], call.arguments.get("value")) for call in calls]
            for given in [*odd_programs(), *calls, *results]:
                began = time.monotonic()
                with only((), f"the guard, given {_shown(given)},", "Never raise: answer a reason, or None."):
                    await self._reasons(plugin, given)
                took = time.monotonic() - began
                require(
                    took < self.seconds, f"it took {took:.1f} s for {_shown(given)}, and nothing else ran meanwhile"
                )

    @pytest.mark.anyio
    async def test_it_changes_nothing(self, host: Any) -> None:
        """What it judges is the same afterwards."""
        async with self.opened(host) as plugin:
            for given in [*self.refused(), *self.passed()]:
                before = copy.deepcopy(_parts(given))
                await self._reasons(plugin, given)
                require(repr(before) == repr(_parts(given)), f"it changed {_shown(given)}: a guard only answers")

    @pytest.mark.anyio
    async def test_it_guards_in_a_gateway(self, doorward_host: Any) -> None:
        """A program that it refuses does not run, and the agent reads the reason."""
        programs = [one for one in self.refused() if isinstance(one, (str, Program))]
        if not programs:
            pytest.skip("it refuses no programs")
        doorward_host.install("plugin", "under_test", self.plugin)
        config: dict[str, Any] = {"executor": "inprocess", "cache": "none", "plugins": ["under_test"]}
        config |= {"hooks": {"under_test": self.settings(doorward_host)}} if self.settings(doorward_host) else {}
        async with doorward_host.gateway(config) as gate:
            for program in programs:
                outcome = await gate.execute(_program(program).code)
                error = outcome.error
                require(error and error.kind in ("guard", "program"), f"a gateway ran {_shown(program)}: {outcome}")

    async def _reasons(self, plugin: Any, given: Guarded) -> list[str]:
        """Why the guard refuses something; empty if it does not."""
        match given:
            case str() | Program():
                if "guard_program" not in self.implemented:
                    return []
                answer = ask(plugin, "guard_program", program=_program(given))
                found = (await answer if inspect.isawaitable(answer) else answer) or ()
                odd = [one for one in found if not isinstance(one, Finding)]
                require(not odd, f"guard_program answered {odd[:1]}: it answers doorward.Finding objects")
                return [f"{one.message} {one.instead}" for one in found if one.refuse]
            case Call() if (decided := self._decided(plugin, given)) is not None:
                return [decided]
            case Call():
                hook, answer = "guard_call", self._answer(plugin, "guard_call", call=given)
            case (call, result):
                hook, answer = "guard_result", self._answer(plugin, "guard_result", call=call, result=result)
        require(
            answer is None or isinstance(answer, str),
            f"{hook} answered {answer!r}: it answers the reason, a text, to refuse, and None to let pass",
        )
        return [] if answer is None else [answer]

    def _decided(self, plugin: Any, call: Call) -> str | None:
        """Why it lets a call pass only with a person's approval, or not at all; `None` if it does."""
        decision = self._answer(plugin, "decide", call=call)
        require(
            decision is None or isinstance(decision, Decision),
            f"decide answered {decision!r}: it answers a doorward.Decision, or None",
        )
        return None if decision is None or decision.then == "allow" else decision.reason

    def _answer(self, plugin: Any, hook: str, **given: Any) -> Any:
        return ask(plugin, hook, **given) if hook in self.implemented else None


def _program(given: str | Program) -> Program:
    return Program(given, run="run") if isinstance(given, str) else given


def _parts(given: Guarded) -> Any:
    match given:
        case Call():
            return dict(given.arguments)
        case (Call() as call, result):
            return [dict(call.arguments), result]
        case Program():
            return [given.code, dict(given.params)]
        case _:
            return given


def _shown(given: Guarded) -> str:
    match given:
        case str() | Program():
            return f"the program {_program(given).code[:60]!r}"
        case Call():
            return f"the call {given.function.qualified}({dict(given.arguments)!r:.60})"
        case (call, result):
            return f"the result {result!r:.60} of {call.function.qualified}"
