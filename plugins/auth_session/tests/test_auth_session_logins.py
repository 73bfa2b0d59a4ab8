"""Logins of each kind at a real application on loopback: what is sent, how long it lasts, when another one is made."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from email.utils import formatdate
from typing import Any

import pytest
from doorward import LoginRefused, MissingSecret, ServerError
from doorward_auth_kit import renewal

from .application import Handler
from .conftest import Doorward

pytestmark = pytest.mark.anyio

FORM = {
    "login_url": "/form/login/",
    "content_type": "form",
    "cookie_name": "sid",
    "csrf": True,
}


async def test_cookies_of_a_json_login(home: Doorward) -> None:
    """All cookies that the login set go with every request; one login serves all. CONTRACT: AUT-07."""
    async with home.http(fields={"remember": True, "tenant": "north", "otp": 7}) as http:
        for _ in range(3):
            assert (await http.get("/api/me")).json() == {"user": "alice"}
        sent = (await http.get("/api/echo", headers={"Cookie": "mine=1; sid=theirs"})).json()["told"]["Cookie"]
    assert home.app.logins == [
        {"remember": True, "tenant": "north", "otp": 7, "username": "alice", "password": "pass-word-of-alice"}
    ]
    sid, theme = sorted(home.app.given)
    assert set(sent.split("; ")) == {"mine=1", f"sid={sid}", f"theme={theme}"}


async def test_secrets_that_take_time(home: Doorward) -> None:
    """A command or a keyring keeps no other call waiting: no secret is asked for in the event loop's thread."""
    threads = set()

    def resolve(scheme: str, name: str) -> str:
        threads.add(threading.current_thread())
        return home.environ[name]

    home.secrets.resolve = resolve
    slow = {"username": "${slow:USER}", "password": "${slow:PASSWORD}", "fields": {"tenant": "${slow:USER}"}}
    async with home.http(home.auth(**slow)) as http:
        assert (await http.get("/api/me")).json() == {"user": "alice"}
    assert threads
    assert threading.current_thread() not in threads


async def test_only_the_named_cookie(home: Doorward) -> None:
    """With `cookie_name` the others stay here. CONTRACT: AUT-07."""
    async with home.http(cookie_name="sid") as http:
        sent = (await http.get("/api/echo")).json()["told"]["Cookie"]
    assert sent.startswith("sid=sid-")
    assert "theme" not in sent


@pytest.mark.parametrize("path", ["data.auth.token", "/data/auth/token"])
async def test_a_token_in_the_answer(home: Doorward, path: str) -> None:
    """A path with dots or a JSON pointer; it is sent as a bearer token. CONTRACT: AUT-07."""
    async with home.http(login_url="/token", token_field=path) as http:
        assert (await http.get("/api/me")).json() == {"user": "alice"}
        told = (await http.get("/api/echo")).json()["told"]
    assert told["Authorization"] == f"Bearer {home.app.given[0]}"
    assert "Cookie" not in told


@pytest.mark.slow
async def test_origins_that_are_the_servers_too(home: Doorward) -> None:
    """The token goes where the operator says that the API is as well (`origins`), and the cookies as their domain
    says."""
    other = home.url.replace("127.0.0.1", "localhost")
    async with home.http(home.auth(origins=(other,), login_url="/token", token_field="data.auth.token")) as http:
        assert (await http.get(f"{other}/api/me")).json() == {"user": "alice"}
    async with home.http(home.auth(origins=(other,))) as http:
        assert "Cookie" not in (await http.get(f"{other}/api/echo")).json()["told"]
    async with home.http(login_url="/token", token_field="data.auth.token") as http:
        with pytest.raises(ServerError, match="were not sent"):
            await http.get(f"{other}/api/me")


async def test_a_token_in_another_header(home: Doorward) -> None:
    """`token_header` and `token_prefix`, and other names of the fields."""
    home.app.answers["/token"] = lambda handler: handler.say(200, {"t": json.loads(handler.body)["pw"]})
    settings = {
        "username_field": "user",
        "password_field": "pw",
        "token_field": "t",
        "token_header": "X-Token",
        "token_prefix": "",
    }
    async with home.http(login_url="/token", **settings) as http:
        told = (await http.get("/api/echo")).json()["told"]
    assert told["X-Token"] == "pass-word-of-alice"
    assert "Authorization" not in told
    assert json.loads(home.app.asked("/token")[0][3]) == {"user": "alice", "pw": "pass-word-of-alice"}


async def test_a_form_with_a_csrf_token(home: Doorward) -> None:
    """As Django has it: the page, the field, the referrer, a redirect with the session; then the header, in step with
    the cookie, with requests that change something and with no others."""
    async with home.http(**FORM) as http:
        assert (await http.get("/api/me")).json() == {"user": "alice"}
        assert (await http.post("/api/write")).json() == {"written": True}
    assert home.app.logins == [{"username": "alice", "password": "pass-word-of-alice"}]
    by_path = {path: headers for _, path, headers, _ in home.app.seen}
    assert by_path["/api/write"]["x-csrftoken"] == home.app.given[1]
    assert "x-csrftoken" not in by_path["/api/me"]
    assert by_path["/form/login/"]["content-type"] == "application/x-www-form-urlencoded"


@pytest.mark.parametrize("where", ["meta", "header", "json", "cookie"])
async def test_where_csrf_tokens_are_found(home: Doorward, where: str) -> None:
    """A meta tag, a header or a JSON member of a page of its own, or a cookie that is percent-encoded; fetched again
    after the login, for whoever is logged in gets another one."""
    served = iter(("first/token", "other/token"))

    def page(handler: Handler) -> None:
        token = next(served)
        body = (
            f"<meta content='{token}' name='csrf-token'>"
            if where == "meta"
            else {"csrfToken": token}
            if where == "json"
            else {}
        )
        more = [("X-CSRF-Token", token)] if where == "header" else []
        more += [("Set-Cookie", f"XSRF-TOKEN={token.replace('/', '%2F')}")] if where == "cookie" else []
        handler.say(200, body, *more, html=where == "meta")

    home.app.answers["/csrf"] = page
    async with home.http(csrf_url="/csrf") as http:
        await http.post("/api/echo")
    login, later = home.app.asked("/login")[0][2], home.app.asked("/api/echo")[0][2]
    if where == "cookie":
        assert (login["x-xsrf-token"], later["x-xsrf-token"]) == ("first/token", "first/token")
    else:
        assert (login["x-csrf-token"], later["x-csrf-token"]) == ("first/token", "other/token")


@pytest.mark.slow
async def test_a_csrf_token_of_another_name(home: Doorward) -> None:
    """`csrf_name` and `csrf_header`; a page without it is an error, and nothing is posted."""
    home.app.answers["/csrf"] = lambda handler: handler.say(200, {"deep": {"er": "abc-of-the-page"}})
    async with home.http(csrf_url="/csrf", csrf_name="deep.er", csrf_header="X-Own") as http:
        await http.get("/api/me")
    assert home.app.asked("/login")[0][2]["x-own"] == "abc-of-the-page"
    async with home.http(csrf_url="/csrf", csrf_name="other") as http:
        with pytest.raises(ServerError, match=r"no session for mine: .*/csrf has no CSRF token \(status 200\)"):
            await http.get("/api/me")
    assert len(home.app.logins) == 1


async def test_cookies_that_rotate(home: Doorward) -> None:
    """Each answer brings another cookie, and ends the one before: that is followed. The CSRF cookie as well."""
    async with home.http(**FORM) as http:
        for _ in range(4):
            assert (await http.get("/api/rotate")).json() == {"user": "alice"}
    assert len(home.app.logins) == 1


def jwt(ends: float) -> str:
    return f"e30.{base64.urlsafe_b64encode(json.dumps({'exp': ends}).encode()).decode().rstrip('=')}.x"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hour", "seconds", "max-age", "expires", "unnamed", "token", "jwt"])
async def test_a_session_ends(home: Doorward, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `expires_seconds`, the cookie, the answer beside the token, or the token itself says; 30 seconds before, there
    is another one. Where nobody says, it is an hour.
    CONTRACT: AUT-07, AUT-10."""
    settings: dict[str, Any] = {"cookie_name": "sid"}
    later = 3500 if kind == "hour" else 0
    match kind:
        case "seconds":
            settings = {"expires_seconds": 100}
        case "max-age":
            home.app.cookie = "sid={}; Path=/; Max-Age=100"
        case "expires":
            home.app.cookie = f"sid={{}}; Path=/; Expires={formatdate(time.time() + 100, usegmt=True)}"
        case "unnamed":
            settings = {}
            home.app.cookie = "sid={}; Path=/; Max-Age=100\r\nSet-Cookie: flash=hello; Max-Age=3"
        case "token":
            home.app.life = 100
            settings = {"login_url": "/token", "token_field": "data.auth.token"}
        case "jwt":
            home.app.answers["/token"] = lambda handler: handler.say(200, {"t": jwt(time.time() + 100)})
            settings = {"login_url": "/token", "token_field": "t"}
    async with home.http(**settings) as http:
        for seconds, logins in ((0, 1), (65 + later, 1), (75 + later, 2)):
            monkeypatch.setattr(renewal, "time", Ahead(seconds))
            assert (await http.get("/api/echo")).status_code == 200
            while (
                len(home.app.asked(settings.get("login_url", "/login"))) < logins
            ):  # nobody waits for the next session
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            assert len(home.app.asked(settings.get("login_url", "/login"))) == logins, seconds


async def test_an_end_that_a_wrong_clock_tells(home: Doorward) -> None:
    """A token that has ended before it was given is used, and there is no login for each call."""
    home.app.answers["/token"] = lambda handler: handler.say(200, {"t": jwt(time.time() - 600)})
    async with home.http(login_url="/token", token_field="t") as http:
        for _ in range(3):
            await http.get("/api/echo")
    assert len(home.app.asked("/token")) == 1


@pytest.mark.slow
async def test_many_calls_across_an_expiry(home: Doorward) -> None:
    """100 calls at once without a session, and 100 when it is gone: one login each, and no failed call. CONTRACT:
    AUT-10."""
    async with home.http() as http:
        for logins in (1, 2):
            answers = await asyncio.gather(*(http.get("/api/me") for _ in range(100)))
            assert [answer.status_code for answer in answers] == [200] * 100
            assert len(home.app.logins) == logins
            home.app.sessions.clear()


@pytest.mark.slow
async def test_a_session_that_the_server_forgets(home: Doorward) -> None:
    """A 401, another status that is named, or a redirect to the login: one login, and the request again with its
    body."""
    for path, status in (("/api/me", 401), ("/api/web", 302)):
        async with home.http(**FORM) as http:
            assert (await http.get(path)).status_code == 200
            home.app.sessions.clear()
            assert (await http.get(path)).json() == {"user": "alice"}, status
    assert len(home.app.logins) == 4
    home.app.answers["/api/old"] = lambda handler: handler.say(200 if handler._user() else 440, handler.body.decode())
    async with home.http(expired=[401, 440]) as http:
        await http.get("/api/me")
        home.app.sessions.clear()
        assert (await http.post("/api/old", content=b'"body"')).json() == "body"
    assert len(home.app.logins) == 6


async def test_a_server_that_refuses_every_session(home: Doorward) -> None:
    """One login again, one try again, then the error; and no login for each call that comes after."""
    home.app.answers["/api/never"] = lambda handler: handler.say(401, {"message": "not for you"})
    home.app.answers["/api/away"] = lambda handler: handler.say(302, "", ("Location", "/login"))
    async with home.http() as http:
        with pytest.raises(ServerError, match="mine refuses the credentials that it was given"):
            await http.get("/api/never")
        assert len(home.app.logins) == 2
        for _ in range(3):
            assert (await http.get("/api/never")).status_code == 401
            with pytest.raises(ServerError, match="mine sends to its login, though there was one"):
                await http.get("/api/away")
        assert (await http.get("/api/me")).status_code == 200
    assert len(home.app.logins) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings", [{}, {"login_url": "/token", "token_field": "data.auth.token"}, FORM], ids=["json", "token", "form"]
)
async def test_a_wrong_password(home: Doorward, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tried once, told with the endpoint's words, and not again for a while; one that is rotated is tried at once.
    CONTRACT: AUT-07."""
    home.environ["PASSWORD"] = "not-the-password"
    async with home.http(**settings) as http:
        for _ in range(3):
            with pytest.raises(LoginRefused) as caught:
                await asyncio.gather(*(http.get("/api/me") for _ in range(5)))
            assert str(caught.value).startswith(
                f"no session for mine: {home.url}{settings.get('login_url', '/login')} "
            )
            words = {"/token": "Unknown user", "/form/login/": "it shows the login form again"}
            assert words.get(settings.get("login_url", ""), 'status 401: "wrong password for alice') in str(
                caught.value
            )
            assert "not-the-password" not in str(caught.value)
        assert len(home.app.logins) == 1
        home.environ["PASSWORD"] = "pass-word-of-alice"
        assert (await http.get("/api/me")).status_code == 200
        assert len(home.app.logins) == 2
        home.environ["PASSWORD"] = "not-the-password"
        home.app.sessions.clear()
        with pytest.raises(LoginRefused):
            await http.get("/api/me")
        monkeypatch.setattr(renewal, "time", Ahead(renewal.REFUSED_RETRY_SECONDS))
        with pytest.raises(LoginRefused):
            await http.get("/api/me")
        assert len(home.app.logins) == 4
        with pytest.raises(LoginRefused):
            await http.get("/api/me")
        assert len(home.app.logins) == 4


class Ahead:
    """A clock that stands still, some seconds on."""

    def __init__(self, seconds: float) -> None:
        self._monotonic, self._epoch = time.monotonic() + seconds, time.time() + seconds

    def monotonic(self) -> float:
        return self._monotonic

    def time(self) -> float:
        return self._epoch


@pytest.mark.slow
async def test_a_login_that_is_down(home: Doorward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls say so, the endpoint is asked about once a second; when it is back, so are they."""
    home.app.answers["/login"] = lambda handler: handler.say(503, {"message": "back soon"})
    monkeypatch.setattr(renewal, "time", Ahead(0))
    async with home.http() as http:
        for _ in range(5):
            with pytest.raises(ServerError, match=r"/login failed with status 503: .back soon"):
                await http.get("/api/me")
        assert len(home.app.asked("/login")) == 1
        home.app.answers["/login"] = lambda handler: handler.connection.close()
        monkeypatch.setattr(renewal, "time", Ahead(renewal.RETRY_SECONDS))
        with pytest.raises(ServerError, match=r"/login cannot be reached"):
            await http.get("/api/me")
        home.app.answers.clear()
        monkeypatch.setattr(renewal, "time", Ahead(renewal.RETRY_SECONDS * 3.1))
        assert (await http.get("/api/me")).status_code == 200
    assert len(home.app.logins) == 1


@pytest.mark.slow
async def test_logging_out(home: Doorward) -> None:
    """At the end, with the session's cookies; not if there was none. One that fails is no error."""
    async with home.http(logout_url="/logout", **FORM) as http:
        await http.get("/api/me")
    assert home.app.sessions == {}
    (method, _, headers, _) = home.app.asked("/logout")[0]
    assert method == "POST"
    assert headers["x-csrftoken"] in headers["cookie"]
    async with home.http(logout_url="/logout"):
        pass
    assert len(home.app.asked("/logout")) == 1
    home.app.answers["/logout"] = lambda handler: handler.say(500)
    async with home.http(logout_url="/logout", logout_method="DELETE") as http:
        await http.get("/api/me")
    assert [method for method, *_ in home.app.asked("/logout")] == ["POST", "DELETE"]


async def test_a_missing_secret(home: Doorward) -> None:
    """It is named, nothing is sent, and there is no wait when it is there. CONTRACT: AUT-18."""
    del home.environ["PASSWORD"]
    async with home.http() as http:
        with pytest.raises(MissingSecret, match=r"\$\{PASSWORD\}"):
            await http.get("/api/me")
        assert home.app.seen == []
        home.environ["PASSWORD"] = "pass-word-of-alice"
        assert (await http.get("/api/me")).status_code == 200
