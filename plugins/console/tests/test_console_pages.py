"""The pages over real HTTP: an inbox that answers, runs, and each page as HTML and as JSON."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_person_says_yes_on_the_page(served: Any) -> None:
    """The inbox shows who wants what with all arguments; a yes lets the run go on."""
    async with served() as at:
        outcome = await at.asked()
        person = await at.operator()
        inbox = (await person.get("/console")).text
        [row] = (await person.get("/console/approvals.json")).json()["waiting"]
        assert "weather.add_station" in inbox
        assert f"/console/approvals/{row['id']}" in inbox
        assert (row["principal"], row["reason"]) == ("ann", "writes need a person")
        page = await person.get(f"/console/approvals/{row['id']}")
        assert "Oslo" in page.text
        assert "Adds a station" in page.text
        answer = await person.post(
            f"/console/approvals/{row['id']}", data={"forgery": at.forgery(page), "answer": "yes"}
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/approvals?said=approved")
        said = await person.get(answer.headers["location"])
        assert "You said yes" in said.text
        run = outcome.waiting.run
        shown = await person.get(f"/console/runs/{run}")
        moved = await person.post(f"/console/runs/{run}", data={"forgery": at.forgery(shown), "do": "resume"})
        assert moved.headers["location"].startswith(f"/console/runs/{run}")
        while (await person.get(f"/console/runs/{run}.json")).json()["run"]["state"] != "ok":
            await asyncio.sleep(0.01)
        [bar] = (await person.get(f"/console/runs/{run}.json")).json()["bars"]
        assert [part["kind"] for part in bar["parts"]] == ["asked", "ok"]
        assert bar["words"][0].startswith("waited for a person")
        again = await person.post(
            f"/console/approvals/{row['id']}", data={"forgery": at.forgery(page), "answer": "yes"}
        )
        assert again.status_code == 400
        assert "answered already" in again.text


async def test_a_no_has_a_reason(served: Any) -> None:
    """The program is told it."""
    async with served() as at:
        outcome = await at.asked()
        person = await at.operator()
        [row] = (await person.get("/console/approvals.json")).json()["waiting"]
        page = await person.get(f"/console/approvals/{row['id']}")
        data = {"forgery": at.forgery(page), "answer": "no", "reason": "not in Oslo"}
        assert (await person.post(f"/console/approvals/{row['id']}", data=data)).status_code == 303
        from doorward_durable_runs import STORED_RUNS

        ended = await at.gate.services[STORED_RUNS].resume(outcome.waiting.run, principal="ann")
        assert "not in Oslo" in ended.error.message
        assert "the console" in ended.error.message


async def test_a_yes_for_the_run(served: Any) -> None:
    """It is offered where the request offers it, and reaches so far."""
    async with served() as at:
        await at.asked(code="for city in ('Oslo', 'Rome'):\n    await weather.add_station(city=city)")
        person = await at.operator()
        [row] = (await person.get("/console/approvals.json")).json()["waiting"]
        page = await person.get(f"/console/approvals/{row['id']}")
        assert "for this run" in page.text
        data = {"forgery": at.forgery(page), "answer": "yes", "scope": "run"}
        assert (await person.post(f"/console/approvals/{row['id']}", data=data)).status_code == 303
        [row] = (await person.get("/console/approvals.json")).json()["answered"]
        assert (row["state"], row["scope"]) == ("approved", "run")


PAGES = ["approvals", "runs", "servers", "functions", "policy", "use", "audit", "set-up"]


@pytest.mark.parametrize("page", PAGES)
async def test_each_page_is_html_and_json(served: Any, page: str) -> None:
    """From one view, with headers that let nothing else load and nobody frame it."""
    async with served() as at:
        assert (await at.gate.execute("result = await weather.get_forecast(city='Oslo')", principal="ann")).ok
        person = await at.operator()
        html, as_json = await person.get(f"/console/{page}"), await person.get(f"/console/{page}.json")
        assert (html.status_code, as_json.status_code) == (200, 200), html.text
        assert html.headers["content-type"].startswith("text/html")
        assert isinstance(as_json.json(), dict)
        assert "default-src 'self'" in html.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in html.headers["content-security-policy"]
        for forbidden in (" style=", "<style", "onclick", "javascript:", "http://", "https://"):
            assert forbidden not in html.text


async def test_a_run_has_its_calls_and_its_end(served: Any) -> None:
    """Program, calls on a timeline, printed text and value; or the error at its line."""
    code = "print('hello')\na = await weather.get_forecast(city='Oslo')\nresult = {'city': 'Oslo'}"
    async with served() as at:
        assert (await at.gate.execute(code, principal="ann")).ok
        assert not (await at.gate.execute("a = 1\nawait weather.fail()", principal="bob")).ok
        person = await at.operator()
        runs = (await person.get("/console/runs.json")).json()["runs"]
        assert [(run["principal"], run["state"]) for run in runs] == [("bob", "failed"), ("ann", "ok")]
        filtered = (await person.get("/console/runs.json?state=ok&text=hello")).json()["runs"]
        assert [run["principal"] for run in filtered] == ["ann"]
        one = (await person.get(f"/console/runs/{runs[1]['run']}.json")).json()
        assert [bar["function"] for bar in one["bars"]] == ["weather.get_forecast"]
        assert (one["code"], one["printed"]) == (code, "hello\n")
        assert "Oslo" in one["value"]
        assert "<rect" in (await person.get(f"/console/runs/{runs[1]['run']}")).text
        assert "404" in (await person.get(f"/console/runs/{runs[0]['run']}")).text
        assert (await person.get("/console/runs/nothing")).status_code == 404


UNDO = """
[runs]
durable = "always"

[servers.weather.undo.add_station]
call = "get_forecast"
arguments = { city = "args.city" }
"""


async def test_what_a_run_wrote_is_undone(served: Any, tokens: str) -> None:
    """An operator sees by which calls, and has them made; its principal may not."""
    async with served(more=UNDO + tokens) as at:
        run = (await at.asked()).waiting.run
        person, ann = await at.operator(), await at.signed_in("ann")
        [row] = (await person.get("/console/approvals.json")).json()["waiting"]
        forgery = at.forgery(await person.get(f"/console/approvals/{row['id']}"))
        await person.post(f"/console/approvals/{row['id']}", data={"forgery": forgery, "answer": "yes"})
        await person.post(f"/console/runs/{run}", data={"forgery": forgery, "do": "resume"})
        while (found := (await person.get(f"/console/runs/{run}.json")).json())["in_words"] != "it succeeded":
            await asyncio.sleep(0.01)
        assert [(each["by"], each["stands"]) for each in found["undo"]["undo"]] == [("weather.get_forecast", "open")]
        theirs = await ann.get(f"/console/runs/{run}")
        assert "Make these calls" not in theirs.text
        data = {"forgery": at.forgery(theirs), "do": "undo"}
        assert (await ann.post(f"/console/runs/{run}", data=data)).status_code == 400
        page = await person.get(f"/console/runs/{run}")
        assert "Make these calls as ann" in page.text
        moved = await person.post(f"/console/runs/{run}", data={"forgery": forgery, "do": "undo"})
        assert moved.headers["location"].endswith("said=undoing")
        while (await person.get(f"/console/runs/{run}.json")).json()["undo"]["undo"][0]["stands"] != "undone":
            await asyncio.sleep(0.01)


async def test_policy_is_asked_without_a_call(served: Any) -> None:
    """The box says what would be decided, and by which rule."""
    async with served() as at:
        person = await at.operator()
        query = {"function": "weather.add_station", "principal": "ann", "arguments": '{"city": "Oslo"}'}
        decision = (await person.get("/console/policy.json", params=query)).json()["decision"]
        assert (decision["then"], decision["rule"]) == ("confirm", "[[policy.rules]] 1")
        rules = (await person.get("/console/policy.json")).json()["rules"]
        assert [(rule["rule"], rule["then"]) for rule in rules] == [
            ("[[policy.rules]] 1", "confirm"),
            ("[[policy.rules]] 2", "allow"),
        ]
        for arguments in ("[", "[1]", '{"nothing": 1}', "[" * 100_00):
            query["arguments"] = arguments
            assert (await person.get("/console/policy", params=query)).status_code == 200
        assert (await person.get("/console/functions/weather.add_station?principal=ann")).status_code == 200


async def test_the_audit_log_is_looked_through(served: Any) -> None:
    """By fields; and whether it is whole is told when somebody asks."""
    async with served() as at:
        assert (await at.gate.execute("result = await weather.get_forecast(city='Oslo')", principal="ann")).ok
        person = await at.operator()
        found = (await person.get("/console/audit.json?event=call_finished&verify=1")).json()
        assert [line["function"] for line in found["lines"]] == ["weather.get_forecast"]
        assert found["verdict"]["ok"]
        used = (await person.get("/console/use.json")).json()
        assert (used["of"], used["calls"]) == ("the audit log", 1)
