"""Observers that raise what ends tasks and processes, block the event loop, or do not end: each fails alone, and is
named."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest
import structlog
from doorward import DoorwardError, Settings
from doorward.plugins import block_watch
from doorward_observers import event_queue
from doorward_testing.samples import CONFIG

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CALL = "await weather.get_forecast(city='Oslo')"


class Mute(Exception):
    """Fails when it is asked what it is."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")

    __repr__ = __str__


class Export:
    """An observer that works."""

    Settings = Settings

    def __init__(self, context: Any) -> None: ...

    async def observe(self, batch: Any) -> None: ...

    async def close(self) -> None: ...


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def served(host: Any, kind: type) -> tuple[list[str], list[Any]]:
    """What a gateway answers, or why it does not start, and what its log has of the observer."""
    host.install_real("doorward-observers")
    host.install("observer", "mine", kind, distribution="acme", version="2.1")
    heard = []
    with structlog.testing.capture_logs() as logs:
        try:
            async with host.gateway(f'observer = "mine"\n{CONFIG}') as gate:
                heard.append(f"{(await gate.execute(CALL)).value}")
        except DoorwardError as error:
            heard.append(f"{error}")
    return heard, [line for line in logs if line.get("distribution") == "acme 2.1"]


def raising(odd: type[BaseException], *, late: bool) -> Callable[..., Any]:
    def now(*_: Any) -> Any:
        raise odd

    async def awaited(*_: Any) -> Any:
        raise odd

    return awaited if late else now


@pytest.mark.parametrize(
    "odd", [SystemExit, GeneratorExit, asyncio.CancelledError, StopIteration, RecursionError, Mute]
)
@pytest.mark.parametrize("method", ["__init__", "observe", "close"])
async def test_one_ends_nothing_but_itself(doorward_host: Any, method: str, odd: type[BaseException]) -> None:
    """Whatever its methods raise: the start fails with its name, or the log has it."""
    late = method != "__init__"
    (heard,), logs = await served(doorward_host, type("Odd", (Export,), {method: raising(odd, late=late)}))
    if method == "__init__":
        assert "observer 'mine' of acme 2.1 failed in its constructor" in heard
    else:
        assert "'high': 20.5" in heard
        assert {(line["plugin"], line["method"]) for line in logs} == {("mine", method)}


async def test_an_object_of_another_class_is_refused(doorward_host: Any) -> None:
    """A class may make anything."""
    (heard,), _ = await served(doorward_host, type("Odd", (Export,), {"__new__": lambda cls, context: 5}))
    assert "observer 'mine' of acme 2.1 failed in its constructor" in heard


async def test_one_that_hangs_when_it_is_closed_keeps_nobody(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway ends all the same, and the log says who did not."""
    monkeypatch.setattr(event_queue, "CLOSE_SECONDS", 0.05)

    async def hangs(self: Any) -> None:
        await asyncio.Event().wait()

    with anyio.fail_after(60):
        _, logs = await served(doorward_host, type("Odd", (Export,), {"close": hangs}))
    assert [line["why"] for line in logs] == ["TimeoutError"]


@pytest.mark.parametrize("method", ["observe", "close"])
async def test_one_that_blocks_is_named(doorward_host: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it blocks, with its distribution and its method."""
    named, told = threading.Event(), []

    class Log:
        def warning(self, event: str, **values: Any) -> None:
            told.append((values["distribution"], values["plugin"], values["method"]))
            named.set()

    monkeypatch.setattr(block_watch, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(block_watch, "BLOCKED_SECONDS", 0.2)
    monkeypatch.setattr(block_watch, "seldom", Log())

    async def blocks(self: Any, *given: Any) -> None:
        named.wait(60)

    (heard,), _ = await served(doorward_host, type("Odd", (Export,), {method: blocks}))
    assert "'high': 20.5" in heard
    assert set(told) == {("acme 2.1", "mine", method)}
