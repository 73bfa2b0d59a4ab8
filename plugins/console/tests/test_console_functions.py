"""What the page of a function says besides its text, and a first program on that of the set-up."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Function
from doorward.searching import SEARCH, Given, Related, SearchEngine

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class _Knows(SearchEngine):
    """A search that knows who gives a city; one of them nobody may call."""

    async def related(self, function: Function, principal: str) -> Related:
        given = [
            Given(function.qualified, "city", "weather.big", "items.<b>city", 0.9, learned=3),
            Given(function.qualified, "city", "weather.hidden", "city", 0.8),
        ]
        return Related(given if function.name == "get_forecast" else (), ["weather.raw", "weather.hidden"])


async def test_a_function_names_who_gives_what_it_needs(served: Any) -> None:
    """As far as the search knows it, and the principal may call them; without such a search there is nothing."""
    async with served() as at:
        person = await at.operator()
        path = "/console/functions/weather.get_forecast"
        plain = await person.get(path)
        assert (plain.status_code, "Who gives what it needs" in plain.text) == (200, False)
        at.gate.services.give(SEARCH, _Knows())
        found = (await person.get(f"{path}.json")).json()
        assert found["needs"] == [
            {"parameter": "city", "producer": "weather.big", "field": "items.<b>city", "confidence": 0.9, "learned": 3}
        ]
        assert found["often_with"] == ["weather.raw"]
        page = (await person.get(path)).text
        assert "items.&lt;b&gt;city" in page
        assert "90 %" in page
        assert "learned from 3 runs" in page
        assert (await person.get("/console/functions/weather.fail.json")).json()["needs"] == []


async def test_an_operator_runs_a_first_program(served: Any, tokens: str) -> None:
    """By a form of ours alone; it is a run as all are, by whoever pressed the button."""
    async with served(more=tokens) as at:
        operator, ann = await at.operator(), await at.signed_in("ann")
        page = await operator.get("/console/set-up")
        assert "6 * 7" in page.text
        for data in ({"do": "first"}, {"do": "first", "forgery": "x"}):
            assert (await operator.post("/console/set-up", data=data)).status_code == 403
        elsewhere = {"Origin": "https://evil.example"}
        data = {"do": "first", "forgery": at.forgery(page)}
        assert (await operator.post("/console/set-up", data=data, headers=elsewhere)).status_code == 403
        theirs = {"do": "first", "forgery": at.forgery(await ann.get("/console/runs"))}
        assert (await ann.post("/console/set-up", data=theirs)).status_code == 404
        assert (await operator.post("/console/set-up", data=data | {"do": "other"})).status_code == 400
        assert (await operator.get("/console/runs.json")).json()["runs"] == []
        ran = await operator.post("/console/set-up", data=data)
        assert ran.status_code == 200
        assert '<h2>Value</h2><pre tabindex="0">42</pre>' in ran.text
        [row] = (await operator.get("/console/runs.json")).json()["runs"]
        assert (row["description"], row["principal"], row["state"]) == ("A first program", "local", "ok")
