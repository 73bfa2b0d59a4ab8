"""A client of the SDK that logs in by itself: what its `OAuthClientProvider` wants of whoever uses it, with a person in
a browser."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from anyio.to_thread import run_sync
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from .browse import browser


class Visitor:
    """The SDK's `TokenStorage` and its two handlers. The client is registered at the provider already."""

    def __init__(self, redirect_uri: str, client: str, user: str, password: str) -> None:
        self.metadata = OAuthClientMetadata(redirect_uris=[AnyUrl(redirect_uri)], token_endpoint_auth_method="none")
        self.came_back: dict[str, str] = {}
        self.tokens: OAuthToken | None = None
        self._client = OAuthClientInformationFull(client_id=client, **self.metadata.model_dump())
        self._browser = browser(user, password)["BROWSER"]

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info

    async def visit(self, page: str) -> None:
        command = [word.replace("%s", page) for word in shlex.split(self._browser)]
        await run_sync(lambda: subprocess.run(command, check=True))

    async def answer(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate(self.came_back)


@contextlib.contextmanager
def in_person(client: str, user: str, password: str) -> Iterator[Visitor]:
    """Such a client, with a page of its own on loopback to which the browser comes back."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            visitor.came_back |= dict(parse_qsl(urlsplit(self.path).query))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    listening = HTTPServer(("127.0.0.1", 0), Handler)
    visitor = Visitor(f"http://127.0.0.1:{listening.server_port}/callback", client, user, password)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield visitor
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()
