"""What a run has used of a server."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import CallRecord, hookimpl
from doorward.model.calls import MAX_AMOUNTS, Usage
from doorward_testing.samples import CONFIG, Weather


def test_amounts_are_added_up() -> None:
    """What is taken back is gone; nothing is shown of what came to nothing, and fractions as people write them."""
    usage = Usage()
    for name, amount in (("tokens", 5), ("tokens", 7), ("rounds", 1), ("rounds", -1), ("cost", 0.1), ("cost", 0.2)):
        usage.add(name, amount)
    assert (usage.of("tokens"), usage.of("rounds"), usage.of("nothing")) == (12, 0, 0)
    assert usage.amounts() == {"tokens": 12, "cost": 0.3}


def test_nobody_is_paid_for_using_something() -> None:
    """Amounts come from answers: one that is no number would pass any limit, one below nothing would fill budgets."""
    usage = Usage()
    for amount in (float("nan"), float("inf"), float("-inf")):
        with pytest.raises(ValueError, match=r"cost: .* is no amount"):
            usage.add("cost", amount)
    usage.add("cost", 2)
    assert usage.newly("cost") == 2
    usage.add("cost", -1000)
    assert usage.newly("cost") == -2
    usage.add("cost", 999)
    assert usage.newly("cost") == 1


def test_amounts_are_bounded() -> None:
    """A source that makes names up fills no memory."""
    usage = Usage()
    for number in range(10 * MAX_AMOUNTS):
        usage.add(f"n{number}", 1)
    assert len(usage.amounts()) == MAX_AMOUNTS


class Metered(Weather):
    """A source that counts."""

    async def call(self, call: Any) -> Any:
        call.usage.add("calls", 1)
        call.usage.add("calls_before", call.usage.of("calls") - 1)
        call.details["unit"] = "calls"
        return await super().call(call)


class Told:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.details: list[Any] = []

    @hookimpl
    def call_finished(self, record: CallRecord) -> None:
        self.details.append(record.details)


@pytest.mark.anyio
async def test_a_run_says_what_it_used(doorward_host: Any) -> None:
    """Usage is counted for each run and server, and is in every form of its answer, a failed one included; the next run
    begins anew. Observers are told the details of each call."""
    doorward_host.install("source", "metered", Metered)
    told = Told()
    doorward_host.install("plugin", "told", told)
    config = CONFIG.replace("[]", '["told"]') + '[servers.other]\nsource = "metered"\n'
    calls = "await other.get_forecast(city='Oslo')\nawait weather.get_forecast(city='Oslo')\n"
    async with doorward_host.gateway(config) as gate:
        for code, times in ((calls, 1), (calls * 2 + "1 / 0", 2)):
            outcome = await gate.execute(code)
            assert outcome.usage["other"]["calls"] == times
            assert "weather" not in outcome.usage
        assert (await gate.answer("other.get_forecast", {"city": "Oslo"})).usage == {"other": {"calls": 1}}
        assert not (await gate.execute("1")).usage
    assert told.details[:2] == [{"unit": "calls"}, {}]
