"""Conformance tests of observers that are drivers: inherit `ExporterConformance`, and say which class it is.

`self.server` is a server on loopback that takes whatever is sent there, for exporters that send.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from doorward import DoorwardError, Settings

from doorward_testing.conformance.base import fail, only, require
from doorward_testing.conformance.drivers import DriverConformance
from doorward_testing.conformance.echo import Answer, EchoServer, Request
from doorward_testing.conformance.hooks import ODD_TEXTS
from doorward_testing.conformance.observers import CANARY, files_of

NAME = "under_test"
SLOW_SECONDS = 1.0
"""How long a slow collector takes."""
MIN_TURNS = 10
"""Turns that other tasks must get meanwhile, of a hundred."""
OBSERVE_SECONDS = 30.0
"""How long is waited for one batch."""
ARRIVE_SECONDS, SETTLE_SECONDS = 5.0, 0.1
"""How long events may take to arrive, and how long nothing more comes when all have."""


class ExporterConformance(DriverConformance):
    """For observers that are drivers. Say `driver`; override `settings`, what stands in `[observers.NAME]`, and
    `exported`, where what it delivers goes neither to `self.server` nor to files of the host's folder."""

    kind = "observer"
    server: EchoServer

    def exported(self, host: Any) -> str:
        """Everything that it has delivered until now. It is asked for some seconds until there is something, and
        nothing more comes: a collector may be a thread."""
        return files_of(host) + "".join(request.whole for request in self.server.seen)

    def answer(self, request: Request) -> Answer:
        """What the collector answers."""
        return 200, {}, {}

    def observer(self, host: Any) -> Any:
        """A fresh instance. Override this where `driver` takes more than a context."""
        return self.driver(host.context(self.driver.Settings, self.settings(host), name=NAME))

    @pytest.fixture(autouse=True)
    def _collector(self, _complete: None) -> Iterator[None]:
        self.delay, self.down = 0.0, False
        self.server = EchoServer(self._answered)
        yield
        self.server.close()
        require(not self.server.fault, self.server.fault)

    def _answered(self, request: Request) -> Answer:
        time.sleep(self.delay)
        return (503, {}, {"error": "not now"}) if self.down else self.answer(request)

    @pytest.mark.anyio
    async def test_what_happens_is_exported(self, doorward_host: Any) -> None:
        """Runs and calls are delivered at the latest when the gateway closes, and no credential with them."""
        await self._events(doorward_host)
        told = await self._all_exported(doorward_host)
        require(
            told,
            "nothing was delivered of four runs: deliver what `observe` is given, or in `close` at the latest; "
            "override `exported` if it goes neither to `self.server` nor to files of the host's folder",
        )
        require(CANARY not in told, "a credential was delivered")

    @pytest.mark.anyio
    async def test_any_batch_is_taken(self, doorward_host: Any) -> None:
        """Large batches, and events with odd texts in them: what raises loses its batch."""
        events = await self._events(doorward_host)
        odd = [replace(event, **{field.name: text}) for event in events[:3] for field in fields(event)
               if isinstance(getattr(event, field.name), str) for text in ODD_TEXTS]  # fmt: skip
        observer = self.observer(doorward_host)
        for batch in (events[:1], odd, (events * 500)[:500]):
            before = repr(batch)
            with only(
                (), f"observe, given {len(batch)} events,", "Take every batch; an odd text is no reason to fail."
            ):
                await observer.observe(tuple(batch))
            require(repr(batch) == before, "observe changed the events")
        await observer.close()

    @pytest.mark.anyio
    async def test_other_tasks_go_on(self, doorward_host: Any) -> None:
        """A collector that is slow holds up the observer alone: it waits by `await`."""
        events, turns = await self._events(doorward_host), 0
        self.delay, observer = SLOW_SECONDS, self.observer(doorward_host)

        async def turn() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(SLOW_SECONDS / 100)
                turns += 1

        turning, sent = asyncio.ensure_future(turn()), len(self.server.seen)
        await observer.observe(tuple(events))
        turning.cancel()
        waited = len(self.server.seen) > sent
        require(not waited or turns >= MIN_TURNS, "observe blocks the event loop: use an asynchronous client")
        self.delay = 0.0
        await observer.close()

    @pytest.mark.anyio
    async def test_a_collector_that_is_down(self, doorward_host: Any) -> None:
        """A batch that cannot be delivered is over within 30 seconds, in an error at most; the next one is taken."""
        events = await self._events(doorward_host)
        observer, self.down = self.observer(doorward_host), True
        with contextlib.suppress(Exception):
            async with asyncio.timeout(OBSERVE_SECONDS) as limit:
                await observer.observe(tuple(events))
        require(not limit.expired(), "observe goes on for longer than anybody waits: give up earlier")
        self.down = False
        with only((), "observe, after a failure,", "Begin anew with each batch."):
            await observer.observe(tuple(events))
            await observer.close()

    @pytest.mark.anyio
    async def test_a_cancelled_batch_is_over(self, doorward_host: Any) -> None:
        """Doorward may end while a batch is under way; `close` works."""
        events, observer = await self._events(doorward_host), self.observer(doorward_host)
        observing = asyncio.ensure_future(observer.observe(tuple(events)))
        await asyncio.sleep(0)
        observing.cancel()
        done, _ = await asyncio.wait([observing], timeout=OBSERVE_SECONDS)
        require(done, "a cancelled batch goes on: let CancelledError pass")
        with only((), "close, after a cancelled batch,", "Leave nothing half done."):
            await observer.close()

    @pytest.mark.anyio
    async def test_it_can_be_closed(self, host: Any) -> None:
        """Without having been used, and a second time."""
        observer = self.observer(host)
        with only((), "close", "Give back what was opened, if anything was."):
            await observer.close()
            await observer.close()

    async def _all_exported(self, host: Any) -> str:
        """What is delivered, as soon as it stays the same."""
        told, before, ends = self.exported(host), "", time.monotonic() + ARRIVE_SECONDS
        while (not told or told != before) and time.monotonic() < ends:
            await asyncio.sleep(SETTLE_SECONDS)
            told, before = self.exported(host), told
        return told

    async def _events(self, host: Any) -> list[Any]:
        """What an observer is told of a few runs. The one under test has been told of them, too."""
        host.install_real("doorward-observers")  # which tells them
        host.install("observer", NAME, self.driver)
        host.install("observer", "recorder", _Recorder)
        _Recorder.events = []
        config: dict[str, Any] = {"executor": "inprocess", "cache": "none", "plugins": []}
        config |= {"observer": [NAME, "recorder"], "observers": {NAME: self.settings(host)}}
        config["servers"] = {"weather": {"source": "fake", "token": "${CANARY}"}}
        try:
            async with host.gateway(config, environ={"CANARY": CANARY}) as gate:
                for code in ("await weather.echo_token()", "await weather.fail()", "1 / 0", f"{CANARY!r}"):
                    await gate.execute(code)
        except DoorwardError as error:
            fail(f"a gateway does not start with it: {error}")
        return _Recorder.events


class _Recorder:
    """Another observer, which remembers its events."""

    Settings = Settings
    events: list[Any]

    def __init__(self, context: Any) -> None:
        pass

    async def observe(self, batch: Any) -> None:
        self.events.extend(batch)

    async def close(self) -> None:
        pass
