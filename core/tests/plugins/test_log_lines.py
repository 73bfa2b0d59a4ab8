"""What the log says of runs and calls."""

from __future__ import annotations

from typing import Any

import pytest
import structlog

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio

PROGRAM = """
await weather.get_forecast(city="Oslo-of-the-fjord")
try:
    await weather.fail()
except doorward.ApiError:
    raise
"""


@pytest.mark.parametrize("level", ["info", "warning"])
async def test_each_run_and_call_is_a_line(doorward_host: Any, level: str) -> None:
    """At `info`, with names and how it ended, and no content; at the usual level there is none."""
    with structlog.testing.capture_logs() as lines:
        async with doorward_host.gateway(f'log_level = "{level}"\n{CONFIG}') as gate:
            outcome = await gate.execute(f"import doorward{PROGRAM}", timeout=60)
    assert outcome.error
    said = [line for line in lines if line["log_level"] == "info"]
    if level == "warning":
        assert said == []
        return
    calls = {line["function"]: line for line in said if line["event"] == "call"}
    assert calls["weather.get_forecast"].keys() == {"event", "log_level", "function", "run", "principal", "ms"}
    assert calls["weather.fail"]["error"] == "ApiError"
    [run] = [line for line in said if line["event"] == "run"]
    assert (run["principal"], run["calls"]) == ("local", 2)
    assert run["error"] == "server: ApiError"
    assert "fjord" not in str(said)
