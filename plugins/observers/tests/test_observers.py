"""Observers are told in batches what happened, and no run or call ever waits for them."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import Sequence
from typing import Any

import doorward
import pytest
import structlog
from doorward import ConfigError, PluginContext, PluginError, Settings, hookimpl
from doorward.administration import Failures, PluginId
from doorward_observers import AuthChosen, CallFinished, Event, EventsDropped, RunFinished, RunStarted, event_queue
from doorward_observers.plugin import Observers
from doorward_testing.samples import CONFIG

pytestmark = pytest.mark.anyio

CALL = "await weather.get_forecast(city='Oslo')"
CANARY = "canary-8d0f2c"


class ExportSettings(Settings):
    endpoint: str = "here"


class Export:
    """Keeps its batches; `held` holds it up, `failures` are raised first."""

    Settings = ExportSettings
    made: list[Export]

    def __init__(self, context: PluginContext[ExportSettings]) -> None:
        self.context = context
        self.batches: list[Sequence[Event]] = []
        self.held = asyncio.Event()
        self.held.set()
        self.asked = asyncio.Event()
        self.failures: list[BaseException] = []
        self.closed = 0
        type(self).made.append(self)

    async def observe(self, batch: Sequence[Event]) -> None:
        self.asked.set()
        await self.held.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.batches.append(batch)

    async def close(self) -> None:
        self.closed += 1

    @property
    def events(self) -> list[Event]:
        return [event for batch in self.batches for event in batch]

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def fast(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    doorward_host.install_real("doorward-observers")
    monkeypatch.setattr(event_queue, "BATCH_SECONDS", 0.01)
    Export.made = []


def queue(gate: Any) -> event_queue.EventQueue:
    """That of its only observer."""
    plugin = gate.plugins.manager.get_plugin("observers")
    assert isinstance(plugin, Observers)
    (found,) = plugin.queues
    return found


def configured(host: Any, kind: type[Export] = Export) -> Any:
    host.install("observer", "export", kind)
    return host.gateway(f'observer = ["export"]\n{CONFIG}')


async def until(is_so: Any) -> None:
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0.01)


async def test_everything_that_happens_is_told_without_contents(doorward_host: Any) -> None:
    """Runs, calls and choices of credentials, in their order, with times, sizes and digests; nothing of what a program
    or an upstream wrote."""
    started = time.time()
    async with configured(doorward_host) as gate:
        code = f"city = 'x'\nprint('{CANARY}')\nweather_now = {CALL}\n'{CANARY}'"
        outcome = await gate.execute(code, params={"city": CANARY}, description=CANARY)
        assert outcome.ok
        assert not (await gate.execute(f"{CALL}\nraise KeyError('{CANARY}')")).ok
        assert not (await gate.execute("await weather.fail()")).ok
        await gate.call("weather.get_forecast", {"city": CANARY})
    (export,) = Export.made
    assert export.closed == 1
    kinds = [type(event).__name__ for event in export.events]
    once = ["RunStarted", "CallFinished", "RunFinished"]
    assert kinds == [*once * 3, "CallFinished"]
    assert all(started <= event.time <= time.time() for event in export.events)
    assert CANARY not in repr(export.events)
    json.dumps([dataclasses.asdict(event) for event in export.events])
    run, ended, call = export.events[0], export.of(RunFinished), export.of(CallFinished)
    assert isinstance(run, RunStarted)
    assert (run.principal, run.code_bytes, run.params) == ("local", len(code), ("city",))
    assert run.language == "python"
    assert (ended[0].run, ended[0].ok, ended[0].calls, ended[0].code_sha256) == (run.run, True, 1, run.code_sha256)
    assert ended[0].value_bytes == len(CANARY) + 2
    assert ended[0].printed_bytes == len(CANARY) + 1
    assert (ended[1].error_kind, ended[1].error) == ("program", "KeyError")
    assert (call[0].function, call[0].ok, call[0].run) == ("weather.get_forecast", True, run.run)
    assert call[0].details == {}
    assert (call[2].function, call[2].ok, call[2].error) == ("weather.fail", False, "ApiError")


async def test_settings_and_names(doorward_host: Any) -> None:
    """One name may stand alone; its table has its settings, and one that is named twice is there once."""
    doorward_host.install("observer", "export", Export)
    async with doorward_host.gateway(f"observer = ['export', 'export']\n{CONFIG}\n[observers.export]\nendpoint = 'x'"):
        assert [each.context.settings.endpoint for each in Export.made] == ["x"]
    environ = {"DOORWARD_OBSERVER": "export", "DOORWARD_OBSERVERS__EXPORT__ENDPOINT": "there"}
    async with doorward_host.gateway(CONFIG, environ=environ) as gate:
        assert queue(gate).plugin.name == "export"
        assert Export.made[-1].context.settings.endpoint == "there"


@pytest.mark.parametrize("plugin", ["fails", "fails_late"])
@pytest.mark.parametrize("observers", ["['export']", "['export', 'broken']"])
async def test_every_observer_that_was_made_is_closed(doorward_host: Any, plugin: str, observers: str) -> None:
    """Also if a plugin before or after it does not open, or another observer cannot be made: it may hold a file."""

    class Fails:
        def __init__(self, context: Any) -> None: ...

        async def open(self) -> None:
            raise ConfigError("the file is full")

        @hookimpl
        def run_finished(self) -> None: ...

    doorward_host.install("plugin", plugin, Fails)
    doorward_host.install("observer", "export", Export)
    doorward_host.install("observer", "broken", ImportError("gone"))
    order = [plugin, "observers"] if plugin == "fails" else ["observers", plugin]
    config = CONFIG.replace("plugins = []", f"plugins = {order}")
    with structlog.testing.capture_logs(), pytest.raises((PluginError, ConfigError)):
        async with doorward_host.gateway(f"observer = {observers}\n{config}"):
            raise AssertionError
    assert [each.closed for each in Export.made] == [1] * len(Export.made)
    assert bool(Export.made) == (plugin == "fails_late")


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("observer = ['exprot']", "no observer named 'exprot'; installed: broken, export, lacks"),
        ("observer = ['broken']", "observer 'broken' of test-plugin 1.0 does not import"),
        ("observer = ['lacks']", "observer 'lacks' of test-plugin 1.0 lacks observe"),
        ("observer = ['export']\n[observers.export]\nendpiont = 'x'", r"\[observers.export\].*endpiont"),
        ("observer = ['export']\n[observers.exprot]\n", r"\[observers.exprot\]: no observer 'exprot'.*mean 'export'"),
    ],
)
async def test_an_observer_that_cannot_observe_stops_the_start(doorward_host: Any, config: str, says: str) -> None:
    """Missing, broken, incomplete or misspelt: an operator who wants to be told must be."""

    class Lacks:
        Settings = Settings

        async def close(self) -> None: ...

    doorward_host.install("observer", "export", Export)
    doorward_host.install("observer", "broken", ImportError("gone"))
    doorward_host.install("observer", "lacks", Lacks)
    first, _, rest = config.partition("\n")
    with pytest.raises((PluginError, ConfigError), match=says):
        async with doorward_host.gateway(f"{first}\n{CONFIG}\n{rest}"):
            pass


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hangs", "fails", "blocks its close"])
async def test_no_call_waits_for_an_observer(doorward_host: Any, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Whatever it does, calls end before it has taken anything; and so does the gateway."""
    monkeypatch.setattr(event_queue, "DELIVER_SECONDS", 0.2)
    monkeypatch.setattr(event_queue, "CLOSE_SECONDS", 0.2)
    free = asyncio.Event()

    class Bad(Export):
        async def observe(self, batch: Sequence[Event]) -> None:
            self.asked.set()
            if how == "fails":
                raise KeyError
            while not free.is_set():  # not even for its cancellation
                try:
                    await free.wait()
                except asyncio.CancelledError:
                    continue

        async def close(self) -> None:
            self.closed += 1
            if how == "blocks its close":
                await free.wait()

    with structlog.testing.capture_logs() as logs:
        async with configured(doorward_host, kind=Bad) as gate:
            assert (await gate.execute(CALL)).ok
            await Bad.made[0].asked.wait()
            outcome = await gate.execute(f"for n in range(50):\n    {CALL}")
            assert outcome.ok
            assert outcome.calls[0]["count"] == 50
    free.set()
    assert Bad.made[0].closed == 1
    assert {line["observer"] for line in logs if "observer" in line} == {"export"}
    assert any(line["event"] == "events_lost" and line["count"] > 50 for line in logs)


async def test_nothing_is_done_that_is_not_told(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `observer_fail = "closed"`, programs and calls are refused while an observer fails, and made again once it
    takes events."""
    monkeypatch.setattr(event_queue, "MAX_PAUSE_SECONDS", 0.01)

    class Down(Export):
        down = False

        async def observe(self, batch: Sequence[Event]) -> None:
            if self.down:
                raise KeyError
            await super().observe(batch)

    doorward_host.install("observer", "export", Down)
    async with doorward_host.gateway(f'observer = "export"\nobserver_fail = "closed"\n{CONFIG}') as gate:
        (export,) = Down.made
        assert isinstance(export, Down)
        assert (await gate.execute(CALL)).ok
        export.down = True
        await gate.execute("1")
        await until(lambda: queue(gate).failing)
        refused = await gate.execute("1")
        assert refused.error is not None
        assert (refused.error.kind, refused.error.type) == ("guard", "GuardRefused")
        assert "the observer 'export' fails" in refused.error.message
        assert "tell the operator" in (refused.error.hint or "")
        with pytest.raises(doorward.GuardRefused, match="the observer 'export' fails"):
            await gate.call("weather.get_forecast", {"city": "Oslo"})
        export.down = False
        await gate.execute("1")
        await until(lambda: not queue(gate).failing)
        assert (await gate.execute(CALL)).ok


async def test_a_put_never_yields() -> None:
    """An event is taken without a turn of the event loop, also when the queue is full: that is all that a call pays."""
    export = Export.__new__(Export)
    queue = event_queue.EventQueue(PluginId("observer", "export"), export, Failures())
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    await asyncio.sleep(0)
    before = turns
    with structlog.testing.capture_logs() as logs:
        for _ in range(event_queue.MAX_WAITING_EVENTS + 500):
            queue.put(Event(0.0))
    assert turns == before
    assert len(queue._waiting) == event_queue.MAX_WAITING_EVENTS
    assert [line["event"] for line in logs] == ["events_dropped"], "that is told once"
    task.cancel()


async def test_what_was_dropped_is_told(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the next batch: those for which there was no room, and those of batches that failed."""
    monkeypatch.setattr(event_queue, "MAX_WAITING_EVENTS", 10)
    monkeypatch.setattr(event_queue, "MAX_BATCH_EVENTS", 4)
    with structlog.testing.capture_logs():
        async with configured(doorward_host) as gate:
            (export,) = Export.made
            export.held.clear()
            await gate.call("weather.get_forecast", {"city": "Oslo"})
            await export.asked.wait()
            for _ in range(25):
                await gate.call("weather.get_forecast", {"city": "Oslo"})
            export.held.set()
            await until(lambda: len(export.of(CallFinished)) == 11)
            assert [event.count for event in export.of(EventsDropped)] == [15]
            assert all(len(batch) <= 5 for batch in export.batches)
            monkeypatch.setattr(event_queue, "MAX_PAUSE_SECONDS", 0.01)
            export.failures = [KeyError(), asyncio.CancelledError()]
            for count in (1, 2, 3):
                await gate.call("weather.get_forecast", {"city": "Oslo"})
                await until(lambda count=count: len(export.failures) <= max(0, 2 - count))
    assert [event.count for event in export.of(EventsDropped)] == [15, 2]
    assert isinstance(export.batches[-1][0], EventsDropped)
    assert len(export.of(CallFinished)) == 12


async def test_one_that_fails_is_left_alone_for_ever_longer(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line in the log for each batch that failed, with its name and the pause, and never what it said."""
    pauses: list[float] = []

    async def noted(event: asyncio.Event, seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(event_queue, "_set_within", noted)
    with structlog.testing.capture_logs() as logs:
        async with configured(doorward_host) as gate:
            (export,) = Export.made
            export.failures = [KeyError() for _ in range(9)]
            for left in range(8, -1, -1):
                await gate.call("weather.get_forecast", {"city": "Oslo"})
                await until(lambda left=left: len(export.failures) == left)
    failed = [line for line in logs if line["event"] == "observer_failed"]
    assert [line["pause"] for line in failed] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert {(line["plugin"], line["distribution"]) for line in failed} == {("export", "test-plugin 1.0")}


async def test_what_waits_is_delivered_at_the_end(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, in batches of a bounded size, although nobody waits for a batch to be full any more."""
    monkeypatch.setattr(event_queue, "BATCH_SECONDS", 1000)
    monkeypatch.setattr(event_queue, "MAX_BATCH_EVENTS", 30)
    async with configured(doorward_host) as gate:
        for _ in range(70):
            await gate.call("weather.get_forecast", {"city": "Oslo"})
    (export,) = Export.made
    assert [len(batch) for batch in export.batches] == [30, 30, 10]
    assert export.closed == 1


async def test_auths_that_are_chosen_are_told(doorward_host: Any) -> None:
    """Once for each server, by type."""
    async with configured(doorward_host) as gate:
        gate.plugins.hook.auth_chosen(server="weather", auth="jwt")
    assert [(each.server, each.auth) for each in Export.made[-1].of(AuthChosen)] == [("weather", "jwt")]


async def test_without_observers_nothing_is_done_for_them(doorward_host: Any) -> None:
    """No hook, no task, no event."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert not gate.plugins.manager.has_plugin("observers")
        assert not [task for task in asyncio.all_tasks() if "observer" in task.get_name()]


def test_events_are_exported() -> None:
    """Authors import them from `doorward_observers`, and each is a frozen dataclass."""
    kinds = [RunStarted, RunFinished, CallFinished, AuthChosen, EventsDropped]
    assert all(issubclass(kind, Event) and dataclasses.is_dataclass(kind) for kind in kinds)
