"""Plugins that block the event loop, or do not end: each is named, and keeps nobody from ending."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from doorward import Call, Program, hookimpl
from doorward.plugins import block_watch

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
        ("cache", MemoryCache, "put"),
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
