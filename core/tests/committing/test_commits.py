"""Programs that are planned, and plans that are committed."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import CONFIG, WORLD

pytestmark = pytest.mark.anyio

CODE = """
found = []
for city in ["Oslo", "Rome"]:
    if (await weather.get_forecast(city=city))["high"] > 10:
        made = await weather.add_station(city=city)
        await weather.tag(id=made["id"], tag="warm")
        found.append(made["id"])
result = found
"""
WRITTEN = [
    ("add_station", {"city": "Oslo"}),
    ("tag", {"id": 101, "tag": "warm"}),
    ("add_station", {"city": "Rome"}),
    ("tag", {"id": 103, "tag": "warm"}),
]


async def test_a_plan_writes_nothing_and_its_commit_all(doorward_host: Any, writes: Any) -> None:
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(CODE, mode="plan")
        assert outcome.ok, outcome.error
        assert writes() == []
        assert outcome.value == ["answer of 1: .id", "answer of 3: .id"]
        assert outcome.plan.counts == {"weather.add_station": 2, "weather.tag": 2}
        assert [(each.function, each.effect) for each in outcome.plan.changes] == [
            ("weather.add_station", "write"),
            ("weather.tag", "write"),
        ]
        assert outcome.plan.changes[1].calls[0] == {"n": 2, "arguments": {"id": "answer of 1: .id", "tag": "warm"}}
        assert outcome.plan.next == f'commit_plan("{outcome.plan.id}")'
        assert [(c["function"], c["count"]) for c in outcome.calls] == [("weather.get_forecast", 2)]
    async with doorward_host.gateway(CONFIG) as gate:
        done = await gate.plans.commit(outcome.plan.id)
        assert (done.value, done.error, done.notes) == ([101, 103], None, ())
        again = await gate.plans.commit(outcome.plan.id)
        assert "is over: it was committed" in again.error.message
    assert writes() == WRITTEN
