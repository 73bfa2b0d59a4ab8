"""Runs that are resumed where something else is configured by now: that is explained, nothing is sent twice, and once it
is put right they go on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from doorward import Compiled
from doorward_durable_runs import STORED_RUNS, Box
from doorward_durable_runs.storage.summaries import Summary
from doorward_testing.samples import CONFIG, Weather

from .test_runs import DONE, PROGRAM, asks

__all__ = ["asks"]
pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = 'vault_key = "0123456789abcdef0123456789abcdef"\n'
DENIED = '[[policy.rules]]\nmatch = "weather.add_station"\nthen = "deny"\n'
OTHER_KEY = "it was encrypted with another `vault_key`"
CHANGES = {
    "a key is added": (CONFIG, KEY + CONFIG, f"{OTHER_KEY}, without one, or changed"),
    "the key is gone": (KEY + CONFIG, CONFIG, "it is encrypted"),
    "the key is another": (KEY + CONFIG, KEY.replace("0", "f") + CONFIG, OTHER_KEY),
    "the server has another name": (CONFIG, CONFIG.replace("[servers.weather]", "[servers.climate]"), "'weather'"),
    "the server is gone": (CONFIG, CONFIG.partition("[servers.weather]")[0], "'weather'"),
    "the function is denied": (CONFIG, CONFIG + DENIED, "add_station"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_what_is_put_right_lets_it_go_on(
    doorward_host: Any, calls: list[str], asks: set[str], change: str
) -> None:
    before, after, said = CHANGES[change]
    async with doorward_host.gateway(before) as gate:
        run = (await gate.execute(PROGRAM)).waiting.run
    asks.clear()
    made = [*calls]
    async with doorward_host.gateway(after) as gate:
        refused = await gate.services[STORED_RUNS].resume(run)
        assert said in refused.error.message
        if refused.error.kind == "program":
            assert f'once that is put right, resume_run("{run}") lets it go on' in refused.notes[-1]
    assert calls == made
    async with doorward_host.gateway(before) as gate:
        assert (await gate.services[STORED_RUNS].resume(run)).value == DONE
    assert len(calls) == len(set(calls)) == len(DONE)


async def test_a_distribution_that_came_meanwhile_is_kept_to(
    doorward_host: Any, distro: Callable[..., None], calls: list[str], asks: set[str]
) -> None:
    """Also by a call of which a person had approved; what was answered before stays as it was."""
    async with doorward_host.gateway(CONFIG) as gate:
        run = (await gate.execute(PROGRAM)).waiting.run
    asks.clear()
    rule = "[[policy.rules]]\nmatch = 'weather.add_station'\nwhen = 'args.city != \"Bergen\"'\nthen = 'deny'\n"
    distro(rule, requires=("doorward", "doorward-policy-rules"))
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.services[STORED_RUNS].resume(run)
        assert "[[policy.rules]] 1 of acme-distro 1.2" in outcome.error.message
        assert outcome.error.line == 5
        assert await gate.services[STORED_RUNS].resume(run) == outcome
    assert calls[3:] == ["add_station Bergen", "get_forecast Rome"]


@pytest.mark.parametrize("now", ["idempotent", "read_only"])
async def test_a_write_is_not_made_again_because_it_is_said_to_be_another_one(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, calls: list[str], now: str
) -> None:
    """It was sent as one that may not be repeated; its upstream, or a new version of it, says since that it may be."""
    always = CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "always"')
    async with doorward_host.gateway(always) as gate:
        assert (await gate.execute("await weather.add_station(city='Oslo')")).ok
        (stored,) = await gate.services[STORED_RUNS].journals.store.all()
        run = stored.given.run
        whole = await gate.services[STORED_RUNS].journals.store.show(run)
        sent = [place for place, (kind, _) in enumerate(whole.frames) if kind == b"S"]
        died = Summary(whole.given, "a process that has died").packed(Box(None, b"", ""))
    with closing(sqlite3.connect(gate.state / "store.db")) as db, db:  # its process died when the call was sent
        db.execute("DELETE FROM entries WHERE log = ? AND position > ?", (f"runs {run}", *sent))
        db.execute("UPDATE records SET value = ? WHERE kind = 'runs'", (died,))
    compile = Weather.compile

    async def told(self: Weather) -> Compiled:
        found = await compile(self)
        functions = [replace(each, **({now: True} if each.name == "add_station" else {})) for each in found.functions]
        return replace(found, functions=functions)

    monkeypatch.setattr(Weather, "compile", told)
    async with doorward_host.gateway(always) as gate:
        await gate.compile(force=True)
        assert getattr(gate.broker.functions.find("weather.add_station", "local"), now)
        assert (await gate.services[STORED_RUNS].resume(run)).waiting.for_ == "unknown"
    assert calls == ["add_station Oslo"]
