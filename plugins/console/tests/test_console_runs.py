"""What a page does with runs: replay, saving, files, and lists of many."""

from __future__ import annotations

import time
from typing import Any

import pytest
from doorward_console.panels import runs
from doorward_console.panels.run import bars
from doorward_console.recent import RecentCall, RecentRun
from doorward_durable_runs import STORED_RUNS, Given

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STORED = '[runs]\ndurable = "always"\n'
FORECAST = "city = 'Oslo'\nresult = await weather.get_forecast(city=city)"


async def run_of(person: Any, text: str) -> str:
    [row] = (await person.get("/console/runs.json", params={"text": text})).json()["runs"]
    return str(row["run"])


async def test_a_run_is_replayed(served: Any, tokens: str) -> None:
    """On its recorded answers, by whoever sees it: nothing is sent. Its page has its end after a restart, too."""
    async with served(more=STORED + tokens) as at:
        assert (await at.gate.execute(FORECAST, description="Oslo today", principal="ann")).ok
        operator, ann, bob = await at.operator(), await at.signed_in("ann"), await at.signed_in("bob")
        run = await run_of(operator, "Oslo today")
        calls = (await operator.get("/console/use.json")).json()["calls"]
        for person in (operator, ann):
            data = {"forgery": at.forgery(await person.get(f"/console/runs/{run}")), "do": "replay"}
            played = await person.post(f"/console/runs/{run}", data=data)
            assert played.status_code == 200
            assert "It ended as it did then." in played.text
            assert "20.5" in played.text
        assert (await operator.get("/console/use.json")).json()["calls"] == calls
        waits = (await at.asked("ann", description="Waits for a yes")).waiting.run
        refused = await ann.post(f"/console/runs/{waits}", data=data)
        assert (refused.status_code, "cannot be played again" in refused.text) == (400, True)
        data["forgery"] = at.forgery(await bob.get("/console/runs"))
        assert (await bob.post(f"/console/runs/{run}", data=data)).status_code == 404
        remembered = at.gate.plugins.manager.get_plugin("console")._recent
        remembered._runs.clear()
        later = (await ann.get(f"/console/runs/{run}.json")).json()
        assert "20.5" in later["value"]
        assert (await bob.get(f"/console/runs/{run}.json")).status_code == 404


async def test_replays_take_turns_of_the_rate(served: Any, tokens: str) -> None:
    """Whoever has started as many runs as they may in a minute plays none again."""
    async with served(more=f"{STORED}{tokens}[limits]\nrate = 2\n") as at:
        assert (await at.gate.execute(FORECAST, description="Oslo today", principal="ann")).ok
        ann = await at.signed_in("ann")
        run = await run_of(ann, "Oslo today")
        data = {"forgery": at.forgery(await ann.get(f"/console/runs/{run}")), "do": "replay"}
        said = [await ann.post(f"/console/runs/{run}", data=data) for _ in range(2)]
        assert [each.status_code for each in said] == [200, 400]
        assert "2 runs a minute are allowed" in said[1].text


async def test_a_person_sees_what_they_did_by_an_endpoint(served: Any, tokens: str) -> None:
    """In lists, on pages and in the audit log, also after a restart; nobody else does."""
    endpoint = "[endpoints.desk]\nservers = ['*']\n"
    async with served(more=STORED + endpoint + tokens) as at:
        await at.gate.execute(FORECAST, description="At the desk", principal="ann via desk")
        await at.gate.execute(FORECAST, description="Elsewhere", principal="ann")
    async with served(more=STORED + endpoint + tokens) as at:
        ann, bob = await at.signed_in("ann"), await at.signed_in("bob")
        rows = (await ann.get("/console/runs.json")).json()["runs"]
        assert [(row["description"], row["principal"]) for row in rows] == [
            ("Elsewhere", "ann"),
            ("At the desk", "ann via desk"),
        ]
        path = f"/console/runs/{rows[1]['run']}"
        page = await ann.get(path)
        played = await ann.post(path, data={"forgery": at.forgery(page), "do": "replay"})
        assert "It ended as it did then." in played.text
        assert (await ann.get("/console/use.json")).json()["calls"] == 2
        assert (await bob.get("/console/runs.json")).json()["runs"] == []
        assert (await bob.get(path)).status_code == 404


async def test_a_program_is_saved_as_a_script(served: Any, doorward_host: Any, tokens: str) -> None:
    """By an operator, who has seen the script and the calls of its test; no name leads out of the folder, and nobody
    else saves."""
    doorward_host.install_real("doorward-cache-sqlite")
    more = STORED + tokens
    async with served(more=more, plugins=["kept_programs"], cache="sqlite") as at:
        assert (await at.gate.execute(FORECAST, description="Oslo today", principal="ann")).ok
        person, ann = await at.operator(), await at.signed_in("ann")
        run = await run_of(person, "Oslo today")
        asked = {"name": "oslo_today", "description": "</textarea><script>x"}
        shown = await person.get(f"/console/runs/{run}/save", params=asked)
        assert "weather.get_forecast(city=&#39;Oslo&#39;)" in shown.text
        assert "<script>x" not in shown.text
        assert not (at.gate.loaded.folder / "programs").exists()
        data = {**asked, "do": "save", "forgery": at.forgery(shown)}
        theirs = {**data, "forgery": at.forgery(await ann.get("/console/runs"))}
        assert (await ann.post(f"/console/runs/{run}", data=theirs)).status_code == 400
        for name in ("../x", "a/b", "", "X", "a" * 65, "nul\0"):
            assert (await person.post(f"/console/runs/{run}", data={**data, "name": name})).status_code == 400
        saved = await person.post(f"/console/runs/{run}", data=data)
        assert saved.headers["location"] == f"/console/runs/{run}?said=saved"
        assert [file.name for file in (at.gate.loaded.folder / "programs").glob("*.py")] == ["oslo_today.py"]
        assert (await person.post(f"/console/runs/{run}", data=data)).status_code == 400


async def test_files_are_shown_to_whom_the_run_is(served: Any, tokens: str) -> None:
    """An image of pixels as one; anything else is stored by the browser, never shown."""
    async with served(more=tokens) as at:
        for kind, name in (("image/png", "plot.png"), ("image/svg+xml", "<svg>.svg"), ("text/html", "a\r\nX: y.html")):
            code = f"result = await weather.raw(type={kind!r}, name={name!r})"
            assert (await at.gate.execute(code, description=kind, principal="ann")).ok
        ann, bob = await at.signed_in("ann"), await at.signed_in("bob")
        run = await run_of(ann, "image/png")
        page = await ann.get(f"/console/runs/{run}")
        assert f'<img src="/console/runs/{run}/files/0"' in page.text
        image = await ann.get(f"/console/runs/{run}/files/0")
        assert (image.status_code, image.headers["content-type"]) == (200, "image/png")
        assert image.headers["x-content-type-options"] == "nosniff"
        for path in (f"{run}/files/1", f"{run}/files/-1", f"{run}/files/x", f"{run}/files", f"{run}/other"):
            assert (await ann.get(f"/console/runs/{path}")).status_code == 404
        assert (await bob.get(f"/console/runs/{run}/files/0")).status_code == 404
        for kind in ("image/svg", "text/html"):
            file = await ann.get(f"/console/runs/{await run_of(ann, kind)}/files/0")
            assert file.headers["content-type"] == "application/octet-stream"
            assert file.headers["content-disposition"].startswith("attachment")
            assert "x: y" not in str(file.headers).lower()


def test_a_timeline_says_what_calls_waited_for() -> None:
    """In parts that follow each other, and in words; a call that nobody has said yes to has waited all the time."""
    calls = [
        RecentCall("a.b", 100.0, 400.0, ok=True, paced_ms=100.0, retry_ms=200.0, retries=2),
        RecentCall("a.c", 500.0, 500.0, ok=False, decision="confirm"),
    ]
    paced, asked = bars(RecentRun("r", "ann", "", "", "python", 0.0, ms=1000.0, calls=calls))
    assert [(part["kind"], part["x"], part["width"]) for part in paced["parts"]] == [
        ("paced", 100.0, 100.0),
        ("retried", 200.0, 200.0),
        ("ok", 400.0, 100.0),
    ]
    assert paced["words"] == ["paced 100 ms", "before repeating 200 ms"]
    assert [part["kind"] for part in asked["parts"]] == ["asked"]


async def test_use_is_plotted_with_what_it_cost(served: Any, tokens: str) -> None:
    """By day, server and principal, for whom it is; beside what agents read the list of all functions is estimated."""
    async with served(more=f"{tokens}[[budgets]]\ncost = 100\n", price="price = 0.5") as at:
        for who in ("ann", "ann", "bob"):
            assert (await at.gate.execute(FORECAST, principal=who)).ok
        person, ann = await at.operator(), await at.signed_in("ann")
        used = (await person.get("/console/use.json")).json()
        assert [(each["count"], each["cost"], each["heights"]["cost"]) for each in used["days"]] == [(3, 1.5, 100.0)]
        assert [(row["name"], row["count"], row["cost"]) for row in used["servers"]] == [("weather", 3, 1.5)]
        assert [(row["name"], row["cost"]) for row in used["principals"]] == [("ann", 1.0), ("bob", 0.5)]
        assert [row["count"] > 0 for row in used["tokens"]] == [True] * 3
        page = (await person.get("/console/use")).text
        assert 'class="columns"' in page
        assert "cost 1.5" in page
        assert [row["name"] for row in (await ann.get("/console/use.json")).json()["principals"]] == ["ann"]


async def test_a_list_reads_no_more_than_it_shows(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many stored runs one page; each is on one page, whether this process remembers it or not."""
    async with served(more=STORED + "most = 1000\n") as at:
        store = at.gate.services[STORED_RUNS].journals.store
        now = time.time()
        wanted = []
        for number in range(230):
            run = f"{number:016x}"
            given = Given(run, "ann", "1", description=f"run {number}", created=now - number - 1, expires=now + 600)
            held = await store.create(given, [(b"O", {"ok": number % 3 == 0})])
            await held.close()
            wanted.append(run)
        assert (await at.gate.execute("result = 1", principal="ann", description="just now")).ok
        person = await at.operator()
        read = 0
        get = at.gate.store.get

        async def counting(table: str, key: str) -> Any:
            nonlocal read
            read += table == "runs"
            return await get(table, key)

        monkeypatch.setattr(at.gate.store, "get", counting)
        found: list[str] = []
        path = "/console/runs.json"
        while path:
            read = 0
            page = (await person.get(path)).json()
            assert read <= 51, path
            found += [row["run"] for row in page["runs"]]
            path = page["older"] and f"/console/runs.json?before={page['older']}"
        assert found[1:] == wanted
        failed = (await person.get("/console/runs.json?state=failed&principal=ann")).json()
        assert {row["state"] for row in failed["runs"]} == {"failed"}
        assert len(failed["runs"]) == 50
        monkeypatch.setattr(runs, "LOOK_SECONDS", 0.0)
        texts, path = [], "/console/runs.json?text=run 229"
        while path:
            page = (await person.get(path)).json()
            texts += [row["description"] for row in page["runs"]]
            assert page["looked_at"] <= 51
            path = page["older"] and f"/console/runs.json?text=run 229&before={page['older']}"
        assert texts == ["run 229"]
        assert "51 stored runs were looked at" in (await person.get("/console/runs?text=run 229")).text
        for odd in ("x", "-", "1e400-x", "nan-a", "9" * 50, "1-'"):
            assert (await person.get("/console/runs", params={"before": odd})).status_code == 200


async def test_a_run_has_its_cost_and_its_timeline_after_a_restart(served: Any, tokens: str) -> None:
    """With the budgets of its principal that it counted in; the timeline is that of its journal."""
    code = (
        "for city in ('Oslo', 'Rome', 'Bern'):\n    await weather.get_forecast(city=city)\n"
        "try:\n    await weather.fail()\nexcept Exception:\n    pass"
    )
    budgets = "[[budgets]]\ncost = 100\n[[budgets]]\nserver = 'other'\ncalls = 9\n[[budgets]]\nruns = 7\nper = 'hour'\n"
    more = STORED + tokens + budgets
    async with served(more=more, price="price = 0.5") as at:
        assert (await at.gate.execute(code, description="Costs", principal="ann")).ok
        assert (await at.gate.execute(FORECAST, principal="bob")).ok
        ann = await at.signed_in("ann")
        run = await run_of(ann, "Costs")
        live = (await ann.get(f"/console/runs/{run}.json")).json()
        assert live["used"] == [{"server": "weather", "calls": 4, "cost": 2.0, "used": {}}]
        assert {(each["principal"], each["unit"]) for each in live["budgets"]} == {("ann", "cost"), ("ann", "runs")}
        assert "Cost and budgets" in (await ann.get(f"/console/runs/{run}")).text
        assert not live["is_rebuilt"]
    async with served(more=more, price="price = 0.5") as at:
        ann, bob = await at.signed_in("ann"), await at.signed_in("bob")
        later = (await ann.get(f"/console/runs/{run}.json")).json()
        assert later["is_rebuilt"]
        assert later["used"] == live["used"]
        calls = [[(each["function"], each["ok"], each["error"]) for each in found["bars"]] for found in (live, later)]
        assert calls[0] == calls[1]
        assert later["bars"][0]["at"] == 0.0
        assert later["bars"][1]["at"] == later["bars"][0]["ms"]
        assert "From the journal of the run" in (await ann.get(f"/console/runs/{run}")).text
        assert (await bob.get(f"/console/runs/{run}.json")).status_code == 404
