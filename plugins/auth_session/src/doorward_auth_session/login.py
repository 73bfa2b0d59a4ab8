"""One login: the page before it if a CSRF token is needed, the POST, and the reading of the answer."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import httpx2
from doorward import LoginRefused, ServerError, Template
from doorward.values import quoted
from doorward_auth_kit import exchange, place, plain_client

from doorward_auth_session import answers, cookies
from doorward_auth_session.csrf import USUAL, inputs
from doorward_auth_session.open_session import OpenSession
from doorward_auth_session.urls import REDIRECTS, SessionUrls

if TYPE_CHECKING:
    from doorward import PluginContext

    from doorward_auth_session.settings import SessionSettings

_LOGIN_FORM = re.compile(r"""<input\b[^<>]{0,2000}\btype\s{0,9}=\s{0,9}["']?password\b""", re.IGNORECASE)
_SENDABLE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,16000}[\x21-\x7e])?")


async def fields(settings: SessionSettings) -> dict[str, Any]:
    """The fields to post, with the current values of secrets. Raises: MissingSecret."""
    more = {
        name: await value.get() if isinstance(value, Template) else value for name, value in settings.fields.items()
    }
    user = {settings.username_field: await settings.username.get()} if settings.username else {}
    return {**more, **user, settings.password_field: await settings.password.get()}


class Login:
    """One login with these `fields`."""

    def __init__(self, context: PluginContext[SessionSettings], urls: SessionUrls, fields: dict[str, Any]) -> None:
        self._context, self._settings, self._urls, self._fields = context, context.settings, urls, fields

    @property
    def digest(self) -> str:
        """A digest by which these secrets differ from others, without revealing them."""
        return hashlib.sha256(json.dumps(self._fields).encode()).hexdigest()

    async def __call__(self) -> OpenSession:
        """Log in. Raises: LoginRefused, ServerError."""
        async with plain_client(str(self._urls.login), cookies=cookies.none()) as client:
            opened = OpenSession(self._context, self._urls)
            if self._settings.wants_csrf:
                await self._page(client, opened)
            response = await exchange(client, self._request(client, opened))
            names = opened.take(response)
            again = self._settings.wants_csrf and not opened.csrf.look(response, opened.cookies)
            opened.redact()
            self._judge(response)
            self._read(response, opened, names)
            if again and self._urls.page != self._urls.login:
                with contextlib.suppress(ServerError):  # after the login, the page may give another token, or redirect
                    await self._page(client, opened)
            return opened

    async def _page(self, client: httpx2.AsyncClient, opened: OpenSession) -> None:
        """Get the page with the CSRF token."""
        request = client.build_request(
            "GET", self._urls.page, headers={"Accept": "text/html, application/json;q=0.9, */*;q=0.8"}
        )
        opened.put_cookies(request)
        response = await exchange(client, request)
        opened.take(response)
        if not opened.csrf.look(response, opened.cookies):
            raise ServerError(
                f"{place(str(self._urls.page))} has no CSRF token (status {response.status_code})",
                hint=f"Set csrf_url and csrf_name in the auth of {self._context.name}.",
            )
        opened.redact()

    def _request(self, client: httpx2.AsyncClient, opened: OpenSession) -> httpx2.Request:
        if self._settings.content_type == "form":
            form = {
                name: str(value).lower() if isinstance(value, bool) else str(value)
                for name, value in self._fields.items()
            }
            request = client.build_request("POST", self._urls.login, data={**opened.csrf.field, **form})
        else:
            request = client.build_request(
                "POST", self._urls.login, json=self._fields, headers={"Accept": "application/json, */*;q=0.8"}
            )
        opened.put_cookies(request)
        opened.csrf.put(request, opened.cookies, self._urls.page)
        return request

    def _judge(self, response: httpx2.Response) -> None:
        """Refuse an answer that is clearly not a success."""
        if response.status_code >= 500:
            raise ServerError(f"{self._at} failed with status {response.status_code}{self._why(response)}")
        if response.status_code >= 400 or response.status_code < 200:
            raise self._refused(f"refused the login with status {response.status_code}", response)
        if self._urls.asks_to_log_in(response):
            raise self._refused("refused the login: it sends back to the login page", response)
        if _LOGIN_FORM.search(response.text if inputs(response) else ""):
            raise self._refused("refused the login: it shows the login form again", response)

    def _read(self, response: httpx2.Response, opened: OpenSession, names: set[str]) -> None:
        """Take the token, or check that the cookies are there, and note when they end."""
        settings, ends = self._settings, [opened.ends]
        if settings.token_field:
            token = answers.dig(answers.told(response), settings.token_field)
            if not isinstance(token, str) or not _SENDABLE.fullmatch(token):
                raise self._refused(f"gave no token at {settings.token_field!r}", response)
            opened.token = token
            opened.redact()
            ends.append(answers.ends(response, settings.token_field, token))
        if settings.cookie_name:
            kept = response.status_code in REDIRECTS and opened.cookies.get(settings.cookie_name)
            names = {settings.cookie_name} if settings.cookie_name in names or kept else set()
            ends += [opened.cookies.ends(name) for name in names]
        else:
            names = names - USUAL.keys() - opened.csrf.names()
            ends += [end for name in names if cookies.lasting(end := opened.cookies.ends(name))]
        if settings.cookie_name or not settings.token_field:
            self._require(response, opened, names)
        # An end before the beginning comes from a wrong clock: the server will say when the session is over.
        opened.ends = min(ends) if min(ends) > opened.got else opened.ends

    def _require(self, response: httpx2.Response, opened: OpenSession, names: set[str]) -> None:
        """Make sure that there are session cookies, and that they would be sent to the server."""
        if not any(opened.cookies.get(name) for name in names):
            what = f"no cookie {self._settings.cookie_name!r}" if self._settings.cookie_name else "no cookie"
            raise self._refused(f"set {what}", response)
        if not any(opened.cookies.fits(self._urls.server, name) for name in names):
            raise LoginRefused(
                f"the cookies that {self._at} set are not for {self._urls.server.host}",
                hint="Their domain is another one, or they are Secure and the server is not.",
            )

    def _refused(self, what: str, response: httpx2.Response) -> LoginRefused:
        return LoginRefused(
            f"{self._at} {what}{self._why(response)}",
            hint=f"Check username and password in the auth of {self._context.name}.",
        )

    def _why(self, response: httpx2.Response) -> str:
        why = answers.reason(response)
        return f": {quoted(why)}" if why else ""

    @property
    def _at(self) -> str:
        return place(str(self._urls.login))
