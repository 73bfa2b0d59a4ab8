"""The limits of a server, as a hostile one may tell them."""

from __future__ import annotations

import time

import pytest
from doorward import Call, Function
from doorward_http.upstream_limits import UpstreamLimits

pytestmark = pytest.mark.anyio


@pytest.mark.slow
async def test_a_call_tells_how_long_it_waited_for_its_turn() -> None:
    """Where the server has told a limit that is used up."""
    limits = UpstreamLimits("weather")
    calls = [Call(Function("weather", "f", "f", ""), {}, deadline=time.monotonic() + 60) for _ in range(2)]
    for call in calls:
        async with limits.turn("GET", "https://api.test/a", call) as turn:
            turn.answered(200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"})
    assert "paced_ms" not in calls[0].details
    assert calls[1].details["paced_ms"] > 0


@pytest.mark.parametrize("reset", ["1", "100000000"])
async def test_a_server_that_names_a_new_limit_in_each_answer_fills_no_memory(reset: str) -> None:
    limits = UpstreamLimits("weather")
    for number in range(500):
        async with limits.turn("GET", f"https://api.test/{'a' * number}", None) as turn:
            told = {"x-ratelimit-remaining": "5", "x-ratelimit-reset": reset, "x-ratelimit-bucket": f"b{number}"}
            turn.answered(200, told)
    assert len(limits._windows) <= 65
