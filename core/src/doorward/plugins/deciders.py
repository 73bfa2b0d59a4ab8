"""Asks the deciders of plugins: each may only tighten what others say, and what one fails at is denied."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anyio

from doorward.config.installed_plugins import PluginId
from doorward.model.calls import ALLOWED, Call, Decider, Decision, Scope, stricter
from doorward.model.errors import PluginError
from doorward.model.functions import Function
from doorward.model.principals import Principal
from doorward.plugins.failures import passes_cancellation
from doorward.plugins.hook_answers import Answer, Unfit, expected, unfit
from doorward.plugins.sealing import sealed

if TYPE_CHECKING:
    from doorward.plugins.manager import Plugins

DECIDE_SECONDS = 30.0
"""Seconds that a decider may take to decide of a call."""

T = TypeVar("T")


class _Named(NamedTuple):
    """A decider, whose it is, and whether it may wait."""

    plugin: PluginId
    decider: Decider
    waits: bool


class Deciders:
    """The deciders of one gateway, in the order in which their plugins are loaded; those that implement the hook
    `decide` alone are the last one of them."""

    def __init__(self, plugins: Plugins) -> None:
        self._failures = plugins.failures
        found: list[tuple[PluginId, Decider]] = []
        nobody = PluginId("plugin", "a hook wrapper", "a plugin")
        for answer in plugins.hook.deciders():
            found += [(answer.plugin if isinstance(answer, Answer) else nobody, each) for each in answer]
        if plugins.hook.decide.get_hookimpls():
            found.append((PluginId("plugin", "a plugin"), _OfHook(plugins.hook.decide)))
        self.all = [_Named(plugin, each, inspect.iscoroutinefunction(each.decide)) for plugin, each in found]

    async def decide(self, call: Call) -> Decision:
        """What they decide of a call, together. Raises: DoorwardError of one that cannot tell."""
        found = ALLOWED
        for plugin, decider, waits in self.all:
            given = sealed(call) if plugin.given_by else call
            try:
                with self._failures.blamed(plugin, "decide"):
                    answer: Any = decider.decide(given)
                    if waits:
                        answer = await self._awaited(plugin, answer, call.time_left)
                    if answer is None:
                        continue
                    decision = expected(Decision, answer)
            except PluginError as error:
                decision = Decision("deny", str(plugin), str(error))
            found = stricter(found, _signed(decision, plugin))
        return found

    async def _awaited(self, plugin: PluginId, work: Any, seconds: float) -> Any:
        seconds = min(seconds, DECIDE_SECONDS)
        with anyio.move_on_after(seconds) as within, passes_cancellation():
            return await self._failures.leave_if_stuck(plugin, "decide", work)
        assert within.cancelled_caught
        raise Unfit(f"it took more than {seconds:g} s")

    def possible(self, function: Function, principal: Principal) -> list[Sequence[Decision]]:
        """What each may decide of calls of a function: what is decided is the strictest of one of each. Raises:
        DoorwardError if it cannot be told."""
        return [self._asked(each, "possible", _decisions, function, principal) for each in self.all]

    def by_call(self, function: Function, principal: Principal) -> bool:
        """Whether some calls of a function may have to be asked for, or refused. Raises: as `possible` does."""
        found = [each for decisions in self.possible(function, principal) for each in decisions]
        for each in self.all:
            if isinstance(each.decider, _OfHook):
                found += each.decider.of_no_arguments(function, principal)
        return any(each.then != "allow" for each in found)

    def scopes(self, principal: Principal) -> list[tuple[int, Scope]]:
        """The scopes of those that may hide functions from a principal, by their number. Raises: DoorwardError."""
        found = ((number, self._asked(each, "scope", _scope, principal)) for number, each in enumerate(self.all))
        return [(number, scope) for number, scope in found if scope is not None]

    def decide_route(self, function: Function, principal: Principal, route: str) -> Decision:
        """What is decided of a request by its method and whole path. Raises: DoorwardError if it cannot be told."""
        found = ALLOWED
        for each in self.all:
            decision = self._asked(each, "decide_route", _decision, function, principal, route)
            found = stricter(found, _signed(decision or ALLOWED, each.plugin))
        return found

    def _asked(self, each: _Named, method: str, read: Callable[[Any], T], *given: Any) -> T:
        if each.plugin.given_by:
            given = tuple(map(sealed, given))
        with self._failures.blamed(each.plugin, method):
            return read(getattr(each.decider, method)(*given))


class _OfHook(Decider):
    """What plugins decide by the hook `decide`, which isolates them itself."""

    def __init__(self, ask: Callable[..., list[Decision]]) -> None:
        self._ask = ask

    def decide(self, call: Call) -> Decision | None:
        found = ALLOWED
        for each in self._ask(call=call):
            found = stricter(found, each)
        return found

    def possible(self, function: Function, principal: Principal) -> Sequence[Decision]:
        return (ALLOWED,)

    def of_no_arguments(self, function: Function, principal: Principal) -> Sequence[Decision]:
        """What they decide of a call without arguments: all that can be known of others."""
        return self._ask(call=Call(function, {}, principal=principal))


def _signed(decision: Decision, plugin: PluginId) -> Decision:
    """A decision with a name for what decided."""
    return decision if decision.rule or decision.then == "allow" else replace(decision, rule=str(plugin))


def _decision(answer: Any) -> Decision | None:
    return None if answer is None else expected(Decision, answer)


def _decisions(answer: Any) -> Sequence[Decision]:
    if not isinstance(answer, (list, tuple)) or not answer:
        raise unfit(answer, "one Decision or several")
    return [expected(Decision, each) for each in answer]


def _scope(answer: Any) -> Scope | None:
    if answer is None:
        return None
    hash(answer)
    return expected(Scope, answer)
