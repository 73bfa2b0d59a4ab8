"""The receiver of the redirect with which a login in a browser ends (RFC 8252 section 7.3)."""

from __future__ import annotations

import asyncio
import html
import secrets
from collections.abc import Coroutine
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
from doorward import ConfigError, ServerError

from doorward_auth_oauth2.wire import said

MAX_LOGIN_SECONDS = 300.0
"""How long a person has for the login."""
MAX_HEAD_BYTES = 16 * 2**10
"""The longest head of a request."""
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Doorward</title><style>
body{{font:18px/1.5 system-ui,sans-serif;display:grid;place-content:center;min-height:90vh;margin:0 1rem;color:#222}}
h1{{font-size:1.4rem}}@media(prefers-color-scheme:dark){{body{{color:#ddd;background:#222}}}}</style>
<main><h1>{title}</h1><p>{text}</p></main></html>"""
HEADERS = (
    "Content-Type: text/html; charset=utf-8",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
    "Referrer-Policy: no-referrer",
    "Cache-Control: no-store",
    "Connection: close",
)


class Redirect:
    """Listens on 127.0.0.1 for the one request that carries the expected `state`; any other gets
    400 or 404 and has no effect."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._state = ""
        self._server: asyncio.Server | None = None
        self._query: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._port}/callback"

    async def __aenter__(self) -> Redirect:
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=MAX_HEAD_BYTES)
        except OSError as error:
            raise ConfigError(
                f"127.0.0.1:{self._port} cannot be listened at: {error.strerror}", hint="Set another redirect_port."
            ) from None
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *raised: object) -> None:
        assert self._server is not None
        self._server.close()

    def expect(self, authorization_url: str) -> None:
        """Expect the `state` of this URL, at which the login starts, to come back."""
        self._state = _query(authorization_url).get("state", "")

    async def answer(self, asks: Coroutine[Any, Any, str | None]) -> dict[str, str]:
        """The parameters that came back, or stand in the address that a person was asked to paste. Raises: ServerError
        if the login was refused, or nobody came."""
        asked = asyncio.ensure_future(asks)
        try:
            with anyio.fail_after(MAX_LOGIN_SECONDS):
                either: list[asyncio.Future[Any]] = [asked, self._query]
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if not self._query.done() and (pasted := asked.result()) is not None:
                    return self.pasted(pasted)
                return checked(await self._query)
        except TimeoutError:
            raise ServerError(
                f"nobody has logged in within {MAX_LOGIN_SECONDS / 60:.0f} minutes", hint="Start the login again."
            ) from None
        finally:
            asked.cancel()

    def pasted(self, text: str) -> dict[str, str]:
        """The parameters of an address that a person pasted. Raises: ServerError."""
        query = _query(text)
        if not self._fits(query):
            raise ServerError("that is not the address at which this login ends", hint="It has code= and state= in it.")
        return checked(query)

    def _fits(self, query: dict[str, str]) -> bool:
        return bool(self._state) and secrets.compare_digest(query.get("state", "").encode(), self._state.encode())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with anyio.move_on_after(10):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._respond(head))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever it was has gone
        finally:
            writer.close()

    def _respond(self, head: bytes) -> bytes:
        method, _, rest = head.decode("latin-1").partition(" ")
        target = rest.partition(" ")[0]
        if method != "GET" or urlsplit(target).path != "/callback" or self._query.done():
            return _page("404 Not Found", "There is nothing here", "")
        query = _query(target)
        if not self._fits(query):
            return _page("400 Bad Request", "This is no answer to the login that goes on", "Start the login again.")
        self._query.set_result(query)
        if "error" in query:
            return _page("200 OK", "The login was refused", said(dict(query)))
        return _page("200 OK", "Doorward has the answer", "You can close this page, and go back to where you began.")


def checked(query: dict[str, str]) -> dict[str, str]:
    """The parameters, if they are not a refusal. Raises: ServerError."""
    if "error" in query or not query.get("code"):
        told = said(dict[str, Any](query))
        raise ServerError(f"the login was refused: {told}", hint="Start the login again, and agree to it.")
    return query


def _query(url: str) -> dict[str, str]:
    """The parameters of a URL; none if it is not a URL. A parameter that occurs twice does not count."""
    try:
        found = parse_qs(urlsplit(url.strip()).query, max_num_fields=50)
    except ValueError:
        return {}
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _page(status: str, title: str, text: str) -> bytes:
    body = PAGE.format(title=html.escape(title), text=html.escape(text)).encode()
    head = "\r\n".join([f"HTTP/1.1 {status}", *HEADERS, f"Content-Length: {len(body)}"])
    return head.encode() + b"\r\n\r\n" + body
