"""Servers that want a login by POST, through the MCP interface: an API with sessions of each kind, and an MCP server
behind a cookie."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import shlex
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse

from .api import FORMS
from .forked import Forked
from .product import Project, module
from .test_canary import leaks, written

pytestmark = pytest.mark.anyio

KINDS = {
    "plain": "",
    "site": 'login_url = "/form/login/"\ncontent_type = "form"\ncsrf = true\n',
    "token": 'login_url = "/token"\ntoken_field = "data.auth.token"\n',
}
SHORT = {"short": 'login_url = "/login"\ncookie_name = "sid"\nexpires_seconds = 2\n'}
PASSWORD = f"{secrets.token_urlsafe(9)}/+&=%<~!? :{secrets.token_hex(6)}"


@pytest.fixture
def application() -> Iterator[tuple[Any, str]]:
    with module("plugins/auth_session/tests/application.py").running() as (app, url):
        app.users["alice"] = PASSWORD
        app.answers["/api/leak"] = leak
        yield app, url


def leak(handler: Any) -> None:
    """What a hostile API gives back: all that it was told and has given of late, in some form, as an answer or an
    error; and a new cookie each time."""
    asked = {name: values[0] for name, values in parse_qs(urlsplit(handler.path).query).items()}
    told = (
        [handler.headers.get(name, "") for name in ("Cookie", "Authorization", "X-CSRFToken")]
        + handler.app.given[-8:]
        + [PASSWORD]
    )
    said = [FORMS[asked.get("form", "plain")](text) for text in told]
    headers = [("X-Told", said[-1].replace("\n", "")), ("Set-Cookie", f"more={handler.app.secret('more')}")]
    handler.say(int(asked.get("status", 200)), {"message": said, "told": dict.fromkeys(said, 1)}, *headers)


def document() -> dict[str, Any]:
    def query(name: str) -> dict[str, Any]:
        return {"name": name, "in": "query", "schema": {"type": "string"}}

    answer = {"responses": {"200": {"description": "OK"}}}
    paths: dict[str, Any] = {
        f"/{name}": {"get": {"operationId": name, "summary": name, **answer}} for name in ("me", "rotate", "web")
    }
    paths["/write"] = {"post": {"operationId": "write", "summary": "Change something", **answer}}
    paths["/leak"] = {
        "get": {"operationId": "leak", "summary": "Say it", "parameters": [query("form"), query("status")], **answer}
    }
    return {"openapi": "3.1.0", "info": {"title": "App", "version": "1"}, "paths": paths}


def project(folder: Path, url: str, *kinds: str, head: str = "", **env: str) -> Project:
    """One server for each kind of session; the document is a file."""
    (folder / "openapi.json").write_text(json.dumps(document()))
    config = head + "[limits]\nrate = 100000\ntimeout = 300\n"
    for kind in kinds:
        config += f'[servers.{kind}]\nsource = "openapi"\nspec = "{folder}/openapi.json"\nbase_url = "{url}/api"\n'
        config += f'[servers.{kind}.auth]\ntype = "session"\nusername = "alice"\npassword = "${{PASSWORD}}"\nlogout_url = "/logout"\n'
        config += (KINDS | SHORT)[kind] or 'login_url = "/login"\n'
    return Forked(folder, config, env)


MANY = "import asyncio\nimport plain\nresult = await asyncio.gather(*(plain.me() for n in range(100)))"


async def test_a_session(tmp_path: Path, application: tuple[Any, str]) -> None:
    """One login for 100 calls, another one when the server has forgotten it, or when it ends; none of the calls fails;
    a logout at the end. Compiling needs no password. CONTRACT: AUT-07, AUT-10, AUT-18."""
    app, url = application
    place = project(tmp_path, url, "plain", "token")
    assert place.run("compile").returncode == 0
    ran = place.run("call", "plain.me")
    assert (ran.returncode, "${PASSWORD} has no value" in ran.stderr) == (2, True)
    assert app.seen == []
    place.env["PASSWORD"] = PASSWORD
    async with place.stdio() as agent:
        for logins in (1, 2):
            assert await agent.value(MANY) == [{"user": "alice"}] * 100
            assert len(app.logins) == logins
            app.sessions.clear()
        app.life = 2.0  # so the token's answer says, and so it is
        assert await agent.value(MANY.replace("plain", "token")) == [{"user": "alice"}] * 100
        known = len(app.logins)
        await anyio.sleep(2.1)
        assert await agent.value(MANY.replace("plain", "token")) == [{"user": "alice"}] * 100
        assert len(app.logins) > known
        assert app.asked("/logout") == []
    assert len(app.asked("/logout")) == 2


def test_a_compile_logs_in_only_for_a_document_that_wants_it(tmp_path: Path, application: tuple[Any, str]) -> None:
    """CONTRACT: AUT-18 Nobody logs in, by --dry-run neither, for a document that everybody is told; for one that refuses,
    or leads to a form, somebody does."""
    app, url = application
    place = project(tmp_path, url, "plain", PASSWORD=PASSWORD)
    place.file.write_text(place.file.read_text().replace(f"{tmp_path}/openapi.json", f"{url}/api/openapi.json"))
    app.answers["/api/openapi.json"] = lambda handler: handler.say(200, document())
    for words in (["compile", "--dry-run"], ["compile", "--force"], ["compile"]):
        assert "plain: 5 functions" in place.run(*words).stdout
    assert (app.logins, app.asked("/login")) == ([], [])
    for refusal in ((401, ""), (302, "", ("Location", "/form/login/"))):
        app.answers["/api/openapi.json"] = lambda handler, refusal=refusal: (  # type: ignore[misc]
            handler.say(200, document()) if handler._user() else handler.say(*refusal)
        )
        assert "plain: 5 functions" in place.run("compile", "--force").stdout
    assert len(app.logins) == 2


async def test_each_kind(tmp_path: Path, application: tuple[Any, str]) -> None:
    """Cookies, a form with a CSRF token, a token in the answer; cookies that rotate, and a redirect to the login.
    CONTRACT: AUT-07."""
    app, url = application
    place = project(tmp_path, url, *KINDS, PASSWORD=PASSWORD)
    async with place.stdio() as agent:
        for kind in KINDS:
            assert await agent.value(f"import {kind}\n{kind}.me()") == {"user": "alice"}
        assert await agent.value("import site\n[site.rotate() for n in range(3)]") == [{"user": "alice"}] * 3
        assert await agent.value("import site\nsite.write()") == {"written": True}
        app.sessions.clear()
        assert await agent.value("import site\nsite.web()") == {"user": "alice"}
    assert len(app.logins) == 4


async def test_what_a_session_is_unless_it_says_otherwise(tmp_path: Path, application: tuple[Any, str]) -> None:
    """A login as JSON, all its cookies, and no end for now; `cookie_name` leaves the other cookies here, and
    `expires_seconds` ends it. CONTRACT: AUT-07, AUT-10."""
    app, url = application
    place = project(tmp_path, url, "plain", "short", PASSWORD=PASSWORD)
    async with place.stdio() as agent:
        for _ in range(2):
            assert await agent.value("import plain, short\n[plain.me(), short.me()]") == [{"user": "alice"}] * 2
            await anyio.sleep(2.1)
    assert [json.loads(body) for *_, body in app.asked("/login")] == [{"username": "alice", "password": PASSWORD}] * 3
    sent = [re.findall(r"(\w+)=", headers["cookie"]) for _, _, headers, _ in app.asked("/api/me")]
    assert [sorted(names) for names in sent] == [["sid", "theme"], ["sid"]] * 2


async def test_a_wrong_password(tmp_path: Path, application: tuple[Any, str]) -> None:
    """It is tried once, whatever number of calls there are; the right one at once. CONTRACT: AUT-07."""
    app, url = application
    place = project(tmp_path, url, "plain")
    (tmp_path / ".env").write_text("PASSWORD=not-the-password\n")
    async with place.stdio() as agent:
        for _ in range(3):
            error = (await agent.run(MANY))["error"]
            assert "no session for plain: " in error["message"]
            assert '/login refused the login with status 401: "wrong password for alice"' in error["message"]
        assert len(app.logins) == 1
        (tmp_path / ".env").write_text(f"PASSWORD='{PASSWORD}'\n")
        assert await agent.value(MANY) == [{"user": "alice"}] * 100
        assert len(app.logins) == 2


LEAK = f"""\
import SERVER
seen = []
for status in ["200", "403", "500"]:
    for form in {list(FORMS)!r}:
        try:
            seen.append(SERVER.leak(form=form, status=status))
        except Exception as error:
            seen.append(str(error) + repr(error))
print(seen)
result = seen
"""


async def test_nothing_comes_out(tmp_path: Path, application: tuple[Any, str]) -> None:
    """Neither the password nor a cookie nor a token, from a server that gives them back in any form, with the login or
    with a call: in no answer, no log at level debug, no file. CONTRACT: AUT-07, AUT-12."""
    app, url = application
    place = project(tmp_path, url, *KINDS, head='log_level = "debug"\n', PASSWORD=PASSWORD, DOORWARD_DEBUG="1")
    wire = ["sh", "-c", f"{shlex.join(place.command('serve'))} | tee wire"]
    ran = [
        place.run("compile"),
        place.run("doctor"),
        place.run("call", "plain.leak", "form=base64"),
    ]
    async with place.stdio(command=wire) as agent:
        for _ in range(2):
            for kind in KINDS:
                assert await agent.value(f"import {kind}\n{kind}.me()") == {"user": "alice"}
            app.sessions.clear()
        for kind in KINDS:
            answer = await agent.run(LEAK.replace("SERVER", kind))
            assert "[secret]" in json.dumps(answer), answer
            await agent.run(f"import {kind}\n{kind}.leak(status='400')")
        for path in ("/login", "/token"):
            app.answers[path] = lambda handler: handler.say(400, {"message": [handler.body.decode(), PASSWORD]})
        app.sessions.clear()
        for kind in ("plain", "token"):
            answer = await agent.run(f"import {kind}\n{kind}.me()")
            assert "refused the login with status 400" in answer["error"]["message"]
        await agent.call("list_servers")
        await agent.call("get_functions", functions=["plain.me", "site.leak"])
    out = {f"printed {n}": f"{one.stdout}{one.stderr}".encode() for n, one in enumerate(ran)} | written(place, agent)
    assert {"wire", "stderr", "state/catalog.db", "state/doorward.audit.jsonl"} <= set(out)
    known = {f"given {n}": given for n, given in enumerate(app.given)} | {"password": PASSWORD}
    assert len(known) > 20
    assert leaks(known, out) == []


@contextlib.contextmanager
def mcp_server() -> Iterator[tuple[list[str], str]]:
    """An MCP server behind a cookie: the sessions that it has given, of which the last one counts, and its URL."""
    given: list[str] = []
    server = MCPServer("behind a cookie")

    @server.tool()
    def who() -> str:
        """Who asks."""
        return "alice"

    inner = server.streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive) if scope["type"] == "http" else None
        if request is None or given[-1:] == [request.cookies.get("sid")]:
            return await inner(scope, receive, send)
        if scope["path"] != "/login" or (await request.json())["password"] != PASSWORD:
            return await JSONResponse({"message": "log in"}, 401)(scope, receive, send)
        given.append(f"sid-{secrets.token_urlsafe(12)}")
        answer = JSONResponse({})
        answer.set_cookie("sid", given[-1], path="/")
        return await answer(scope, receive, send)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield given, f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        finally:
            serving.should_exit = serving.force_exit = True
            thread.join()


async def test_an_mcp_server(tmp_path: Path) -> None:
    """The same before an MCP server: a login, and another one when the first has ended. CONTRACT: AUT-07, MCP-03."""
    with mcp_server() as (given, url):
        auth = '{ type = "session", login_url = "/login", username = "alice", password = "${PASSWORD}", cookie_name = "sid" }'
        place = Forked(
            tmp_path, f'[servers.tools]\nsource = "mcp"\nurl = "{url}"\nauth = {auth}\n', {"PASSWORD": PASSWORD}
        )
        assert place.run("compile").returncode == 0
        async with place.stdio() as agent:
            assert await agent.value("import tools\ntools.who()") == "alice"
            before = len(given)
            given.append("ended")
            assert await agent.value("import tools\ntools.who()") == "alice"
            assert len(given) == before + 2
        assert leaks({f"{n}": one for n, one in enumerate(given) if one != "ended"}, written(place, agent)) == []
