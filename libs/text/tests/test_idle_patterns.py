"""Which patterns of a run fit nothing."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_testing.samples import CONFIG

pytestmark = pytest.mark.anyio


async def test_patterns_that_fit_nothing_are_named(doorward_host: Any) -> None:
    """What is denied is as if it were not there."""
    fit = [
        "weather",
        "weather.get_forecast",
        "mcp__weather__get_forecast",
        "*",
        "weather*",
        "w*.get_*",
        "weather.get_f*",
    ]
    idle = ["wether.*", "weather.get_forcast", "weather.add_*", "weather.add_station", "weather.set_*", "*.set_*"]
    async with doorward_host.gateway(CONFIG + '[policy]\ndeny = ["weather.add_*"]\n') as gate:
        assert (await gate.execute("1", functions=fit)).notes == ()
        told = await gate.execute("1", functions=[*fit, *idle])
        assert (told.ok, told.notes) == (True, (f"`functions`: nothing that can be called fits {', '.join(idle)}",))
