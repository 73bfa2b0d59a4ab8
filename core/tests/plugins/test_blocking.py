"""Plugins that block the event loop, or do not end: each is named, and keeps nobody from ending."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

import anyio
import pytest
import structlog
from doorward import Call, Program, hookimpl
from doorward.config.installed_plugins import PluginId
from doorward.plugins import block_watch, cancellation, failures
from doorward.plugins.cancellation import cancellable

from ..conftest import CONFIG, InProcess, MemoryCache, Weather
from .conftest import Key, Keyed

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CALL = "await weather.get_forecast(city='Oslo')"

NAMED = threading.Event()
"""Somebody was named: whoever blocks goes on."""


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Who was named. The watch looks often, and whoever blocks does so until it is named."""
    told: list[Any] = []
    monkeypatch.setattr(block_watch, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(block_watch, "BLOCKED_SECONDS", 0.2)

    class Log:
        def warning(self, event: str, **values: Any) -> None:
            told.append((event, values["distribution"], values["plugin"], values["method"]))
            if values["distribution"] == "acme 2.1":
                NAMED.set()

    monkeypatch.setattr(block_watch, "seldom", Log())
    NAMED.clear()
    return told


def block(*given: Any, **named: Any) -> None:
    """Blocks until somebody is named."""
    NAMED.wait(60)


def hook(name: str) -> Any:
    scope = {"block": block}
    takes = {"call_finished": "call", "guard_result": "result", "change_result": "result", "source_compiled": "server"}
    given = takes.get(name, "call" if "call" in name or name == "decide" else "program")
    exec(f"def {name}(self, {given}): block()", scope)
    return type("Blocks", (), {name: hookimpl(scope[name])})()


class Good:
    """A plugin that is called beside the other."""

    @hookimpl
    def guard_program(self, program: Program) -> None: ...

    @hookimpl
    def guard_call(self, call: Call) -> None: ...


HOOKS = ["source_compiled", "guard_program", "run_started", "run_finished", "decide", "guard_call", "trace_call",
         "change_result", "guard_result", "call_finished"]  # fmt: skip


@pytest.mark.parametrize("name", HOOKS)
async def test_a_hook_that_blocks_is_named(doorward_host: Any, name: str, named: list[Any]) -> None:
    """While it blocks, with its distribution and its hook; and nobody else is."""
    doorward_host.install("plugin", "mine", hook(name), distribution="acme", version="2.1")
    doorward_host.install("plugin", "good", Good())
    async with doorward_host.gateway(CONFIG.replace("[]", '["good", "mine"]')) as gate:
        assert (await gate.execute(CALL)).ok
    assert {each[1:] for each in named} == {("acme 2.1", "mine", name)}
    assert "plugin_blocks" in {each[0] for each in named}


async def test_a_hook_that_keeps_the_interpreter_is_named_afterwards(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, named: list[Any]
) -> None:
    """As a regular expression does: nobody can look meanwhile, so its time is measured."""
    monkeypatch.setattr(block_watch, "LOOK_SECONDS", 1000)
    monkeypatch.setattr(NAMED, "wait", lambda seconds: time.sleep(2 * block_watch.BLOCKED_SECONDS))
    doorward_host.install("plugin", "mine", hook("guard_program"), distribution="acme", version="2.1")
    async with doorward_host.gateway(CONFIG.replace("[]", '["mine"]')) as gate:
        assert (await gate.execute(CALL)).ok
    assert named == [("plugin_blocked", "acme 2.1", "mine", "guard_program")]


def blocking(base: type, method: str) -> type:
    """A driver of which one method blocks."""
    real = getattr(base, method)

    def init(self: Any, context: Any) -> None:
        block()
        real(self, context)

    async def later(self: Any, *given: Any, **more: Any) -> Any:
        block()
        return await real(self, *given, **more)

    def at_once(self: Any, *given: Any) -> Any:
        block()
        return real(self, *given)

    how = init if method == "__init__" else at_once if method in ("create_auth", "capabilities") else later
    return type("Mine", (base,), {method: how})


@pytest.mark.parametrize(
    ("kind", "base", "method"),
    [
        ("source", Weather, "__init__"),
        ("source", Weather, "fingerprint"),
        ("source", Weather, "compile"),
        ("source", Weather, "call"),
        ("auth", Key, "__init__"),
        ("auth", Key, "create_auth"),
        ("executor", InProcess, "__init__"),
        ("executor", InProcess, "capabilities"),
        ("executor", InProcess, "open"),
        ("cache", MemoryCache, "__init__"),
    ],
)
async def test_a_driver_that_blocks_is_named(
    doorward_host: Any, kind: str, base: type, method: str, named: list[Any]
) -> None:
    """In whatever method, its constructor included."""
    doorward_host.install("source", "keyed", Keyed)
    doorward_host.install("cache", "memory", MemoryCache)
    doorward_host.install(kind, "mine", blocking(base, method), distribution="acme", version="2.1")
    config = CONFIG.replace('"none"', '"memory"').replace('"fake"', '"keyed"')
    config = {
        "source": config.replace('"keyed"', '"mine"'),
        "auth": config.replace('"keyed"', '"keyed"\nauth = { type = "mine" }'),
        "executor": config.replace('"inprocess"', '"mine"'),
        "cache": config.replace('"memory"', '"mine"'),
    }[kind]
    async with doorward_host.gateway(config) as gate:
        assert (await gate.execute(CALL)).ok
    assert {each[1:3] for each in named} == {("acme 2.1", "mine")}
    assert {each[3] for each in named} == {"its constructor" if method == "__init__" else method}


async def test_a_guard_that_blocks_past_the_time_of_a_run_is_named_in_its_error(
    doorward_host: Any, named: list[Any]
) -> None:
    """The run is late, and its error says who kept it waiting."""
    doorward_host.install("plugin", "mine", hook("guard_program"), distribution="acme", version="2.1")
    async with doorward_host.gateway(CONFIG.replace("[]", '["mine"]')) as gate:
        error = (await gate.execute(CALL, timeout=0.05)).error
    assert error.type == "TimeoutError"
    assert "plugin 'mine' of acme 2.1 in guard_program blocked the event loop" in error.hint


BEGUN = threading.Event()


async def never(*given: Any, **more: Any) -> Any:
    """Goes on, whatever happens."""
    BEGUN.set()
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(1000)


async def test_a_source_that_goes_on_when_it_is_cancelled_keeps_nobody(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its run ends in time, the log has its name, and no task is left that would keep the process."""
    before = asyncio.all_tasks()
    doorward_host.install("source", "mine", type("Mine", (Weather,), {"call": never}), distribution="acme")
    with structlog.testing.capture_logs() as logs:
        async with doorward_host.gateway(CONFIG.replace('"fake"', '"mine"')) as gate:
            for seconds in (0.05, 2, 60):  # a busy machine takes longer until its call is out
                BEGUN.clear()
                error = (await gate.execute(CALL, timeout=seconds)).error
                if BEGUN.is_set():
                    break
            BEGUN.clear()
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(gate.call, "weather.get_forecast", {"city": "Oslo"})
                    while not BEGUN.is_set():
                        await asyncio.sleep(0.001)
                    scope.cancel()
    assert error.type == "TimeoutError"
    left = [line for line in logs if line["event"] == "plugin_does_not_end"]
    said = [(line["plugin"], line["kind"], line["distribution"], line["method"]) for line in left]
    assert said == [("mine", "source", "acme 1.0", "call")] * 2
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize(("kind", "method"), [("source", "compile"), ("source", "close"), ("executor", "open")])
async def test_no_method_keeps_a_gateway_from_closing(
    doorward_host: Any, kind: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever does not end is left behind, by its name."""
    monkeypatch.setattr(failures, "CLOSE_SECONDS", 0.05)
    BEGUN.clear()
    before = asyncio.all_tasks()
    base = Weather if kind == "source" else InProcess
    doorward_host.install(kind, "mine", type("Mine", (base,), {method: never}), distribution="acme", version="2.1")
    config = CONFIG.replace('"fake"' if kind == "source" else '"inprocess"', '"mine"')
    with structlog.testing.capture_logs() as logs:
        async with doorward_host.gateway(config) as gate:
            if method == "compile":
                while not BEGUN.is_set():
                    await asyncio.sleep(0.001)
            else:
                assert (await gate.execute(CALL, timeout=0.2)).ok == (method == "close")
    left = [line for line in logs if line["event"] == "plugin_does_not_end"]
    assert [(line["distribution"], line["method"]) for line in left] == [("acme 2.1", method)]
    assert asyncio.all_tasks() == before


async def test_a_task_that_is_cancelled_once_leaves_what_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """As asyncio cancels when a loop ends; what cleans up when it is cancelled may do so."""
    monkeypatch.setattr(cancellation, "LEAVE_SECONDS", 0.01)
    left: list[str] = []
    task = asyncio.ensure_future(_awaited(cancellable(never(), lambda: left.append("left"))))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left == ["left"]
    assert task.cancelling() == 1

    async def cleans_up() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0)
            left.append("clean")

    with anyio.move_on_after(0.01) as scope:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0)
        await cancellable(cleans_up(), lambda: left.append("left"))
    assert scope.cancelled_caught
    assert left[1:] in (["clean"], [])  # a scope cancels what awaits again


async def _awaited(work: Any) -> Any:
    return await work


async def test_what_is_awaited_goes_through_unchanged() -> None:
    """Its answers, its errors and what it waits for."""

    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    async def works() -> int:
        await asyncio.sleep(0)
        return await asyncio.wait_for(asyncio.sleep(0, 5), 10)

    assert await cancellable(works(), list) == 5
    with pytest.raises(KeyError):
        await cancellable(fails(), list)
    future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, 7)
    assert await cancellable(future, list) == 7
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_exception, KeyError("x"))
    with pytest.raises(KeyError):
        await cancellable(future, list)


def test_an_import_is_no_block() -> None:
    """Once, at a start, a busy machine takes a second for it; its author can do nothing about that."""
    watch, plugin, found = block_watch.BlockWatch(), PluginId("source", "acme"), []
    watch.add_plugin(plugin, object(), "acme_calendar")

    def look() -> None:
        here = threading.get_ident()
        looking = threading.Thread(target=lambda: found.append(watch._culprit(here)))
        looking.start()
        looking.join()

    module: dict[str, Any] = {"__name__": "acme_calendar", "look": look}
    exec(compile("look()\ndef later(): look()\nlater()", "acme_calendar.py", "exec"), module)
    module["later"]()
    assert found == [None, None, (plugin, "later")]
