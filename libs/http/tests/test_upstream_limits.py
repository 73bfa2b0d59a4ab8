"""The limits of a server, as a hostile one may tell them."""

from __future__ import annotations

import pytest
from doorward_http.upstream_limits import UpstreamLimits

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("reset", ["1", "100000000"])
async def test_a_server_that_names_a_new_limit_in_each_answer_fills_no_memory(reset: str) -> None:
    limits = UpstreamLimits("weather")
    for number in range(500):
        async with limits.turn("GET", f"https://api.test/{'a' * number}", None) as turn:
            told = {"x-ratelimit-remaining": "5", "x-ratelimit-reset": reset, "x-ratelimit-bucket": f"b{number}"}
            turn.answered(200, told)
    assert len(limits._windows) <= 65
