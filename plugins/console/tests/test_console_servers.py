"""What the page of servers says of them: how calls went, and what the last compile changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Compiled
from doorward_console.recent import RecentCall
from doorward_testing.samples import Weather

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_server_has_its_errors_and_its_pacing(served: Any, tokens: str) -> None:
    """Of the calls that were made, in the runs that the visitor sees."""
    async with served(more=tokens) as at:
        for who, code in (("ann", "await weather.fail()"), ("ann", "result = await weather.get_forecast(city='Oslo')")):
            await at.gate.execute(code, description=code, principal=who)
        await at.asked("bob")  # nobody has said yes: no call of the server
        recent = at.gate.plugins.manager.get_plugin("console")._recent
        [run] = [each for each in recent.all(["ann"]) if each.state == "ok"]
        run.calls.append(RecentCall("weather.raw", 0.0, 9.0, ok=True, paced_ms=1500.0, retries=2))
        run.calls.append(RecentCall("weather.raw", 0.0, 9.0, ok=False, decision="deny"))
        operator, bob = await at.operator(), await at.signed_in("bob")
        [weather] = (await operator.get("/console/servers.json")).json()["servers"]
        assert weather["recent"] == {"calls": 3, "failed": 1, "paced": 1, "paced_ms": 1500.0, "retries": 2}
        page = (await operator.get("/console/servers")).text
        assert "Last calls: 3, 1 failed (33 %) · 1 paced, for 1.5 s in all · 2 repeated requests" in page
        [weather] = (await bob.get("/console/servers.json")).json()["servers"]
        assert weather["recent"]["calls"] == 0


async def test_an_operator_sees_what_a_compile_changed(
    served: Any, tokens: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the classes of `doorward refresh`; others do not, from whom policy may hide a function."""
    compile = Weather.compile

    async def changed(self: Weather) -> Compiled:
        found = await compile(self)
        kept = [replace(each, read_only=False) if each.name == "big" else each for each in found.functions]
        kept = [each for each in kept if each.name != "crash"]
        return replace(found, functions=[*kept, replace(kept[0], name="zap", id="zap", summary="<b>new</b>")])

    async with served(more=tokens) as at:
        operator, ann = await at.operator(), await at.signed_in("ann")
        before = (await operator.get("/console/servers.json")).json()["servers"][0]["changes"]
        assert before == {"compiled": 0.0, "counts": {}, "listed": [], "more": 0}
        monkeypatch.setattr(Weather, "compile", changed)
        await at.gate.compile(force=True)
        [weather] = (await operator.get("/console/servers.json")).json()["servers"]
        found = weather["changes"]
        assert found["counts"] == {"removed": 1, "effect": 1, "added": 1}
        assert found["compiled"] == weather["compiled"]
        assert [(each["kind"], each["function"]) for each in found["listed"]] == [
            ("removed", "weather.crash"),
            ("effect", "weather.big"),
            ("added", "weather.zap"),
        ]
        assert "The last compile changed 1 removed, 1 effect, 1 added" in (await operator.get("/console/servers")).text
        await at.gate.compile()  # nothing has changed: it is still the last one that did
        assert (await operator.get("/console/servers.json")).json()["servers"][0]["changes"] == found
        assert (await ann.get("/console/servers.json")).json()["servers"][0]["changes"]["compiled"] == 0.0
