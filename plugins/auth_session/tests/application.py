"""An application with logins of several kinds, on loopback: sessions by cookie or token, a form with Django's CSRF
check."""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

FORM = """\
<form method="post"><input type="hidden" name="csrfmiddlewaretoken" value="{}">
<input name="username"><input type=password name="password"></form>
"""
LASTING = "Path=/; Max-Age=31449600"


class Server(ThreadingHTTPServer):
    request_queue_size = 200
    daemon_threads = True


class Application:
    """What it knows and was told. A test changes it as it runs: `answers` replaces that of a path."""

    def __init__(self) -> None:
        self.users = {"alice": "pass-word-of-alice"}
        self.life = 3600.0
        self.sessions: dict[str, float] = {}
        self.logins: list[dict[str, Any]] = []
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.given: list[str] = []
        self.answers: dict[str, Callable[[Handler], None]] = {}
        self.cookie = "sid={}; Path=/; HttpOnly"

    def session(self, kind: str = "sid") -> str:
        """A new one."""
        made = self.secret(kind)
        self.sessions[made] = time.time() + self.life
        return made

    def secret(self, kind: str) -> str:
        made = f"{kind}-{secrets.token_urlsafe(24)}"
        self.given.append(made)
        return made

    def asked(self, path: str) -> list[tuple[str, str, dict[str, str], bytes]]:
        return [one for one in self.seen if one[1].partition("?")[0] == path]


class Handler(BaseHTTPRequestHandler):
    app: Application
    body = b""

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.cookies = {name: one.value for name, one in SimpleCookie(self.headers.get("Cookie", "")).items()}
        path = self.path.partition("?")[0]
        self.app.seen.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, self.body))
        name = "page" if path.startswith("/form") else path.strip("/").replace("/", "_")
        with contextlib.suppress(ConnectionError):
            (self.app.answers.get(path) or (lambda handler: getattr(handler, f"on_{name}", handler.on_nothing)()))(self)

    do_POST = do_DELETE = do_PUT = do_GET

    def say(self, status: int, told: Any = None, *headers: tuple[str, str], html: bool = False) -> None:
        body = (
            told.encode() if isinstance(told, str) else told if isinstance(told, bytes) else json.dumps(told).encode()
        )
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8" if html else "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass

    def _right(self, told: dict[str, Any]) -> bool:
        self.app.logins.append(told)
        return self.app.users.get(told.get("username", "")) == told.get("password")

    def on_nothing(self) -> None:
        self.say(404, {"message": "nothing here"})

    def on_login(self) -> None:
        told = json.loads(self.body)
        if not self._right(told):
            return self.say(401, {"error": {"message": f"wrong password for {told.get('username')}"}})
        more = ("Set-Cookie", f"theme={self.app.secret('theme')}; Path=/")
        return self.say(200, {"ok": True}, ("Set-Cookie", self.app.cookie.format(self.app.session())), more)

    def on_token(self) -> None:
        told = json.loads(self.body)
        if not self._right(told):
            return self.say(200, {"ok": False, "errors": [{"message": "Unknown user"}]})
        return self.say(200, {"data": {"auth": {"token": self.app.session("token"), "expires_in": self.app.life}}})

    def on_page(self) -> None:
        """`/form…`: Django's login, as its middleware has it."""
        if self.command == "GET":
            token = self.app.secret("csrf")
            return self.say(200, FORM.format(token), ("Set-Cookie", f"csrftoken={token}; {LASTING}"), html=True)
        told = dict(parse_qsl(self.body.decode()))
        if not (
            self.cookies.get("csrftoken") == told.pop("csrfmiddlewaretoken", "none") and self.headers.get("Referer")
        ):
            return self.say(403, "<h1>CSRF verification failed</h1>", html=True)
        token = self.app.secret("csrf")
        again = ("Set-Cookie", f"csrftoken={token}; {LASTING}")
        if not self._right(told):
            return self.say(200, FORM.format(token), again, html=True)
        return self.say(
            302, "", ("Location", "/home"), again, ("Set-Cookie", self.app.cookie.format(self.app.session()))
        )

    def _user(self) -> str | None:
        token = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.cookies.get("sid", "")
        return "alice" if self.app.sessions.get(token, 0) > time.time() else None

    def on_api_me(self) -> None:
        self.say(200, {"user": "alice"}) if self._user() else self.say(401, {"message": "no session"})

    def on_api_web(self) -> None:
        """An application that was not made for programs: it redirects to its login."""
        self.say(200, {"user": "alice"}) if self._user() else self.say(
            302, "", ("Location", "/form/login/?next=/api/web")
        )

    def on_api_write(self) -> None:
        fits = self.cookies.get("csrftoken") == self.headers.get("X-CSRFToken") != None  # noqa: E711
        self.say(200, {"written": True}) if fits and self._user() else self.say(403, {"message": "CSRF"})

    def on_api_rotate(self) -> None:
        """A new cookie with each answer, and the old one ends."""
        if not self._user():
            return self.say(401, {"message": "no session"})
        del self.app.sessions[self.cookies["sid"]]
        return self.say(200, {"user": "alice"}, ("Set-Cookie", self.app.cookie.format(self.app.session())))

    def on_api_echo(self) -> None:
        self.say(200, {"told": dict(self.headers.items())})

    def on_logout(self) -> None:
        self.app.sessions.pop(
            self.headers.get("Authorization", "").removeprefix("Bearer ") or self.cookies.get("sid", ""), None
        )
        self.say(204, "")


@contextlib.contextmanager
def running() -> Iterator[tuple[Application, str]]:
    """An application, and its URL."""
    app = Application()
    server = Server(("127.0.0.1", 0), type("Of", (Handler,), {"app": app}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield app, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
