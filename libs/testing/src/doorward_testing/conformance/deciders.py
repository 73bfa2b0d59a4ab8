"""Conformance tests of deciders: inherit `DeciderConformance`, and say which plugin it is, and what it decides."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from doorward import Call, Decider, Decision, DoorwardError, Scope

from doorward_testing.conformance.base import only, require
from doorward_testing.conformance.hooks import HookConformance, ask, hooks_of, odd_calls

_DENY = "Answer a decision: what a decider fails at is denied, whoever asks."


class DeciderConformance(HookConformance):
    """For plugins with the hook `deciders`, or with `decide`. Say `plugin`; override `refused` and `passed`, and
    `settings`, where it needs any."""

    hooks = ("deciders", "decide")
    seconds = 10.0
    """How long it may take for one call."""

    def refused(self) -> Sequence[Call]:
        """Calls that it denies, or asks a person about."""
        self.say('def refused(self): return [call_of("notes.delete")]  # what it must not let pass by itself')

    def passed(self) -> Sequence[Call]:
        """Calls of which it says nothing."""
        self.say('def passed(self): return [call_of("notes.find")]  # what it must let pass')

    @pytest.mark.anyio
    async def test_it_refuses(self, host: Any) -> None:
        """What it should, by a rule or for a reason that its reader understands."""
        async with self._deciders(host) as deciders:
            require(self.refused(), "`refused` is empty: say at least one call that it denies, or asks about")
            for call in self.refused():
                found = [each for each in [await self._decided(each, call) for each in deciders] if each]
                tight = [each for each in found if each.then != "allow"]
                require(tight, f"it let pass {call.function.qualified}({call.arguments})")
                require(
                    any((each.rule or each.reason).strip() for each in tight),
                    f"it refused {call.function.qualified} without a rule and without a reason: nobody learns why",
                )

    @pytest.mark.anyio
    async def test_it_lets_pass(self, host: Any) -> None:
        """It says nothing against what it should not refuse."""
        async with self._deciders(host) as deciders:
            require(self.passed(), "`passed` is empty: say at least one call that it lets pass")
            for call in self.passed():
                for each in deciders:
                    decision = await self._decided(each, call)
                    fine = decision is None or decision.then == "allow"
                    require(fine, f"it refused {call.function.qualified}({call.arguments}): {decision}")

    @pytest.mark.anyio
    async def test_sets_say_what_calls_get(self, host: Any) -> None:
        """Of a function, it leaves possible what it decides of the call; where it hides one, its scope says on what
        that depends, twice the same."""
        async with self._deciders(host) as deciders:
            for call in (*self.refused(), *self.passed()):
                name = call.function.qualified
                for each in deciders:
                    decision = await self._decided(each, call)
                    possible = each.possible(call.function, call.caller)
                    fine = isinstance(possible, (list, tuple)) and possible
                    require(fine, f"`possible` answered {possible!r} of {name}: write a list of decisions")
                    then = decision.then if decision else "allow"
                    require(
                        then in {one.then for one in possible},
                        f"it decides {then!r} of a call of {name}, and `possible` leaves {[*possible]}",
                    )
                    scope = each.scope(call.caller)
                    require(scope is None or isinstance(scope, Scope), f"`scope` answered {scope!r}, no Scope")
                    require(scope == each.scope(call.caller), f"`scope` answers another key each time: {scope!r}")
                    hides = all(one.then == "deny" for one in possible)
                    require(scope is not None or not hides, f"it hides {name}, and `scope` says that it hides nothing")

    @pytest.mark.anyio
    async def test_it_raises_nothing(self, host: Any) -> None:
        """Whatever a call holds."""
        async with self._deciders(host) as deciders:
            for call in odd_calls():
                for each in deciders:
                    with only(DoorwardError, f"it, for {call.function.qualified},", _DENY):
                        await self._decided(each, call)
                        each.possible(call.function, call.caller)
                        each.scope(call.caller)
                        each.decide_route(call.function, call.caller, "GET /v1/users")

    @asynccontextmanager
    async def _deciders(self, host: Any) -> AsyncIterator[list[Decider]]:
        async with self.opened(host) as plugin:
            found = ask(plugin, "deciders") if "deciders" in hooks_of(plugin) else []
            fine = isinstance(found, (list, tuple)) and all(isinstance(each, Decider) for each in found)
            require(fine, f"`deciders` answered {found!r}: write a list of doorward.Decider objects")
            found = [*found, *([_OfHook(plugin)] if "decide" in hooks_of(plugin) else [])]
            require(found, "it has no decider here: say in `settings` what it has one for")
            yield found

    async def _decided(self, decider: Decider, call: Call) -> Decision | None:
        before = copy.deepcopy(call.arguments)
        with anyio.fail_after(self.seconds):
            answer: Any = decider.decide(call)
            decision = await answer if inspect.isawaitable(answer) else answer
        fine = decision is None or (isinstance(decision, Decision) and decision.then in ("allow", "confirm", "deny"))
        require(fine, f"`decide` answered {decision!r}: write a doorward.Decision, or None")
        require(call.arguments == before, f"it changed the arguments of {call.function.qualified}")
        return decision  # type: ignore[no-any-return]


class _OfHook(Decider):
    """What a plugin decides by the hook `decide`."""

    def __init__(self, plugin: Any) -> None:
        self._plugin = plugin

    def decide(self, call: Call) -> Decision | None:
        return ask(self._plugin, "decide", call=call)  # type: ignore[no-any-return]
