"""What it costs, told by counts: they are the same on a busy machine."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from doorward_testing.counting import counted_functions
from doorward_testing.samples import CONFIG

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

FREE = "weather.get_forecast", {"city": "Oslo"}


async def calls(gate: Any) -> int:
    """The functions that are called for one call; what is found out once is not of it."""
    counts = []
    for _ in range(4):
        with counted_functions() as found:
            await gate.call(*FREE)
        counts.append(found["call"] + found["c_call"])
    return min(counts)


async def test_nothing_when_off(doorward_host: Any) -> None:
    """Installed and without its table, it is not loaded, and a call costs what it costs without it; with it, a call
    that only reads costs a bounded number of functions more."""
    counts = []
    for lines in ("", "[provenance]\n"):
        if lines:
            doorward_host.install_real("provenance")
        async with doorward_host.gateway(CONFIG + lines) as gate:
            counts.append(await calls(gate))
            assert bool(gate.broker.listeners) is bool(lines)
    doorward_host.install_real("provenance")
    async with doorward_host.gateway(CONFIG) as gate:
        counts.append(await calls(gate))
    assert counts[2] == counts[0]
    assert 0 < counts[1] - counts[0] <= 330, counts
    code = "import sys, doorward, doorward.gateway; print([m for m in sys.modules if 'provenance' in m])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
