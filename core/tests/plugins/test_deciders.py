"""Deciders of plugins: what they hide, tighten and ask a service for, and what follows when one fails."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from doorward import Call, Decider, Decision, Function, PluginError, Principal, Refused, Scope, hookimpl
from doorward.plugins import deciders as asking

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio

FORECAST = ("weather.get_forecast", {"city": "Oslo"})
NO = Decision("deny", "service 7", "not this team")
OURS = CONFIG.replace("plugins = []", 'plugins = ["mine"]')


class Gives:
    """A plugin with these deciders."""

    def __init__(self, *deciders: Any) -> None:
        self._deciders = [*deciders]

    @hookimpl
    def deciders(self) -> Sequence[Decider]:
        return self._deciders


class Service(Decider):
    """Asks a service about each call, by the team of who asks."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.asked = seconds, list[tuple[str, Any]]()

    async def decide(self, call: Call) -> Decision | None:
        await anyio.sleep(self.seconds)
        self.asked.append((str(call.caller), call.caller.attributes.get("team")))
        return None if call.caller.attributes.get("team") == "weather" else NO


class Hides(Decider):
    """Hides one function from whom a group does not have."""

    def decide(self, call: Call) -> Decision | None:
        return self.possible(call.function, call.caller)[0]

    def possible(self, function: Function, principal: Principal) -> Sequence[Decision]:
        return [NO if function.name == "big" and "ops" not in principal.groups else Decision()]

    def scope(self, principal: Principal) -> Scope | None:
        return None if "ops" in principal.groups else Scope("others")


async def test_a_service_is_asked(doorward_host: Any) -> None:
    """By what the token of a principal says, and over that what the operator does; it may only tighten."""
    doorward_host.install("plugin", "mine", Gives(service := Service()))
    attributes = '[principals.ann.attributes]\nteam = "weather"\n'
    async with doorward_host.gateway(OURS + attributes) as gate:
        assert await gate.call(*FORECAST, principal="ann")
        assert await gate.call(*FORECAST, principal=Principal("bob", attributes={"team": "weather"}))
        assert await gate.call(*FORECAST, principal=Principal("ann", attributes={"team": "sea"}))
        with pytest.raises(Refused, match="service 7: not this team") as refused:
            await gate.call(*FORECAST, principal="bob")
        assert refused.value.rule == "service 7"
    assert service.asked == [("ann", "weather"), ("bob", "weather"), ("ann", "weather"), ("bob", None)]


async def test_what_is_hidden_is_not_found(doorward_host: Any) -> None:
    """Searches, lists, cards and calls agree, for each principal; a source cannot turn a call into another one."""
    doorward_host.install("plugin", "mine", Gives(Hides()))
    async with doorward_host.gateway(OURS + '[groups]\nops = ["ann"]\n') as gate:
        for who, seen in (("ann", True), ("bob", False)):
            found = await gate.search_functions("", limit=50, principal=who)
            assert ("weather.big" in {each["function"] for each in found["functions"]}) is seen
            (card,) = await gate.get_functions(["weather.big"], principal=who)
            assert ("error" in card) is not seen
        with pytest.raises(Refused, match="service 7"):
            await gate.call("weather.big", principal="bob")
        assert await gate.call("weather.big", principal="ann")


class Odd(Decider):
    def __init__(self, method: str, answer: Any) -> None:
        async def awaited(*given: Any) -> Any:
            return self._said()

        self._answer = answer
        setattr(self, method, awaited if method == "decide" else lambda *given: self._said())

    def _said(self) -> Any:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


@pytest.mark.parametrize("answer", ["deny", True, Decision("denny"), RuntimeError("odd"), SystemExit(), Refused("no")])  # type: ignore[arg-type]
@pytest.mark.parametrize("method", ["decide", "possible", "scope"])
async def test_nothing_passes_one_that_fails(doorward_host: Any, method: str, answer: Any) -> None:
    """Whatever it answers or raises: the call is refused, and where it is asked of a set, nobody finds the function."""
    doorward_host.install("plugin", "mine", Gives(Odd(method, answer)))
    async with doorward_host.gateway(OURS) as gate:
        if method != "scope":
            with pytest.raises((Refused, PluginError)):
                await gate.call(*FORECAST)
        if method != "decide":
            try:
                found = await gate.search_functions("forecast")
            except (Refused, PluginError):
                found = {"functions": []}
            assert found["functions"] == []


async def test_a_service_that_does_not_answer_denies(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "DECIDE_SECONDS", 0.05)
    doorward_host.install("plugin", "mine", Gives(Service(60)))
    async with doorward_host.gateway(OURS) as gate:
        with pytest.raises(Refused, match=r"more than 0\.05 s"):
            await gate.call(*FORECAST)


async def test_nothing_of_a_principal_leaves_but_its_name() -> None:
    """Claims are in no text, copy or pickle, and nobody changes them."""
    who = Principal("ann", attributes={"email": "ann@example.com"}, groups=("ops",))
    for left in (pickle.loads(pickle.dumps(who)), copy.deepcopy(who)):
        assert (type(left), left) == (str, "ann")
    assert "example" not in f"{who} {who!r} {[who]}"
    with pytest.raises(TypeError):
        who.groups = ("root",)
