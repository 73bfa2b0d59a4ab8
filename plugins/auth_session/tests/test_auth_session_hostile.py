"""Servers that want passwords or sessions that are not theirs, or to do harm otherwise."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from typing import Any

import pytest
import structlog
from doorward import LoginRefused, ServerError
from doorward_auth_session import auth
from doorward_auth_session.cookies import MAX_COOKIES

from .application import Handler, running
from .conftest import Doorward

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_ten_megabytes(home: Doorward) -> None:
    """No answer to a login is read further than 256 KiB; nor is one that says that the session is gone."""
    home.app.answers["/login"] = lambda handler: handler.say(200, b"x" * 10_000_000, ("Set-Cookie", "sid=a-cookie"))
    async with home.http() as http:
        for _ in range(2):
            with pytest.raises(LoginRefused, match="/login answered with more than 256 KiB"):
                await http.get("/api/me")
    assert len(home.app.asked("/login")) == 1  # it may have been a page that says that the password is wrong
    home.app.answers = {"/api/me": lambda handler: handler.say(401, b"x" * 10_000_000)}
    async with home.http() as http:
        with pytest.raises(ServerError, match="with more than 256 KiB"):
            await http.get("/api/me")


async def test_a_password_in_the_error(home: Doorward) -> None:
    """The message is told, without the password in it, in whatever form; and without cutting it in two."""

    def echo(handler: Handler) -> None:
        password = json.loads(handler.body)["password"]
        told = [password, base64.b64encode(password.encode()).decode(), "x" * 990 + password]
        handler.say(400, {"errors": [{"message": text} for text in told]})

    home.app.answers["/login"] = echo
    async with home.http() as http:
        with pytest.raises(LoginRefused) as caught:
            await http.get("/api/me")
    home.secrets.scrub_error(caught.value)  # as core does with every error
    assert 'status 400: "[secret]; [secret]; xxx' in str(caught.value)
    assert "pass-word" not in str(caught.value)


async def test_a_session_for_one_request(home: Doorward) -> None:
    """A server that ends each session at once does not have us log in with every call."""

    def once(handler: Handler) -> None:
        handler.on_api_me()  # type: ignore[attr-defined]
        home.app.sessions.clear()

    home.app.answers["/api/me"] = once
    async with home.http() as http:
        for _ in range(30):
            with contextlib.suppress(ServerError):
                await http.get("/api/me")
    assert len(home.app.logins) == 11


@pytest.mark.parametrize("charset", ["punycode", "idna", "hex", "zlib", "rot13", "undefined", "iso-8859-99", "utf-8"])
async def test_charsets(home: Doorward, charset: str) -> None:
    """An answer is read in no time, and does no harm, whatever it says that it is written in."""

    def refuse(handler: Handler) -> None:
        handler.send_response(401)
        handler.send_header("Content-Type", f"text/plain; charset={charset}")
        handler.end_headers()
        handler.wfile.write(b"no-" + b"abcdefgh9" * 20_000)

    home.app.answers["/login"] = refuse
    started = time.process_time()
    async with home.http() as http:
        with pytest.raises(LoginRefused, match=r"status 401: .no-abcdefgh9"):
            await http.get("/api/me")
    assert time.process_time() - started < 5


async def test_redirects_elsewhere(home: Doorward) -> None:
    """A login that is redirected goes nowhere else, and no request with a session follows one."""
    with running() as (other, elsewhere):
        away = ("Location", f"{elsewhere}/login")
        for status in (302, 307, 308):
            home.app.answers["/login"] = lambda handler, status=status: handler.say(status, "", away)  # type: ignore[misc]
            async with home.http() as http:
                with pytest.raises(LoginRefused, match="set no cookie"):
                    await http.get("/api/me")
        home.app.answers = {"/api/away": lambda handler: handler.say(307, "", ("Location", f"{elsewhere}/api/me"))}
        async with home.http() as http:
            assert (await http.get("/api/away")).status_code == 307
            with pytest.raises(ServerError, match="were not sent to"):
                await http.get(f"{elsewhere}/api/me")
        assert other.seen == []


async def test_a_login_elsewhere(home: Doorward) -> None:
    """Where the operator names it: it gets the password, and the server the token; of the cookies those that are for
    the server."""
    with running() as (login, elsewhere):
        settings: dict[str, Any] = {"login_url": f"{elsewhere}/token", "token_field": "data.auth.token"}
        async with home.http(logout_url=f"{elsewhere}/logout", **settings) as http:
            told = (await http.get("/api/echo")).json()["told"]
        assert told["Authorization"] == f"Bearer {login.given[0]}"
        assert home.app.logins == []
        assert login.sessions == {}
        there = elsewhere.replace("127.0.0.1", "localhost")
        async with home.http(login_url=f"{there}/login") as http:
            with pytest.raises(LoginRefused, match=r"the cookies that .*/login set are not for 127\.0\.0\.1"):
                await http.get("/api/echo")


@pytest.mark.parametrize(
    "cookie",
    [
        "sid={}; Domain=bank.example.com",
        "sid={}; Domain=example.com; Path=/",
        "sid={}; Secure; Path=/",
        "sid={}; Max-Age=0",
        "sid=",
        "={}",
        "sid={}\x7f; Path=/",
        "sid=" + "x" * 5000,
    ],
)
async def test_cookies_that_are_none_of_ours(home: Doorward, cookie: str) -> None:
    """For other domains, for TLS where there is none, ended, empty, with characters that none may have, or too long."""
    home.app.cookie = cookie
    async with home.http(cookie_name="sid") as http:
        with pytest.raises(LoginRefused, match=r"set no cookie 'sid'|are not for"):
            await http.get("/api/me")
    assert [path for _, path, _, _ in home.app.seen] == ["/login"]


async def test_a_cookie_of_a_path(home: Doorward) -> None:
    """It goes to requests below that path, and to no others."""
    home.app.cookie = "sid={}; Path=/api/admin"
    async with home.http(cookie_name="sid") as http:
        assert "Cookie" not in (await http.get("/api/echo")).json()["told"]
        await http.get("/api/admin/users")
    assert home.app.asked("/api/admin/users")[0][2]["cookie"].startswith("sid=sid-")


async def test_a_flood_of_cookies(home: Doorward) -> None:
    """A session keeps so many, and those stay scrubbed, however many an answer sets."""
    many = [("Set-Cookie", f"junk{n}=junk-value-{n:05}; Path=/") for n in range(90)]
    home.app.answers["/api/flood"] = lambda handler: handler.say(200, {}, *many)
    async with home.http() as http:
        for _ in range(3):
            await http.get("/api/flood")
        told = (await http.get("/api/echo")).json()["told"]
    sent = told["Cookie"].split("; ")
    assert len(sent) == MAX_COOKIES
    shown = home.secrets.scrub(json.dumps(told))
    assert not any(one.partition("=")[2] in shown for one in sent)


async def test_what_was_got_is_scrubbed(home: Doorward) -> None:
    """Cookies, tokens and CSRF tokens, of this session and of the one before. CONTRACT: AUT-12."""
    form = {"login_url": "/form/login/", "content_type": "form", "csrf": True}
    for settings in ({}, form, {"login_url": "/token", "token_field": "data.auth.token"}):
        async with home.http(**settings) as http:
            await http.get("/api/me")
            home.app.sessions.clear()
            told = (await http.get("/api/me")).text + (await http.post("/api/echo")).text
            assert not any(one in home.secrets.scrub(told) for one in home.app.given)
    assert len(home.app.given) >= 10
    assert [one for one in home.app.given if one == home.secrets.scrub(one)] == []


async def test_nothing_is_logged(home: Doorward) -> None:
    """A refusal is, without its words: not every log is scrubbed."""
    home.app.answers["/login"] = lambda handler: handler.say(403, {"message": handler.body.decode()})
    with structlog.testing.capture_logs() as logs:
        async with home.http(logout_url="/logout") as http:
            with pytest.raises(LoginRefused):
                await http.get("/api/me")
    assert [(log["event"], log["server"]) for log in logs] == [("no_new_credential", "mine")]
    assert "pass-word" not in str(logs)


async def test_a_page_that_is_slow_to_read(home: Doorward) -> None:
    """A page of 250 KB that is made to keep a reader busy is read at once."""
    page = ("<input " * 9000 + "<meta " + 'name = "' * 9000 + "<input a" + "=" * 30000 + ' type = "' * 5000)[:250_000]
    home.app.answers["/form/login/"] = lambda handler: handler.say(200, page, html=True)
    async with home.http(login_url="/form/login/", csrf=True) as http:
        start = time.process_time()
        with pytest.raises(ServerError, match="has no CSRF token"):
            await http.get("/api/me")
    assert time.process_time() - start < 5


ANSWERS = [
    b"[" * 200_000,
    b'{"data": [{"auth": 1}]}',
    b'{"data": {"auth": {"token": "a\\r\\nb"}}}',
    b"\xff\xfe",
    b"null",
]


@pytest.mark.parametrize("answer", ANSWERS)
async def test_answers_that_are_no_token(home: Doorward, answer: bytes) -> None:
    """Whatever it is, it is refused in words."""
    home.app.answers["/token"] = lambda handler: handler.say(200, answer)
    async with home.http(login_url="/token", token_field="data.auth.token") as http:
        with pytest.raises(LoginRefused, match=r"gave no token at 'data\.auth\.token'"):
            await http.get("/api/me")


async def test_a_logout_that_hangs(home: Doorward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it for long, and nothing but its failure is told."""
    monkeypatch.setattr(auth, "LOGOUT_SECONDS", 0.1)
    asked_enough = threading.Event()
    home.app.answers["/logout"] = lambda handler: asked_enough.wait(100)
    with structlog.testing.capture_logs() as logs:
        async with home.http(logout_url="/logout") as http:
            await http.get("/api/me")
    asked_enough.set()
    assert [(log["event"], log["status"]) for log in logs] == [("logout_failed", 0)]
