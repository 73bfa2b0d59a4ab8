"""Several accounts of one server, at an API that knows each by its token and answers with a canary of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from .conftest import LIMITS
from .forked import Forked
from .product import Agent, Answering, Project, needs_proc, web
from .test_http_auth import connected, token

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_proc]

TOKENS = {f"token-of-{name}-0123456789abcdef": name for name in ("home", "work", "lab")}
CONFIG = """
[servers.hub]
source = "openapi"
spec = "hub.json"
expose = ["repos"]
undo.make = { call = "drop", arguments = { owner = "args.owner", id = "answer.id" } }
accounts.home = { auth = { type = "jwt", token = "${HOME_TOKEN}" }, default = true }
accounts.work = { auth = { type = "jwt", token = "${WORK_TOKEN}" }, when = { owner = "acme-*" } }
accounts.lab = { auth = { type = "jwt", token = "${LAB_TOKEN}" }, principals = ["bob"], when = { owner = ["*-lab"] } }
[[budgets]]
server = "hub@work"
calls = 40
per = "day"
[policy]
classes.write = ["hub.make"]
[[policy.rules]]
match = "hub.drop"
when = "args._account == 'home'"
then = "deny"
"""


class Hub(Answering):
    """Strict: a request without a known token, or with the cookie of another account, is refused."""

    seen: list[tuple[str, str, str]]

    def do_GET(self) -> None:
        name = TOKENS.get(self.headers.get("Authorization", "").removeprefix("Bearer "))
        cookie = self.headers.get("Cookie", "")
        url = urlsplit(self.path)
        owner = url.path.rpartition("/")[2]
        self.seen.append((self.command, owner, name or "nobody"))
        if name is None or (cookie and f"sid={name}" not in cookie) or "_account" in self.path:
            self.answer({"message": f"{cookie} is not of {name}"}, 401)
            return
        page = int(parse_qs(url.query).get("page", ["1"])[0])
        next_page = f'<http://{self.headers["Host"]}{url.path}?page={page + 1}>; rel="next"' if page < 3 else ""
        answer: Any = [{"canary": f"canary-{name}", "page": page}] if page < 4 else []
        answer = {"id": 7, "canary": f"canary-{name}"} if self.command != "GET" else answer
        self.answer(answer, headers={"Set-Cookie": f"sid={name}", **({"Link": next_page} if next_page else {})})

    do_POST = do_DELETE = do_GET


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Project]:
    Hub.seen = []
    owner = {"name": "owner", "in": "path", "required": True, "schema": {"type": "string"}}
    page = {"name": "page", "in": "query", "schema": {"type": "integer"}}
    number = {"name": "id", "in": "query", "schema": {"type": "integer"}}
    ok = {"200": {"description": "OK"}}
    with web(Hub) as url:
        paths = {"/repos/{owner}": {
            "get": {"operationId": "repos", "parameters": [owner, page], "responses": ok},
            "post": {"operationId": "make", "parameters": [owner], "responses": ok},
            "delete": {"operationId": "drop", "parameters": [owner, number], "responses": ok},
        }}  # fmt: skip
        document = {
            "openapi": "3.1.0",
            "info": {"title": "Hub", "version": "1"},
            "servers": [{"url": url}],
            "paths": paths,
        }
        env = {f"{name.upper()}_TOKEN": value for value, name in TOKENS.items()}
        project = Forked(tmp_path, LIMITS + CONFIG, env)
        project.change('spec = "hub.json"', f'spec = "hub.json"\nbase_url = "{url}"')
        (project.folder / "hub.json").write_text(json.dumps(document))
        yield project


def canary(answer: Any) -> str:
    return str(answer.get("value") or answer.get("error"))


async def test_the_account_of_a_call_is_chosen_by_rule_and_never_guessed(hub: Project) -> None:
    """By an argument, by who asks, by the call itself, else the default; two that fit are an error that names both.
    One account's answers, cookies and pages are never another's, and no token reaches a program."""
    bob, carol = token(hub, "bob")["token"], token(hub, "carol")["token"]
    with hub.http() as (url, _):
        async with connected(url, bob, "auto") as bobs, connected(url, carol, "auto") as carols:

            async def of(agent: Agent, owner: str, more: str = "") -> str:
                return canary(await agent.run(f"import hub\nresult = hub.repos(owner={owner!r}{more})[0]['canary']"))

            for _ in range(2):  # cookies of the first round come with the second
                assert await of(bobs, "me") == "canary-home"
                assert await of(bobs, "acme-x") == "canary-work"
                assert await of(bobs, "the-lab") == "canary-lab"
                assert await of(carols, "the-lab") == "canary-home"
                assert await of(bobs, "me", ", _account='work'") == "canary-work"
            both = await of(bobs, "acme-lab")
            assert "the accounts 'work' and 'lab' of hub fit this call" in both
            assert await of(bobs, "acme-lab", ", _account='lab'") == "canary-lab"
            for name in ("lab", "nowhere"):
                assert f"hub has no account '{name}' for you" in await of(carols, "me", f", _account='{name}'")
            pages = await carols.run(
                "import doorward\nresult = doorward.items('hub.repos', {'owner': 'me', '_account': 'work'})"
            )
            assert pages["ok"]
            assert [each["canary"] for each in pages["value"]] == ["canary-work"] * 3
            await bobs.call("get_functions", functions=["hub.repos"])
            card = bobs.text
            assert "_account= chooses the account: 'home', 'work', 'lab'; 'home' where nothing says which." in card
            tools = {each.name: each.input_schema for each in (await carols.client.list_tools()).tools}
            assert tools["hub_repos"]["properties"]["_account"]["enum"] == ["home", "work"]
            assert "canary-work" in str(await carols.call("hub_repos", owner="me", _account="work"))
            assert "'lab'" not in str(await carols.call("get_functions", functions=["hub.repos"]))
            denied = await carols.run("import hub\nresult = hub.drop(owner='me', id=1)")
            assert "policy.rules" in canary(denied)
            assert (await carols.run("import hub\nresult = hub.drop(owner='acme-x', id=1)"))["ok"]
            received = "".join([*bobs.received, *carols.received])
    assert {(owner, who) for _, owner, who in Hub.seen} == {
        ("me", "home"), ("acme-x", "work"), ("the-lab", "lab"), ("the-lab", "home"), ("me", "work"), ("acme-lab", "lab"),
    }  # fmt: skip
    assert not [secret for secret in TOKENS if secret in received]
    lines = [line for line in hub.audit() if line.get("function") == "hub.drop" and line.get("ok")]
    assert "work" in json.dumps(lines)


async def test_a_block_of_a_program_uses_an_account(hub: Project) -> None:
    """`with doorward.account(…)` in a sandbox of CPython, and so in tasks that begin in it, and by helpers."""
    if sys.platform != "linux":
        pytest.skip("nsjail needs Linux")
    hub.change('executor = "monty"', 'executor = "nsjail"')
    async with hub.stdio() as agent:
        value = await agent.value("""
import asyncio, doorward, hub
def of(answer): return answer[0]["canary"][7:]
seen = []
async def asked(): seen.append(of(await hub.repos(owner="me")))
with doorward.account(hub="work"):
    seen.append(of(hub.repos(owner="me")))
    await asyncio.gather(asked(), asked())
    seen.append(len({each["canary"] for each in doorward.items(hub.repos, {"owner": "me"})}))
    with doorward.account(hub="home"):
        seen.append(of(hub.repos(owner="acme-x")))
    seen.append(of(doorward.call("hub.repos", {"owner": "me"})))
seen.append(of(hub.repos(owner="me")))
seen
""")
        assert value == ["work", "work", "work", 1, "home", "work", "home"]


async def test_what_an_account_did_is_committed_and_undone_by_it(hub: Project) -> None:
    """A plan shows the account, and its commit uses it, as does what undoes it; the budget of one account is its own."""
    hub.change("calls = 40", "calls = 9")
    hub.change(last='[runs]\ndurable = "always"\n')
    async with hub.stdio() as agent:
        planned = await agent.run("import hub\nhub.make(owner='me', _account='work')", mode="plan")
        assert "id" in planned["plan"], planned
        assert "_account" in json.dumps(planned)
        assert not Hub.seen
        committed = await agent.call("commit_plan", plan=planned["plan"]["id"])
        assert committed["ok"], committed
        assert Hub.seen == [("POST", "me", "work")]
        runs = [each["run"] for each in json.loads(hub.run("runs", "list", "--json").stdout)["runs"]]
        undone = [hub.run("runs", "undo", run, "--yes") for run in runs]
        assert Hub.seen[1:] == [("DELETE", "me", "work")], undone
        code = "import hub\nresult = [hub.repos(owner='me', _account=NAME) and 1 for _ in range(9)]"
        assert (await agent.run(code.replace("NAME", "'home'")))["ok"]
        assert "9 calls" in canary(await agent.run(code.replace("NAME", "'work'")))
