"""Who must not come in, and what must not work: over real HTTP."""

from __future__ import annotations

import re
import sys
from typing import Any

import httpx2
import pytest
from doorward_console.sessions import LINK_SECONDS, Sessions

pytestmark = pytest.mark.anyio

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'>"


async def test_a_link_works_once(served: Any) -> None:
    """Opening it uses nothing up; its form does. Guessed ones and used ones are refused."""
    async with served() as at:
        link = at.link()
        for _ in range(2):
            page = await at.person().get(f"/console/enter?link={link}")
            assert (page.status_code, "set-cookie" in page.headers) == (200, False)
        assert (await at.person().post("/console/enter", data={"link": "x" * len(link)})).status_code == 403
        entered = await at.person().post("/console/enter", data={"link": link})
        cookie = entered.headers["set-cookie"].lower()
        assert entered.status_code == 303
        assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/console"))
        assert (await at.person().post("/console/enter", data={"link": link})).status_code == 403


def test_a_link_and_a_session_end() -> None:
    """After their times, and when there are too many of one principal, the oldest."""
    from doorward import LOCAL, Principal

    now = [0.0]
    sessions = Sessions(100.0, lambda: now[0])
    link, other = sessions.new_link(), sessions.new(Principal("bob"))
    first = sessions.new(Principal(LOCAL))
    for _ in range(100):
        sessions.new(Principal(LOCAL))
    assert sessions.find(first) is None
    assert sessions.find(other) is not None
    now[0] = 101.0
    assert sessions.find(other) is None
    now[0] = LINK_SECONDS + 1
    assert not sessions.use_link(link)


@pytest.mark.parametrize("path", ["", "/approvals", "/runs/abc", "/set-up", "/approvals/1"])
async def test_nobody_else_comes_in(served: Any, path: str) -> None:
    """Without a session each page leads to the sign-in, its JSON is refused, and a form does nothing."""
    async with served() as at:
        person = at.person(Cookie="doorward_console=guessed")
        page = await person.get(f"/console{path}")
        assert page.status_code == 303
        assert page.headers["location"].startswith("/console/sign-in")
        assert (await person.get(f"/console{path or '/runs'}.json")).status_code == 401
        assert (await person.post(f"/console{path}", data={"answer": "yes"})).status_code == 401


async def test_a_token_is_that_of_the_endpoint(served: Any, tokens: str) -> None:
    """A wrong one is refused; a revoked one ends its sessions; JSON takes it in a header."""
    async with served(more=tokens) as at:
        person = await at.signed_in("ann")
        assert (await person.get("/console/runs")).status_code == 200
        for wrong in ("", "doorward_nobody", "x" * 10_000, "\udcff"):
            data = {"token": wrong.encode(errors="surrogatepass").decode(errors="replace")}
            assert (await at.person().post("/console/sign-in", data=data)).status_code == 403
        bearer = at.person(Authorization="Bearer doorward_ann")
        assert (await bearer.get("/console/runs.json")).status_code == 200
        assert (await at.person(Authorization="Bearer other").get("/console/runs.json")).status_code == 401
        file = at.gate.loaded.path
        file.write_text(file.read_text().replace(tokens, ""))
        assert (await person.get("/console/runs")).status_code == 303


async def test_a_session_is_not_fixed(served: Any) -> None:
    """Signing in makes a new id whatever cookie came, and ends the session that there was; signing out ends it."""
    async with served() as at:
        person = at.person(Cookie="doorward_console=chosen-by-a-stranger")
        entered = await person.post("/console/enter", data={"link": at.link()})
        assert "chosen" not in entered.headers["set-cookie"]
        assert (await at.person(Cookie="doorward_console=chosen-by-a-stranger").get("/console/runs")).status_code == 303
    async with served() as at:
        person = await at.operator()
        page = await person.get("/console/runs")
        cookie = person.cookies["doorward_console"]
        assert (await person.post("/console/sign-out", data={"forgery": at.forgery(page)})).status_code == 303
        assert (await at.person(Cookie=f"doorward_console={cookie}").get("/console/runs")).status_code == 303


async def test_forged_forms_do_nothing(served: Any, tokens: str) -> None:
    """Without the token of the session's own forms, from another origin, or from another site."""
    async with served(more=tokens, console='link = true\noperators = ["bob"]') as at:
        await at.asked()
        person, other = await at.operator(), await at.signed_in("bob")
        [row] = (await person.get("/console/approvals.json")).json()["waiting"]
        path = f"/console/approvals/{row['id']}"
        theirs = at.forgery(await other.get(path))
        mine = at.forgery(await person.get(path))
        for forged in ("", "guessed", theirs):
            answer = await person.post(path, data={"forgery": forged, "answer": "yes"})
            assert answer.status_code == 403
        data = {"forgery": mine, "answer": "yes"}
        foreign = [
            {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
            {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Host": "evil.example"},
        ]  # fmt: skip
        for headers in foreign:
            assert (await person.post(path, data=data, headers=headers)).status_code in (403, 421), headers
        assert (await person.get(path, params=data)).status_code == 200
        assert (await person.put(path, data=data)).status_code == 405
        large = await person.post(path, data={**data, "reason": "x" * 100_000})
        assert large.status_code == 413
        assert (await person.get("/console/approvals.json")).json()["waiting"] != []


@pytest.mark.parametrize(
    "onward",
    ["//evil.example", "https://evil.example", "/\\evil.example", "/console/../evil", "/console//evil.example",
     "/consolex", "javascript:alert(1)", "/console/%0d%0aSet-Cookie:x", "/console/a\r\nX: y", "\t//evil.example"],
)  # fmt: skip
async def test_no_page_leads_elsewhere(served: Any, onward: str) -> None:
    """A sign-in goes on to a page of ours, or to the first one."""
    async with served() as at:
        shown = await at.person().get("/console/enter", params={"link": "x", "next": onward})
        assert 'name="next" value="/console"' in shown.text
        entered = await at.person().post("/console/enter", data={"link": at.link(), "next": onward})
        assert entered.headers["location"] == "/console"
    async with served() as at:
        wanted = await at.person().get("/console/approvals/abc")
        assert wanted.headers["location"] == "/console/sign-in?next=/console/approvals/abc"


async def test_a_principal_sees_what_is_theirs(served: Any, tokens: str) -> None:
    """Others' requests, runs and lines are not there, for those who know their ids, too; nor are operators' pages."""
    async with served(more=tokens) as at:
        outcome = await at.asked("ann", description="a secret plan")
        assert (await at.gate.execute("result = await weather.get_forecast(city='Oslo')", principal="ann")).ok
        bob, operator = await at.signed_in("bob"), await at.operator()
        [row] = (await operator.get("/console/approvals.json")).json()["waiting"]
        assert (await bob.get("/console/approvals.json")).json()["waiting"] == []
        assert (await bob.get("/console/runs.json")).json()["runs"] == []
        lines = (await bob.get("/console/audit.json?principal=ann&verify=1")).json()
        assert (lines["lines"], lines["verdict"]) == ([], None)
        assert (await bob.get("/console/use.json")).json()["calls"] == 0
        for path in (f"approvals/{row['id']}", f"runs/{outcome.waiting.run}", "set-up"):
            found = await bob.get(f"/console/{path}")
            assert found.status_code == 404
            assert "secret plan" not in found.text
        forged = at.forgery(await bob.get("/console/runs"))
        for path, data in (
            (f"approvals/{row['id']}", {"answer": "yes"}),
            (f"runs/{outcome.waiting.run}", {"do": "cancel"}),
        ):
            assert (await bob.post(f"/console/{path}", data={"forgery": forged, **data})).status_code == 404
        assert (await operator.get(f"/console/approvals/{row['id']}.json")).json()["request"]["state"] == "open"
        asked = (await bob.get("/console/policy.json?function=weather.get_forecast&principal=ann")).json()
        assert asked["principal"] == "bob"


@pytest.mark.parametrize(
    ("console", "status"), [("", 400), ("self_approval = true", 303), ('operators = ["an*"]', 303)]
)
async def test_an_agent_does_not_answer_its_own_request(served: Any, tokens: str, console: str, status: int) -> None:
    """Its principal's token shows the request, but gives no answer, unless the configuration says so; an operator's
    does."""
    async with served(console, more=tokens) as at:
        await at.asked("ann")
        ann = await at.signed_in("ann")
        [row] = (await ann.get("/console/approvals.json")).json()["waiting"]
        page = await ann.get(f"/console/approvals/{row['id']}")
        assert ('value="yes"' in page.text) == (status == 303)
        data = {"forgery": at.forgery(page), "answer": "yes"}
        assert (await ann.post(f"/console/approvals/{row['id']}", data=data)).status_code == status
        bearer = at.person(Authorization="Bearer doorward_ann")
        assert (await bearer.post(f"/console/approvals/{row['id']}", data={"answer": "yes"})).status_code == 400


async def test_what_others_wrote_is_text(served: Any, tokens: str) -> None:
    """Programs, descriptions, arguments, values, errors, names of principals, and what is searched for."""
    evil = "<b onclick=x>eve"
    async with served(more=tokens) as at:
        code = f"result = await weather.add_station(city={SCRIPT!r})"
        outcome = await at.asked(evil, code, SCRIPT)
        said = f"print({SCRIPT!r})\nresult = {SCRIPT!r}"
        assert (await at.gate.execute(said, description=f"{SCRIPT}\u202e", principal=evil)).ok
        assert not (await at.gate.execute(f"raise ValueError({SCRIPT!r})", principal=evil)).ok
        person, eve = await at.operator(), await at.signed_in(evil)
        [row] = (await person.get("/console/approvals.json")).json()["waiting"]
        runs = (await person.get("/console/runs.json")).json()["runs"]
        paths = [
            "",
            f"approvals/{row['id']}",
            "runs",
            *(f"runs/{run['run']}" for run in runs),
            "audit",
            "use",
            "servers",
        ]
        paths += [f"runs/{outcome.waiting.run}"]
        queries = (
            "q",
            "server",
            "principal",
            "text",
            "state",
            "function",
            "arguments",
            "run",
            "event",
            "said",
            "cursor",
            "page",
        )
        asked = dict.fromkeys(queries, SCRIPT)
        for who in (person, eve):
            for path in paths:
                harmless(await who.get(f"/console/{path}".rstrip("/")))
            for path in ("runs", "functions", "policy", "audit", "approvals", "functions/x", "nothing", "sign-in"):
                harmless(await who.get(f"/console/{path}", params=asked))
                harmless(await who.get(f"/console/{path}/{httpx2.QueryParams({'a': SCRIPT})}"))
        assert "\u202e" not in (await person.get("/console/runs")).text


def harmless(page: httpx2.Response) -> None:
    """Nothing of it is a tag, an attribute or a link of others."""
    text = page.text
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "<b onclick" not in text
    tags = re.findall(r"<[a-z][^>]*>", text)
    assert not [tag for tag in tags if re.search(r"\son[a-z]+\s*=", re.sub(r'"[^"]*"', '""', tag))]
    assert not [
        link
        for link in re.findall(r'(?:href|src|action)="([^"]*)"', text)
        if not link.startswith(("/console", "#main"))
    ]


async def test_files_are_ours(served: Any) -> None:
    """Only those that pages load; they are few bytes."""
    async with served() as at:
        person = at.person()
        size = 0
        for name in ("console.css", "htmx.min.js", "icon.svg"):
            found = await person.get(f"/console/static/{name}")
            assert found.status_code == 200
            size += len(found.content)
        assert size < 60_000
        for name in ("../pages.py", "..%2fpages.py", "%2e%2e/pages.py", "htmx.LICENSE", "", "..\\pages.py"):
            assert (await person.get(f"/console/static/{name}")).status_code in (303, 404)


async def test_off_is_off(doorward_host: Any) -> None:
    """Where nothing names it, there is no plugin and no page, though it is installed."""
    from doorward_testing.samples import CONFIG

    doorward_host.install_real("console", "text")
    async with doorward_host.gateway(CONFIG) as gate:
        assert not gate.plugins.manager.has_plugin("console")
        assert gate.plugins.each("http_pages", list) == []


async def test_a_plugin_adds_a_page(served: Any, doorward_host: Any) -> None:
    """By the hook; it comes in its place, with what it needs or not at all, and takes none of ours."""
    from doorward import hookimpl
    from doorward_console import Found, Panel, Question

    async def view(question: Question) -> Found:
        return Found({"error": SCRIPT, "hint": str(question.visitor.whose)})

    class Costs:
        def __init__(self, context: Any) -> None:
            pass

        @hookimpl(optionalhook=True)
        def console_panels(self) -> list[Panel]:
            panel = Panel("costs", "Costs", view, "error.html", "doorward_console", 15)
            absent = Panel("absent", "Absent", view, "error.html", "doorward_console", needs="doorward_absent:IT")
            return [panel, absent, Panel("runs", "Mine", view, "error.html", "doorward_console")]

    doorward_host.install("plugin", "costs", Costs)
    async with served(plugins=["costs"]) as at:
        person = await at.operator()
        page = await person.get("/console/costs")
        assert page.status_code == 200
        harmless(page)
        titles = re.findall(r'<a href="/console/[a-z-]+"[^>]*>([^<]+)</a>', page.text)
        assert titles[:3] == ["Inbox", "Costs", "Runs"]
        assert (await person.get("/console/costs.json")).json()["hint"] == "None"
        absent = await person.get("/console/absent")
        assert (absent.status_code, "pip install doorward-absent" in absent.text) == (404, True)


@pytest.mark.slow
def test_the_console_is_imported_late() -> None:
    """Naming it imports no web framework and no templates before HTTP is served."""
    import subprocess

    code = "import sys, doorward_console; print([m for m in ('starlette', 'jinja2', 'markupsafe') if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
