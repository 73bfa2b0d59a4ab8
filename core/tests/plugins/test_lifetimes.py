"""Hook plugins may open something, and are flushed and closed."""

from __future__ import annotations

import asyncio
import types
from typing import Any

import pytest
import structlog
from doorward import ConfigError, PluginError, hookimpl
from doorward.abilities import SupportsClose, SupportsFlush, SupportsOpen
from doorward.plugins import lifetimes

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio


def plugin(name: str, told: list[str], **fails: Any) -> Any:
    """A class of hooks that notes what is asked of it; what it is given under a method's name is raised there, or
    awaited."""

    async def did(what: str) -> None:
        told.append(f"{name} {what}")
        if isinstance(failure := fails.get(what), BaseException):
            raise failure
        if failure is not None:
            await failure()

    class Opens:
        def __init__(self, context: Any) -> None:
            told.append(f"{name} made")

        async def open(self) -> None:
            await did("open")

        async def flush(self) -> None:
            await did("flush")

        async def close(self) -> None:
            await did("close")

        @hookimpl
        def run_finished(self) -> None:
            told.append(f"{name} run")

    return Opens


def configured(host: Any, *, compile: bool = True, **things: Any) -> Any:
    for name, thing in things.items():
        host.install("plugin", name, thing, distribution=f"acme-{name}", version="1.2")
    return host.gateway(CONFIG.replace("plugins = []", f"plugins = {[*things]}"), compile=compile)


async def test_they_are_opened_in_order_and_closed_in_reverse(doorward_host: Any) -> None:
    """After everything that they may be told of; what waits in them is written before."""
    told: list[str] = []
    async with configured(doorward_host, compile=False, a=plugin("a", told), b=plugin("b", told)) as gate:
        assert told == ["b made", "a made", "a open", "b open"]
        del told[:]
        await gate._sweep()
        assert told == ["a flush", "b flush"]
        assert isinstance(gate.plugins.manager.get_plugin("a"), (SupportsOpen, SupportsFlush, SupportsClose))
        del told[:]
        await gate.execute("1")
    assert told == ["a run", "b run", "b flush", "b close", "a flush", "a close"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (KeyError("s3cret"), "plugin 'b' of acme-b 1.2 failed in open: KeyError"),
        (asyncio.CancelledError(), "'b' of acme-b 1.2 failed in open: CancelledError"),
        (lambda: asyncio.sleep(100), "'b' of acme-b 1.2 failed in open: TimeoutError"),
        (ConfigError("the file is full", place="x"), "^x: the file is full$"),
    ],
)
async def test_one_that_does_not_open_stops_the_start(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, error: Any, says: str
) -> None:
    """The error names it and its distribution, without words of a defect; those before it are closed."""
    monkeypatch.setattr(lifetimes, "OPEN_SECONDS", 0.2)
    told: list[str] = []
    things = {"a": plugin("a", told), "b": plugin("b", told, open=error), "c": plugin("c", told)}
    with structlog.testing.capture_logs(), pytest.raises(ConfigError, match=says) as raised:
        async with configured(doorward_host, **things):
            raise AssertionError
    assert isinstance(raised.value, PluginError) == (not isinstance(error, ConfigError))
    assert "s3cret" not in str(raised.value)
    assert told[3:] == ["a open", "b open", "a flush", "a close"]


@pytest.mark.parametrize("what", ["flush", "close"])
async def test_one_that_fails_or_hangs_stops_no_other(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It is logged by its name, and left behind; what it does with its cancellation does not matter."""
    monkeypatch.setattr(lifetimes, "CLOSE_SECONDS", 0.2)
    free = asyncio.Event()

    async def hangs() -> None:
        while not free.is_set():
            try:
                await free.wait()
            except asyncio.CancelledError:
                continue

    told: list[str] = []
    things = {
        "a": plugin("a", told),
        "hangs": plugin("hangs", told, **{what: hangs}),
        "fails": plugin("fails", told, **{what: KeyError()}),
    }
    with structlog.testing.capture_logs() as logs:
        async with configured(doorward_host, **things):
            pass
    free.set()
    assert [(line["plugin"], line["hook"]) for line in logs if line["event"] == "plugin_failed"] == [
        ("fails", what),
        ("hangs", what),
    ]
    assert told[-6:] == ["fails flush", "fails close", "hangs flush", "hangs close", "a flush", "a close"]


async def test_only_methods_that_are_meant_are_called(doorward_host: Any) -> None:
    """A module imports an `open` for itself, and a class may have had a plain `close` before there was this one."""
    told: list[str] = []
    module = types.ModuleType("guards")

    async def opens() -> None:
        told.append("module")

    module.open = opens  # type: ignore[attr-defined]
    module.run_finished = hookimpl(lambda: None)  # type: ignore[attr-defined]

    class Plain:
        def __init__(self, context: Any) -> None: ...

        def close(self) -> None:
            told.append("plain")

        @hookimpl
        def run_finished(self) -> None: ...

    async with configured(doorward_host, module=module, plain=Plain):
        pass
    assert told == []
