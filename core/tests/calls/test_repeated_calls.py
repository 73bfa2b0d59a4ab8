"""A call that is made again and again with the same arguments is refused in the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doorward import ApiError, LimitExceeded

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio


async def test_the_same_call_is_made_no_more(doorward_host: Any) -> None:
    """After so many failures in a row the source is not asked, in this run; what failed last is told."""
    async with doorward_host.gateway(CONFIG + "[limits]\nrepeats = 3\n") as gate:
        await gate.ready()
        run = gate.execution.of_call("local")
        for _ in range(3):
            with pytest.raises(ApiError):
                await run.call("weather.fail", (), {})
        for _ in range(2):
            with pytest.raises(LimitExceeded, match=r"has failed 3 times in a row with these arguments.*no such city"):
                await run.call("weather.fail", (), {})
        assert (await run.call("weather.get_forecast", (), {"city": "Oslo"}))["city"] == "Oslo"
        with pytest.raises(ApiError):
            await gate.execution.of_call("local").call("weather.fail", (), {})


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
        run = gate.execution.of_call("local")
        for succeeds in tuple(answers):
            if succeeds:
                await run.call("weather.get_forecast", (), {"city": "Oslo"})
            else:
                with pytest.raises(ApiError):
                    await run.call("weather.get_forecast", (), {"city": "Oslo"})
        for n in range(6):
            with pytest.raises(ApiError):
                await run.call("weather.get_forecast", (), {"city": f"City {n}"})


async def test_the_same_call_is_made_so_often(doorward_host: Any) -> None:
    """Whatever it answers, and also if all are made at once."""
    async with doorward_host.gateway(CONFIG + "[limits]\nidentical = 3\n") as gate:
        await gate.ready()
        run = gate.execution.of_call("local")
        oslo = [run.call("weather.get_forecast", (), {"city": "Oslo"}) for _ in range(5)]
        answers = await asyncio.gather(*oslo, return_exceptions=True)
        refused = [str(answer) for answer in answers if isinstance(answer, LimitExceeded)]
        assert len(refused) == 2
        assert "has been called 3 times with these arguments" in refused[0]
        assert (await run.call("weather.get_forecast", (), {"city": "Rome"}))["city"] == "Rome"
        other = gate.execution.of_call("local")
        assert (await other.call("weather.get_forecast", (), {"city": "Oslo"}))["city"] == "Oslo"
