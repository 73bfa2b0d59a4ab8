"""A call that fails again and again with the same arguments is refused in the end."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import ApiError, LimitExceeded

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio


async def test_the_same_call_is_made_no_more(doorward_host: Any) -> None:
    """After so many failures in a row the source is not asked, in this run; what failed last is told."""
    async with doorward_host.gateway(CONFIG + "[limits]\nrepeats = 3\n") as gate:
        await gate.ready()
        run = gate._execution.of_call("local")
        for _ in range(3):
            with pytest.raises(ApiError):
                await run.call("weather.fail", (), {})
        for _ in range(2):
            with pytest.raises(LimitExceeded, match=r"has failed 3 times in a row with these arguments.*no such city"):
                await run.call("weather.fail", (), {})
        assert (await run.call("weather.get_forecast", (), {"city": "Oslo"}))["city"] == "Oslo"
        with pytest.raises(ApiError):
            await gate._execution.of_call("local").call("weather.fail", (), {})


async def test_a_success_in_between_begins_anew(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits until something is there may ask often; other arguments are another call."""
    async with doorward_host.gateway(CONFIG + "[limits]\nrepeats = 3\n") as gate:
        await gate.ready()
        source = gate.servers._sources.get("weather", "local")
        answer, answers = source.call, [False, False, True, False, False, True]

        async def call(call: Any) -> Any:
            if call.arguments["city"] != "Oslo" or not answers.pop(0):
                raise ApiError("503", status=503)
            return await answer(call)

        monkeypatch.setattr(source, "call", call)
        run = gate._execution.of_call("local")
        for succeeds in tuple(answers):
            if succeeds:
                await run.call("weather.get_forecast", (), {"city": "Oslo"})
            else:
                with pytest.raises(ApiError):
                    await run.call("weather.get_forecast", (), {"city": "Oslo"})
        for n in range(6):
            with pytest.raises(ApiError):
                await run.call("weather.get_forecast", (), {"city": f"City {n}"})
