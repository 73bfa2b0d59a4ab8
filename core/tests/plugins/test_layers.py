"""Layers of plugins around calls and runs: their order, what they may do, and that whatever else they do refuses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from doorward import (
    ApiError,
    Call,
    CallLayer,
    Decision,
    DoorwardError,
    LoginRefused,
    Outcome,
    PluginError,
    Refused,
    Reply,
    Run,
    RunLayer,
    ServerError,
    StateKey,
    hookimpl,
)
from doorward.administration import Plugins
from doorward.configuration import Index
from doorward.model.layers import RunState
from doorward.plugins.layers import CallLayers, RunLayers
from doorward_testing import Host
from doorward_testing.layered import opened, plugin

from ..conftest import CONFIG, MemoryCache, Weather

pytestmark = pytest.mark.anyio

READ, WRITE = "weather.get_forecast", "weather.add_station"
WHO = r"plugin 'mine' of acme 2\.1"
Proceed = Callable[[], Awaitable[Reply]]
Ends = Callable[[], Awaitable[Outcome]]


async def passing(run: Run, *call_and_proceed: Any) -> Any:
    return await call_and_proceed[-1]()


def layers_of(*given: CallLayer) -> Any:
    """The layers around calls, each of a plugin of its own, in this order of `plugins`."""
    host = Host(Path())
    for number, layer in enumerate(given):
        host.install("plugin", f"p{number}", plugin([layer]), distribution=f"acme-{number}", version="2")
    plugins = Plugins(Index(host.entries))
    plugins.load_hooks([f"p{number}" for number in range(len(given))], lambda name, loaded: loaded)
    return CallLayers(plugins)


def order(*given: CallLayer) -> list[str]:
    return [layer.name for _, layer in layers_of(*given).all]


def named(name: str, **more: Any) -> CallLayer:
    return CallLayer(name, passing, **more)


# Their order


def test_order() -> None:
    """By `after` and `before`, where neither says anything by `plugins`; a name that nobody has counts for nothing."""
    assert order(named("a"), named("b"), named("c")) == ["a", "b", "c"]
    assert order(named("a", after=["c"]), named("b"), named("c")) == ["b", "c", "a"]
    assert order(named("a"), named("b"), named("c", before=["a"])) == ["b", "c", "a"]
    assert order(named("a", after=["z"], before=["y"]), named("b")) == ["a", "b"]


def test_a_circle_stops_the_start() -> None:
    """The message names the layers in it, and whose they are."""
    with pytest.raises(PluginError, match="layers that stand around each other: ") as told:
        layers_of(named("a", after=["b"]), named("b", after=["a"]), named("c"))
    assert {"'a' of acme-0 2", "'b' of acme-1 2"} == set(re.findall(r"'.' of acme-. 2", str(told.value)))
    with pytest.raises(PluginError, match="layers that stand around each other: 'a' of acme-0 2"):
        layers_of(named("a", before=["a"]))


def test_two_of_one_name_stop_the_start() -> None:
    """The message names both plugins; call layers and run layers do not meet."""
    with pytest.raises(PluginError, match="'a': of plugin 'p0' of acme-0 2 and of plugin 'p1' of acme-1 2"):
        layers_of(named("a"), named("a"))
    host = Host(Path())
    host.install("plugin", "one", plugin([named("a")], [RunLayer("a", passing)]))
    plugins = Plugins(Index(host.entries))
    plugins.load_hooks(["one"], lambda name, loaded: loaded)
    assert len(CallLayers(plugins).all) == len(RunLayers(plugins).all) == 1


@pytest.mark.parametrize(
    "odd",
    [
        named(""),
        named(3),  # type: ignore[arg-type]
        CallLayer("a", None),  # type: ignore[arg-type]
        named("a", after="budgets"),
        named("a", before=[1]),
        named("a", applies=True),
        RunLayer("a", passing),
        "a",
    ],
    ids=["no name", "a number", "no function", "a text", "numbers", "no applies", "of runs", "a word"],
)
async def test_what_is_no_layer_stops_the_start(doorward_host: Host, odd: Any) -> None:
    """A layer is there for a reason: without it, nothing is served."""
    gateway, _ = opened(doorward_host, calls=[odd])
    with pytest.raises(PluginError, match=WHO):
        async with gateway:
            pass


def test_a_hook_wrapper_may_add_one() -> None:
    """Nobody else is named for it."""

    class Wrapper:
        @hookimpl(wrapper=True)
        def call_layers(self) -> Any:
            return [*(yield), [named("b"), named("c")]]

    host = Host(Path())
    host.install("plugin", "a", plugin([named("a")]))
    host.install("plugin", "w", Wrapper())
    plugins = Plugins(Index(host.entries))
    plugins.load_hooks(["a", "w"], lambda name, loaded: loaded)
    assert [(id.name, layer.name) for id, layer in CallLayers(plugins).all] == [
        ("a", "a"), ("a hook wrapper", "b"), ("a hook wrapper", "c"),
    ]  # fmt: skip
    assert all(id.given_by for id, _ in CallLayers(plugins).all)  # else they would get what core's own get


# To which functions they apply


async def test_it_is_asked_once_for_each_function(doorward_host: Host) -> None:
    """And calls of those to which it does not apply never touch it."""
    asked, around = [], []

    def applies(function: Any) -> bool:
        asked.append(function.qualified)
        return bool(function.read_only)

    async def noting(run: Run, call: Call, proceed: Proceed) -> Reply:
        around.append(call.function.qualified)
        return await proceed()

    gateway, _ = opened(doorward_host, calls=[CallLayer("a", noting, applies)])
    async with gateway as gate:
        for _ in range(3):
            for name in (READ, WRITE):
                await gate.call(name, {"city": "Oslo"})
    assert asked == [READ, WRITE]
    assert around == [READ] * 3


@pytest.mark.parametrize("answer", [1, None, "no", RuntimeError("s3cret"), SystemExit(3)])
async def test_one_that_cannot_say_whether_it_applies_refuses(doorward_host: Host, answer: Any) -> None:
    """Nothing goes around a layer because it fails."""

    def applies(function: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    gateway, seen = opened(doorward_host, calls=[CallLayer("a", passing, applies)])
    async with gateway as gate:
        for _ in range(2):
            with pytest.raises(PluginError, match=rf"{WHO} failed in `applies` of the layer 'a'") as told:
                await gate.call(READ, {"city": "Oslo"})
            assert "s3cret" not in str(told.value)
    assert seen.results == []


async def test_nobody_can_change_what_a_layer_is_asked_about(doorward_host: Host) -> None:
    """The function is that of the catalog."""

    def applies(function: Any) -> bool:
        function.parameters["properties"].clear()
        return False

    gateway, _ = opened(doorward_host, calls=[CallLayer("a", passing, applies)])
    async with gateway as gate:
        with pytest.raises(PluginError, match="TypeError"):
            await gate.call(READ, {"city": "Oslo"})
        (described,) = await gate.get_functions([READ])
        assert "city" in described["signature"]


# What a layer around calls does


class Odd(BaseException):
    """Neither an error nor an end."""


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


class Bare(DoorwardError):
    def __init__(self) -> None: ...


ODD = [Refused(cast("str", None)), Refused("x", hint=cast("str", 3)), Bare(), RuntimeError("s3cret"), Unspeakable(), Odd("s3cret"), SystemExit(3), GeneratorExit(), asyncio.CancelledError(),
       BaseExceptionGroup("s3cret", [Odd()]), StopAsyncIteration()]  # fmt: skip


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("odd", ODD)
async def test_whatever_it_raises_refuses_the_call(doorward_host: Host, odd: BaseException, after: bool) -> None:
    """With the name of its plugin, and without what it says; the gateway goes on."""

    async def failing(run: Run, call: Call, proceed: Proceed) -> Reply:
        if after:
            await proceed()
        raise odd

    gateway, seen = opened(doorward_host, calls=[CallLayer("a", failing)])
    async with gateway as gate:
        with pytest.raises(PluginError, match=rf"{WHO} failed in the layer 'a'") as told:
            await gate.call(READ, {"city": "Oslo"})
        assert "s3cret" not in f"{told.value} {told.value.hint}"
        assert (await gate.execute("1 + 1")).value == 2
    assert [(name, ok) for name, ok, _ in seen.calls] == [(READ, False)]
    assert len(seen.results) == after


async def test_an_error_of_doorward_is_what_the_program_gets(doorward_host: Host) -> None:
    """With its hint, and cut."""

    async def refusing(run: Run, call: Call, proceed: Proceed) -> Reply:
        raise Refused("not on Mondays " + "x" * 100_000, hint="Come back.")

    gateway, seen = opened(doorward_host, calls=[CallLayer("a", refusing)])
    async with gateway as gate:
        with pytest.raises(Refused, match="not on Mondays") as told:
            await gate.call(READ, {"city": "Oslo"})
        assert told.value.hint == "Come back."
        assert len(told.value.message) < 20_000
    assert seen.calls == [(READ, False, "Refused")]


@pytest.mark.parametrize(
    "odd",
    [None, {"high": 1}, Outcome(True), Reply, asyncio.sleep, Reply(1, type=cast("str", 2))],
    ids=["nothing", "a value", "an outcome", "the class", "a function", "a part"],
)
async def test_what_is_no_reply_refuses(doorward_host: Host, odd: Any) -> None:
    """A layer that forgets to return what came is one of them."""

    async def answering(run: Run, call: Call, proceed: Proceed) -> Any:
        await proceed()
        return odd

    gateway, _ = opened(doorward_host, calls=[CallLayer("a", answering)])
    async with gateway as gate:
        with pytest.raises(PluginError, match=rf"{WHO} failed in the layer 'a': it answered .*, not Reply"):
            await gate.call(READ, {"city": "Oslo"})


@pytest.mark.parametrize("around", [lambda run, call, proceed: Reply(1), lambda run: None], ids=["def", "arguments"])
async def test_what_cannot_be_awaited_refuses(doorward_host: Host, around: Any) -> None:
    """So does a function with other arguments."""
    gateway, seen = opened(doorward_host, calls=[CallLayer("a", around)])
    async with gateway as gate:
        with pytest.raises(PluginError, match=rf"{WHO} failed in the layer 'a': TypeError"):
            await gate.call(READ, {"city": "Oslo"})
    assert seen.results == []


async def test_it_proceeds_once(doorward_host: Host) -> None:
    """A second time refuses, and nothing goes out again; so does one after it has answered."""

    async def twice(run: Run, call: Call, proceed: Proceed) -> Reply:
        await proceed()
        return await proceed()

    gateway, seen = opened(doorward_host, calls=[CallLayer("a", twice)])
    async with gateway as gate:
        with pytest.raises(PluginError, match=rf"{WHO} failed in the layer 'a': it proceeded twice"):
            await gate.call(WRITE, {"city": "Oslo"})
    assert len(seen.results) == 1


async def test_it_proceeds_before_it_answers(doorward_host: Host) -> None:
    """What it has kept is worth nothing afterwards, and what it has begun must have ended."""
    kept: list[Any] = []

    async def keeping(run: Run, call: Call, proceed: Proceed) -> Reply:
        kept.append(proceed)
        return Reply("mine")

    async def refusing(run: Run, call: Call, proceed: Proceed) -> Reply:
        kept.append(proceed)
        raise Refused("no")

    async def leaving(run: Run, call: Call, proceed: Proceed) -> Reply:
        kept.append(asyncio.ensure_future(proceed()))
        await anyio.sleep(0)
        return Reply("mine")

    gateway, seen = opened(
        doorward_host,
        calls=[
            CallLayer("a", keeping, lambda function: function.qualified == WRITE),
            CallLayer("b", leaving, lambda function: function.name == "sleep"),
            CallLayer("c", refusing, lambda function: function.qualified == READ),
        ],
    )
    async with gateway as gate:
        assert await gate.call(WRITE, {"city": "Oslo"}) == "mine"
        with pytest.raises(Exception, match="it proceeded after it had answered"):
            await kept.pop()()
        with pytest.raises(Refused, match="no"):
            await gate.call(READ, {"city": "Oslo"})
        with pytest.raises(Exception, match="it proceeded after it had answered"):
            await kept.pop()()
        with pytest.raises(PluginError, match="it answered while what it stands around was under way"):
            await gate.call("weather.sleep", {})
        kept.pop().cancel()
    assert seen.results == ["mine"]


async def test_its_own_reply_is_looked_at_like_any(doorward_host: Host) -> None:
    """It is plain, scrubbed, bounded, and result guards see it; the source is never asked."""
    given: list[Any] = [Reply({"a": (1, "t0p-s3cret-token")}), Reply("bad"), Reply("x" * 100_000), Reply(object())]

    async def answering(run: Run, call: Call, proceed: Proceed) -> Reply:
        if call.function.name == "echo_token":  # its credential is used, so that it is known
            return await proceed()
        answer: Reply = given.pop(0)
        return answer

    config = CONFIG.replace("[servers.weather]", '[servers.weather]\ntoken = "${TOKEN}"')
    limit = '[limits]\nresult = "64KiB"\n'
    gateway, seen = opened(doorward_host, config=config, more=limit, calls=[CallLayer("a", answering)])
    (doorward_host.folder / ".env").write_text("TOKEN=t0p-s3cret-token\n")
    async with gateway as gate:
        await gate.call("weather.echo_token", {})
        value = await gate.call("weather.fail", {})
        assert value["a"][0] == 1
        assert "s3cret" not in repr(value)
        for message in ("it is bad", "more than|at most"):
            with pytest.raises(DoorwardError, match=message):
                await gate.call("weather.fail", {})
        assert isinstance(await gate.call("weather.fail", {}), str)  # as of a source, whatever it is
    assert len(seen.results) == 5


async def test_it_may_swallow_an_error(doorward_host: Host) -> None:
    """A second layer sees the reply in its place, and not the error."""
    seen_outside: list[Any] = []

    async def swallowing(run: Run, call: Call, proceed: Proceed) -> Reply:
        with suppress(ApiError):
            return await proceed()
        return Reply("instead")

    async def outside(run: Run, call: Call, proceed: Proceed) -> Reply:
        seen_outside.append((await proceed()).value)
        return Reply(seen_outside[-1])

    gateway, seen = opened(doorward_host, calls=[CallLayer("a", swallowing, after=["b"]), CallLayer("b", outside)])
    async with gateway as gate:
        assert await gate.call("weather.fail", {}) == "instead"
    assert seen_outside == ["instead"]
    assert seen.calls == [("weather.fail", True, "")]


async def test_errors_pass_unchanged(doorward_host: Host) -> None:
    """Those of the source are no failures of the layers that they pass."""
    gateway, _ = opened(doorward_host, calls=[CallLayer("a", passing), CallLayer("b", passing)])
    async with gateway as gate:
        with pytest.raises(ApiError, match="404"):
            await gate.call("weather.fail", {})
        with pytest.raises(DoorwardError, match="weather") as told:
            await gate.call("weather.crash", {})
        assert "acme" not in str(told.value)


async def swallowing_all(run: Run, *rest: Any) -> Any:
    try:
        return await rest[-1]()
    except BaseException:
        return Reply("swallowed") if len(rest) == 2 else Outcome(True, "swallowed")


@pytest.mark.parametrize("native", [False, True], ids=["scope", "task"])
@pytest.mark.parametrize("kind", ["calls", "runs"])
async def test_nobody_swallows_a_cancellation(doorward_host: Host, kind: str, native: bool) -> None:
    """Whoever left gets no answer, and what stands around the layer ends."""
    begun = anyio.Event()

    async def hanging(run: Run, call: Call, proceed: Proceed) -> Reply:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    calls = [CallLayer("z", hanging, after=["a"]), *([CallLayer("a", swallowing_all)] * (kind == "calls"))]
    gateway, seen = opened(doorward_host, calls=calls, runs=[RunLayer("a", swallowing_all)] * (kind == "runs"))
    async with gateway as gate:
        await gate.ready()
        scope = anyio.CancelScope()
        ended: list[Any] = []

        async def ask() -> None:
            with scope:
                ended.append(await gate.execute("await weather.sleep()"))

        task = asyncio.ensure_future(ask())
        await begun.wait()
        task.cancel() if native else scope.cancel()
        await asyncio.wait([task])
        assert ended == []
        assert [outcome.error and outcome.error.type for outcome in seen.finished] == ["Cancelled"]


async def test_its_own_time_limit_is_none_of_a_run(doorward_host: Host) -> None:
    """A layer may give up what it stands around, and go on."""

    async def limiting(run: Run, call: Call, proceed: Proceed) -> Reply:
        with anyio.CancelScope() as scope:
            scope.cancel()
            return await proceed()
        return Reply("too slow")

    async def timed(run: Run, call: Call, proceed: Proceed) -> Reply:
        async with asyncio.timeout(100):
            return await proceed()

    gateway, _ = opened(doorward_host, calls=[CallLayer("a", timed), CallLayer("b", limiting)])
    async with gateway as gate:
        assert await gate.call("weather.sleep", {}) == "too slow"


async def test_nobody_can_change_the_call(doorward_host: Host) -> None:
    """What was decided is what goes out: not its arguments, nor its function, nor what the run may do."""
    tried: list[str] = []

    async def changing(run: Run, call: Call, proceed: Proceed) -> Reply:
        for change in (
            lambda: call.arguments.update(city="Bergen"),  # type: ignore[attr-defined]
            lambda: call.arguments.pop("city"),  # type: ignore[attr-defined]
            lambda: setattr(call, "arguments", {"city": "Bergen"}),
            lambda: call.function.parameters.clear(),  # type: ignore[attr-defined]
            lambda: call.details.update(x=1),
            lambda: run.program.params.update(x=1),  # type: ignore[attr-defined]
            lambda: setattr(run, "program", None),
            lambda: run.withhold(None),  # type: ignore[attr-defined]
        ):
            try:
                change()
            except Exception as error:
                tried.append(type(error).__name__)
        return await proceed()

    gateway, _ = opened(doorward_host, calls=[CallLayer("a", changing)])
    async with gateway as gate:
        assert (await gate.call(READ, {"city": "Oslo"}))["city"] == "Oslo"
    assert len(tried) == 8, tried


async def test_layers_stand_in_each_other(doorward_host: Host) -> None:
    """The outermost begins first and ends last, and all are within the run's."""
    order: list[str] = []

    def noting(name: str) -> Any:
        async def around(run: Run, *rest: Any) -> Any:
            order.append(name)
            try:
                return await rest[-1]()
            finally:
                order.append(f"/{name}")

        return around

    gateway, _ = opened(
        doorward_host,
        calls=[CallLayer("in", noting("in"), after=["out"]), CallLayer("out", noting("out"))],
        runs=[RunLayer("run", noting("run"))],
    )
    async with gateway as gate:
        assert (await gate.answer(READ, {"city": "Oslo"})).ok
    assert order == ["run", "out", "in", "/in", "/out", "/run"]


# What a layer around runs does


async def test_it_stands_around_every_run(doorward_host: Host) -> None:
    """Programs, single calls, and kept programs."""
    runs: list[Any] = []
    key = StateKey[list[str]]("mine", list)

    async def noting(run: Run, proceed: Ends) -> Outcome:
        runs.append(run.state[key])
        outcome: Outcome = await proceed()
        run.note(f"{len(run.state[key])} calls")
        return outcome

    async def counting(run: Run, call: Call, proceed: Proceed) -> Reply:
        run.state[key].append(call.function.name)
        return await proceed()

    doorward_host.install("cache", "memory", MemoryCache)
    config = CONFIG.replace('cache = "none"', 'cache = "memory"')
    gateway, _ = opened(doorward_host, config=config, calls=[CallLayer("a", counting)], runs=[RunLayer("a", noting)])
    code = "await weather.get_forecast(city='Oslo')\nawait weather.add_station(city='Oslo')\nresult = 1"
    async with gateway as gate:
        outcome = await gate.execute(code)
        assert (outcome.ok, outcome.notes) == (True, ("2 calls",))
        assert runs == [["get_forecast", "add_station"]]
        assert (await gate.run_cached(outcome.cache_id)).ok
        assert len(runs) == 2
        runs.clear()
        answered = await gate.answer(READ, {"city": "Oslo"})
        assert (answered.ok, answered.notes) == (True, ("1 calls",))
        await gate.call(READ, {"city": "Oslo"})
        assert runs == [["get_forecast"]]


async def test_what_it_does_to_a_run_is_what_observers_hear(doorward_host: Host) -> None:
    """Once a run, whether it refuses before, fails afterwards, answers itself or changes what came."""
    does: list[Any] = []

    async def around(run: Run, proceed: Ends) -> Outcome:
        outcome: Outcome = await does[0](run, proceed)
        return outcome

    async def refuses(run: Run, proceed: Ends) -> Outcome:
        raise Refused("not now", hint="Later.")

    async def fails(run: Run, proceed: Ends) -> Outcome:
        await proceed()
        raise RuntimeError("s3cret")

    async def refuses_after(run: Run, proceed: Ends) -> Outcome:
        await proceed()
        raise Refused("not that", hint="Else.")

    async def answers(run: Run, proceed: Ends) -> Outcome:
        return Outcome(True, {"a": (1,)})

    async def changes(run: Run, proceed: Ends) -> Outcome:
        return replace(await proceed(), value="x" * 100_000)

    async def odd(run: Run, proceed: Ends) -> Any:
        await proceed()

    async def twice(run: Run, proceed: Ends) -> Outcome:
        await proceed()
        return await proceed()

    gateway, seen = opened(doorward_host, runs=[RunLayer("a", around)])
    async with gateway as gate:
        for does[:], starts, message in (
            ([passing], 1, ""),
            ([refuses], 0, "not now"),
            ([fails], 1, "plugin 'mine' of acme 2.1 failed in the layer 'a': RuntimeError"),
            ([refuses_after], 1, "not that"),
            ([answers], 0, ""),
            ([changes], 1, ""),
            ([odd], 1, "plugin 'mine' of acme 2.1 failed in the layer 'a': it answered NoneType, not Outcome"),
            ([twice], 1, "plugin 'mine' of acme 2.1 failed in the layer 'a': it proceeded twice"),
        ):
            seen.started.clear()
            seen.finished.clear()
            outcome = await gate.execute("await weather.get_forecast(city='Oslo')\nresult = 1")
            name = does[0].__name__
            assert (len(seen.started), len(seen.finished)) == (starts, 1), name
            assert (outcome.error.message if outcome.error else "") == message, name
            assert (seen.finished[0].error and seen.finished[0].error.message) == (message or None), name
            assert len(outcome.calls) == (starts if does[0] is not answers else 0), name
            if does[0] is answers:
                assert outcome.value == {"a": [1]}
            if does[0] is changes:
                assert outcome.truncated
                assert len(outcome.value) < 100_000
            answered = await gate.answer(READ, {"city": "Oslo"})
            assert (answered.error.message if answered.error else "") == message, name
            assert len(seen.finished) == 1, name


async def test_only_what_lacked_a_login_is_made_again(doorward_host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer may proceed again when nothing was made; a call that went out goes out once."""
    errors = [LoginRefused("log in first"), ServerError("it failed")]
    made: list[str] = []

    async def call(self: Any, call: Call) -> Any:
        made.append(call.function.name)
        raise errors[len(made) - 1]

    async def again(run: Run, call: Call, proceed: Proceed) -> Reply:
        for _ in range(3):
            with suppress(LoginRefused, ServerError):
                return await proceed()
        return Reply(1)

    monkeypatch.setattr(Weather, "call", call)
    gateway, _ = opened(doorward_host, calls=[CallLayer("a", again)])
    async with gateway as gate:
        outcome = await gate.answer(READ, {"city": "Oslo"})
    assert outcome.error.message.endswith("failed in the layer 'a': it proceeded twice")
    assert made == ["get_forecast"] * 2


# State, and cost


def test_state_is_of_its_key() -> None:
    """Two keys of one name are two; a value is made when it is first asked for."""
    state, one, two = RunState(), StateKey[list[int]]("a", list), StateKey[list[int]]("a", list)
    state[one].append(1)
    assert (state[one], state[two]) == ([1], [])
    state[two] = [3]
    assert (state[one], state[two]) == ([1], [3])
    assert repr(one) == "StateKey('a')"


async def test_each_run_has_its_own_state(doorward_host: Host) -> None:
    """However many there are at once."""
    key, found = StateKey[SimpleNamespace]("a", lambda: SimpleNamespace(calls=0)), []

    async def counting(run: Run, call: Call, proceed: Proceed) -> Reply:
        run.state[key].calls += 1
        return await proceed()

    async def noting(run: Run, proceed: Ends) -> Outcome:
        outcome: Outcome = await proceed()
        found.append(run.state[key].calls)
        return outcome

    gateway, _ = opened(doorward_host, calls=[CallLayer("a", counting)], runs=[RunLayer("a", noting)])
    async with gateway as gate:
        code = "for n in range({}):\n    await weather.get_forecast(city='Oslo')"
        await asyncio.gather(*(gate.execute(code.format(count)) for count in (1, 2, 3)))
    assert sorted(found) == [1, 2, 3]


async def test_a_plugin_without_layers_attaches_nothing(doorward_host: Host) -> None:
    """An empty list and None are none."""
    gateway, _ = opened(doorward_host, calls=None, runs=[])
    async with gateway as gate:
        assert not gate.broker.layers.of_others
        assert gate.execution._runs.layers.all == []


async def test_a_call_that_needs_a_yes_is_refused_where_nobody_asks(doorward_host: Host) -> None:
    """A rule that says `confirm` never lets a call through because what asks people is not there."""
    rule = '[[policy.rules]]\nmatch = "weather.add_station"\nthen = "confirm"\n'
    async with doorward_host.gateway(f"{CONFIG}\n{rule}") as gate:
        gate.broker.layers.all = []
        with pytest.raises(Refused, match=r"needs a person's approval .*, and nothing here asks for one"):
            await gate.call("weather.add_station", {"city": "Oslo"})
        assert await gate.call(READ, {"city": "Oslo"})


async def test_a_layer_may_ask_somebody(doorward_host: Host) -> None:
    """It says that a person has approved; the call is decided once more then, and refused if it is not allowed now."""
    decided: list[str] = []

    async def asks(run: Any, call: Call, proceed: Any) -> Reply:
        decided.append(call.decision.then)
        return await proceed(confirmed=True)

    class Asking:
        @hookimpl
        def decide(self, call: Call) -> Decision | None:
            if call.function.read_only:
                return None
            return Decision("deny", "late") if decided[1:] else Decision("confirm", "first")

        @hookimpl
        def call_layers(self) -> list[CallLayer]:
            return [CallLayer("asks", asks)]

    doorward_host.install("plugin", "asking", Asking())
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["asking"]')) as gate:
        gate.broker.layers.all = [each for each in gate.broker.layers.all if each[1].name == "asks"]
        assert (await gate.call("weather.add_station", {"city": "Oslo"}))["city"] == "Oslo"
        with pytest.raises(Refused, match="late"):
            await gate.call("weather.add_station", {"city": "Rome"})
    assert decided == ["confirm", "confirm"]


async def test_a_run_is_listened_to(doorward_host: Host) -> None:
    """A listener has each call that succeeds with its reply, as the program gets it; its defects harm nobody."""
    heard: list[tuple[str, Any, bool]] = []

    class Listens:
        @hookimpl
        def run_layers(self) -> list[RunLayer]:
            return [RunLayer("listens", self.around)]

        async def around(self, run: Run, proceed: Ends) -> Outcome:
            run.state.on_answer(lambda call, reply: {}[call.place])
            run.state.on_answer(lambda call, reply: heard.append((call.function.name, call.arguments, reply.size > 0)))
            return await proceed()

    doorward_host.install("plugin", "listens", Listens())
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["listens"]')) as gate:
        code = "await weather.get_forecast(city='Oslo')\ntry:\n    await weather.fail()\nexcept Exception: pass\nresult = 1"
        assert (await gate.execute(code)).value == 1
        assert (await gate.execute("result = 2")).value == 2
    assert heard == [("get_forecast", {"city": "Oslo"}, True)]
