"""Programs that would use the wait of a run to do something unseen."""

from __future__ import annotations

from typing import Any, ClassVar

import anyio
import pytest
from doorward.plugins.hookspecs import hookimpl
from doorward_testing.samples import CONFIG, Weather

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.usefixtures("confirming")]


class Watches:
    seen: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, context: Any) -> None:
        pass

    @hookimpl
    def call_finished(self, call: Any, record: Any) -> None:
        self.seen.append((call.function.name, record.error))


async def test_a_call_that_went_out_is_told_though_its_run_waits(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time is up for it while another call waits for a person, so that its run is suspended, perhaps never to go on:
    observers are told of the one that went out, and not of the one that did not."""
    made = Weather.call

    async def slow(self: Weather, call: Any) -> Any:
        await anyio.sleep(30)
        return await made(self, call)

    monkeypatch.setattr(Weather, "call", slow)
    doorward_host.install("plugin", "watches", Watches)
    Watches.seen.clear()
    code = "import asyncio\nawait asyncio.gather(weather.get_forecast(city='Rome'), weather.add_station(city='Oslo'))"
    config = CONFIG.replace("plugins = []", 'plugins = ["watches"]') + "[limits]\ntimeout = 1\n"
    async with doorward_host.gateway(config) as gate:
        assert (await gate.execute(code)).waiting.for_ == "approval"
    assert [name for name, _ in Watches.seen] == ["get_forecast"]
