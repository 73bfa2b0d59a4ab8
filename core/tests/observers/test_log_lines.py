"""What the log says of runs, calls and approvals."""

from __future__ import annotations

from typing import Any

import pytest
import structlog

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio

CONFIRMED = """
[[policy.rules]]
match = "weather.add_station"
then = "confirm"
"""
PROGRAM = """
await weather.get_forecast(city="Oslo-of-the-fjord")
try:
    await weather.fail()
except doorward.ApiError:
    await weather.add_station(city="Oslo")
"""


@pytest.mark.parametrize("level", ["info", "warning"])
async def test_each_run_call_and_question_is_a_line(doorward_host: Any, level: str) -> None:
    """At `info`, with names and how it ended, and no content; at the usual level there is none."""
    with structlog.testing.capture_logs() as lines:
        async with doorward_host.gateway(f'log_level = "{level}"\n{CONFIG}{CONFIRMED}') as gate:
            outcome = await gate.execute(f"import doorward{PROGRAM}", timeout=5)
    assert outcome.waiting
    said = [line for line in lines if line["log_level"] == "info"]
    if level == "warning":
        assert said == []
        return
    calls = {line["function"]: line for line in said if line["event"] == "call"}
    assert calls["weather.get_forecast"].keys() == {"event", "log_level", "function", "run", "principal", "ms"}
    assert calls["weather.fail"]["error"] == "ApiError"
    [run] = [line for line in said if line["event"] == "run"]
    assert (run["principal"], run["calls"]) == ("local", 2)
    assert run["waits_for"] == "approval"
    [asked] = [line for line in said if line["event"] == "approval_wanted"]
    assert asked["function"] == "weather.add_station"
    assert "fjord" not in str(said)
