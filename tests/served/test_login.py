"""Servers that want a login, from the command line to the call: an API and an MCP server, each with a provider that is
no mock."""

from __future__ import annotations

import json
import re
import shlex
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as t
import pytest
from doorward import Gateway

from .forked import Forked
from .product import Agent, Project, module, until
from .protected import Keeper, protected
from .test_canary import leaks

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

BROWSER = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as answer:  # it follows redirects, as browsers do
    answer.read()
"""
LIMITS = "[limits]\nrate = 100000\n"


@pytest.fixture
def provider() -> Iterator[Any]:
    yield from module("plugins/auth_oauth2/tests/provider.py").running()


@pytest.fixture
def keeper() -> Iterator[tuple[Keeper, str]]:
    with protected() as both:
        yield both


def project(folder: Path, servers: str, head: str = "", **env: str) -> Project:
    """A project in which a browser is a program that visits the page."""
    browser = folder / "browser.py"
    browser.write_text(BROWSER)
    none = "keyring.backends.fail.Keyring"  # no test writes to the keyring of whoever runs it
    return Forked(
        folder,
        head + LIMITS + servers,
        {"BROWSER": f"{sys.executable} {browser} %s", "PYTHON_KEYRING_BACKEND": none, **env},
    )


def api(provider: Any) -> str:
    url = provider.url
    spec = url.replace("/api", "/openapi.json")
    return f'[servers.mine]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{url}"\nauth = {{ type = "oauth2" }}\n'


def mcp(url: str) -> str:
    return f'[servers.tools]\nsource = "mcp"\nurl = "{url}"\nauth = {{ type = "oauth2" }}\n'


def test_log_in_to_an_api(tmp_path: Path, provider: Any) -> None:
    """Before the login a call says what to do; after it, it works; after `--remove` it does not. CONTRACT: AUT-01."""
    place = project(tmp_path, api(provider))
    ran = place.run("call", "mine.me")
    assert ran.returncode == 1
    assert "nobody is logged in to mine" in ran.stderr
    assert "Log in: doorward login mine" in ran.stderr
    ran = place.run("login", "mine")
    assert ran.returncode == 0, ran
    assert "Log in at 127.0.0.1 for mine (127.0.0.1), which is asked for: read offline_access." in ran.stderr
    assert ran.stdout.startswith("mine: logged in; the tokens are kept in ")
    assert json.loads(place.run("call", "mine.me", "--json").stdout)["user"] == "alice"
    ran = place.run("call", "mine.admin")
    assert "mine wants the scope 'write', which its token does not have" in ran.stderr
    assert place.run("login", "mine").returncode == 0
    assert place.run("call", "mine.admin").returncode == 0
    assert "server mine: logged in" in place.run("doctor").stdout
    assert "revoked by the provider" in place.run("login", "mine", "--remove").stdout
    assert "nobody is logged in to mine" in place.run("call", "mine.me").stderr
    provider.deny = True
    ran = place.run("login", "mine", "--json")
    assert ran.returncode == 1
    assert 'the login was refused: "access_denied' in json.loads(ran.stdout)["error"]["message"]
    assert (
        leaks(provider.secrets(), {"state": b"".join(f.read_bytes() for f in place.state.rglob("*") if f.is_file())})
        == []
    )


def test_log_in_on_a_page(tmp_path: Path, provider: Any) -> None:
    """An operator begins the login in the console, and visits the provider, or pastes where a browser on another machine
    ended: then agents can call. An address of another login is refused, and nothing that is shown or logged is a token."""
    place = project(tmp_path, api(provider))
    provider.expires_in = 3600
    with place.http("--console") as (url, _):
        until(lambda: "works once" in place.said())
        root = url.removesuffix("/mcp")
        link = re.search(r"works once: (\S+)link=(\S+)", place.said())
        assert link is not None
        with httpx2.Client(base_url=root, headers={"Origin": root}, timeout=30) as person, httpx2.Client() as browser:
            assert person.post("/console/enter", data={"link": link[2]}).status_code == 303
            page = person.get("/console/servers")
            assert "mine: nobody is logged in" in page.text
            forgery = re.search(r'name="forgery" value="([^"]+)"', page.text)
            assert forgery is not None
            data = {"forgery": forgery[1], "do": "login"}

            def begin() -> str:
                answer = person.post("/console/servers/mine.json", data=data)
                assert answer.json()["told"] == [
                    "Log in at 127.0.0.1 for mine (127.0.0.1), which is asked for: read offline_access."
                ]
                return str(answer.json()["url"])

            def state() -> Any:
                return person.get("/console/servers.json").json()["servers"][0]["logins"][0]

            assert browser.get(begin(), follow_redirects=True).status_code == 200
            until(lambda: state()["state"] == "ok")
            assert json.loads(place.run("call", "mine.me", "--json").stdout)["user"] == "alice"
            for address, state_after in (
                ("http://127.0.0.1/callback?code=x&state=y", "that is not the address"),
                ("", ""),
            ):
                ended = browser.get(begin()).headers["location"]
                pasted = person.post("/console/servers/mine", data={**data, "do": "paste", "address": address or ended})
                assert pasted.status_code == 200
                until(lambda after=state_after: after in state()["failed"] and (after or not state()["failed"]))
            gone = person.post("/console/servers/mine", data={**data, "do": "paste", "address": "x"})
            assert gone.status_code == 404
            shown = person.get("/console/servers").text + person.get("/console/approvals").text
    assert leaks(provider.secrets(), {"shown": shown.encode(), "log": place.said().encode()}) == []


async def test_an_mcp_server(tmp_path: Path, keeper: tuple[Keeper, str]) -> None:
    """Log in while a gateway serves, expiry, an end of the login, and another login: all without a new start. CONTRACT:
    AUT-01, MCP-03."""
    kept, url = keeper
    place = project(tmp_path, mcp(url))
    ran = place.run("compile")
    assert "nobody is logged in to tools" in ran.stdout + ran.stderr
    assert "doorward login tools" in ran.stdout + ran.stderr
    ran = place.run("login", "tools")
    assert ran.returncode == 0
    assert "tools: 2 functions" in ran.stdout
    async with place.stdio() as agent:
        assert await agent.value("import tools\ntools.who()") == "a client with use"
        kept.expires_in = 6
        kept.end(refresh=False)
        assert await agent.value("import tools\ntools.who()") == "a client with use"
        assert kept.refreshed == 1
        await anyio.sleep(6)
        many = "import asyncio\nimport tools\nresult = await asyncio.gather(*(tools.who() for n in range(20)))"
        assert await agent.value(many) == ["a client with use"] * 20
        assert kept.refreshed == 2
        kept.expires_in = 3600
        kept.end(refresh=True)
        answer = await agent.run("import tools\ntools.who()")
        assert "the login to tools has ended" in answer["error"]["message"]
        assert "doorward login tools" in answer["error"]["hint"]
        assert (await anyio.to_thread.run_sync(place.run, "login", "tools")).returncode == 0
        assert await agent.value("import tools\ntools.who()") == "a client with use"


def test_a_server_that_says_401(tmp_path: Path, keeper: tuple[Keeper, str]) -> None:
    """Without auth in the configuration, the message says what to write there. CONTRACT: MCP-03."""
    place = project(tmp_path, f'[servers.tools]\nsource = "mcp"\nurl = "{keeper[1]}"\n')
    ran = place.run("compile")
    assert '{ type = "oauth2" }' in ran.stdout + ran.stderr
    assert "doorward login tools" in ran.stdout + ran.stderr
    ran = place.run("login", "tools")
    assert ran.returncode == 2
    assert "[servers.tools]: has no auth" in ran.stderr


FORMS = """\
import SERVER
def told(**given):
    try:
        return SERVER.echo(**given)
    except Exception as error:
        return str(error) + repr(error)
result = [told(form=form) for form in ["plain", "base64", "query"]] + [told(form="plain", FAIL)]
print(result)
"""


async def test_no_token_comes_out(tmp_path: Path, provider: Any, keeper: tuple[Keeper, str]) -> None:
    """Nor a code, a verifier or a client's secret: in no answer, no log at level debug, no file but the one that is for
    them, and not from servers that give them back in any form. CONTRACT: AUT-12."""
    kept, url = keeper
    place = project(tmp_path, api(provider) + mcp(url), 'log_level = "debug"\n', DOORWARD_DEBUG="1")
    printed = [place.run("login", server) for server in ("mine", "tools")]
    printed += [place.run("compile"), place.run("doctor"), place.run("call", "mine.echo", "form=plain")]
    assert [ran.returncode for ran in printed[:3]] == [0, 0, 0], printed
    wire = ["sh", "-c", f"{shlex.join(place.command('serve'))} | tee wire"]
    async with place.stdio(command=wire) as agent:
        for server, fail in (("mine", 'status="400"'), ("tools", "fail=True")):
            for _ in range(2):
                answer = await agent.run(FORMS.replace("SERVER", server).replace("FAIL", fail))
                assert "[secret]" in json.dumps(answer), answer
                kept.end(refresh=False)
                provider.revoke(refresh=False)
        provider.revoke(refresh=True)
        kept.end(refresh=True)
        for call in ("mine.me()", "tools.who()"):
            assert not (await agent.run(f"import mine, tools\n{call}"))["ok"]
    out = {f"printed {n}": f"{ran.stdout}{ran.stderr}".encode() for n, ran in enumerate(printed)}
    out |= written(place, agent)
    assert {"wire", "stderr", "state/catalog.db"} <= set(out)
    assert b"debug" in out["stderr"]
    known = {**provider.secrets(), **kept.secrets}
    assert len(known) > 12
    assert leaks(known, out) == []


def written(place: Project, agent: Agent) -> dict[str, bytes]:
    """All answers, and every file, but for those of the logins."""
    answers = {f"answer {n}": text.encode() for n, text in enumerate(agent.received)}
    files = [file for file in place.folder.rglob("*") if file.is_file() and file.parent != place.state / "credentials"]
    return answers | {str(file.relative_to(place.folder)): file.read_bytes() for file in files}


async def test_a_client_that_needs_nobody(tmp_path: Path, provider: Any) -> None:
    """Client credentials: a token for as long as it lives, whatever number of calls there are; then another. Compiling
    needs none, and no secret. CONTRACT: AUT-05, AUT-10, AUT-18."""
    client = provider.client()
    auth = f'type = "oauth2", flow = "client_credentials", client_id = "{client.client_id}", client_secret = "${{SECRET}}", scope = "read"'
    document = tmp_path / "openapi.json"
    server = api(provider).replace(provider.url.replace("/api", "/openapi.json"), str(document))
    server = server.replace('type = "oauth2"', f'{auth}, token_url = "{provider.issuer}/token"')
    place = project(tmp_path, server)
    with urllib.request.urlopen(provider.url.replace("/api", "/openapi.json")) as answer:
        document.write_bytes(answer.read())
    assert place.run("compile").returncode == 0
    ran = place.run("call", "mine.me")
    assert (ran.returncode, "${SECRET} has no value" in ran.stderr) == (2, True)
    assert provider.requests == []
    place.env["SECRET"] = client.client_secret
    provider.expires_in = 10
    many = "import asyncio\nimport mine\nresult = await asyncio.gather(*(mine.me() for n in range(50)))"
    async with place.stdio() as agent:
        assert await agent.value(many) == [{"user": "the client itself", "scope": "read"}] * 50
        assert len(provider.asked("/token")) == 1
        await anyio.sleep(5.1)  # half of its life
        assert await agent.value(many) == [{"user": "the client itself", "scope": "read"}] * 50
        assert until(lambda: len(provider.asked("/token")) == 2)
        provider.clients.clear()
        provider.revoke(refresh=True)
        answer = await agent.run("import mine\nmine.me()")
        assert '/token refused: "invalid_client' in answer["error"]["message"]
        assert client.client_secret not in json.dumps(answer)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_program_waits_for_a_login(tmp_path: Path, provider: Any, era: str) -> None:
    """The person at the client gets the page, and the program goes on with their login."""
    place = project(tmp_path, api(provider) + "[approvals]\nlogin = true\n")
    asked: list[Any] = []

    async def person(context: Any, params: Any) -> t.ElicitResult:
        asked.append(params)
        visit = await anyio.open_process([sys.executable, str(tmp_path / "browser.py"), params.url])
        visits.append(visit)
        return t.ElicitResult(action="accept")

    visits: list[Any] = []
    async with place.stdio(era, elicitation_callback=person) as agent:
        code = "import asyncio, mine\nfound = await asyncio.gather(mine.me(), mine.me())\nresult = [f['user'] for f in found]"
        assert await agent.value(code) == ["alice", "alice"]
        assert await agent.value("import mine\nmine.me()['user']") == "alice"
    for visit in visits:
        await visit.wait()
    (params,) = asked
    assert params.message.startswith("A program needs your login to mine.\nLog in at 127.0.0.1 for mine")


async def test_a_run_is_suspended_for_a_login(tmp_path: Path, provider: Any) -> None:
    """Nobody at the client can be asked: the agent is told which command a person runs. Who declines has said no."""
    place = project(tmp_path, api(provider) + "[approvals]\nlogin = true\n")

    async def person(context: Any, params: Any) -> t.ElicitResult:
        return t.ElicitResult(action="decline")

    async with place.stdio() as agent:
        answer = await agent.run("import mine\nmine.me()")
        assert answer["waiting"]["for"] == "login"
        assert answer["waiting"]["what"] == [
            "nobody is logged in to mine. A person logs in: doorward login mine",
        ]
    async with place.stdio(elicitation_callback=person) as agent:
        answer = await agent.run("import mine\nmine.me()")
        assert "the person at the client does not log in to mine" in answer["error"]["message"]
    place.change("login = true", "login = false")
    async with place.stdio(elicitation_callback=person) as agent:
        answer = await agent.run("import mine\nmine.me()")
        assert "nobody is logged in to mine" in answer["error"]["message"]


@pytest.mark.parametrize(("own", "whose"), [("", ""), ("per_principal = true\n", " --principal alice")])
async def test_a_run_that_waits_for_a_login_names_the_command_for_it(
    tmp_path: Path, provider: Any, own: str, whose: str
) -> None:
    """A login that is the same for all is made without a principal: `doorward login --principal` refuses it."""
    place = project(tmp_path, api(provider) + own + "[approvals]\nlogin = true\n")
    assert place.run("compile").returncode == 0
    async with Gateway.open(place.folder / "doorward.toml") as gate:
        waiting = (await gate.execute("import mine\nmine.me()", principal="alice")).waiting
    assert waiting.what == (f"nobody is logged in to mine. A person logs in: doorward login mine{whose}",)
