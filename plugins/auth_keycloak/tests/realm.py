"""A realm as Keycloak 26 shows it to clients, on loopback, with an API that its tokens open. What it says of errors are
Keycloak's words.

Keycloak itself is asked in tests/peers.
"""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote

WRONG_CLIENT = (401, "unauthorized_client", "Invalid client or Invalid client credentials")
WRONG_USER = (401, "invalid_grant", "Invalid user credentials")


class Realm:
    """`prefix` is what stands before `/realms`; `fails` is how the token endpoint answers, whoever asks, `says` what there
    is in place of the metadata."""

    def __init__(self, prefix: str = "") -> None:
        self.url, self.path = "", f"{prefix}/realms/the%20main%20one"
        self.clients = {"service": "secret-of-the-service"}
        self.users = {"alice": "pass-word-of-alice"}
        self.life = 300.0
        self.fails: tuple[int, str, str] | None = None
        self.says: tuple[int, Any] | None = None
        self.tokens: dict[str, float] = {}
        self.asked: list[dict[str, str]] = []
        self.paths: list[str] = []

    @property
    def metadata(self) -> dict[str, Any]:
        at = f"{self.url}{self.path}"
        endpoints = {name: f"{at}/protocol/openid-connect/{name}" for name in ("auth", "token", "revoke")}
        return {
            "issuer": at,
            "authorization_endpoint": endpoints["auth"],
            "token_endpoint": endpoints["token"],
            "revocation_endpoint": endpoints["revoke"],
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["plain", "S256"],
        }

    def grant(self, told: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        basic = base64.b64decode(authorization.removeprefix("Basic ")).decode() if authorization else ""
        client, _, secret = basic.partition(":")
        client, secret = (
            (unquote(client), unquote(secret)) if basic else (told.get("client_id", ""), told.get("client_secret", ""))
        )
        self.asked.append(told)
        error = self.fails
        if error is None and self.clients.get(client) != secret:
            error = WRONG_CLIENT
        if error is None and told["grant_type"] == "password" and self.users.get(told["username"]) != told["password"]:
            error = WRONG_USER
        if error is not None:
            return error[0], {"error": error[1], "error_description": error[2]}
        token = f"token-{secrets.token_urlsafe(24)}"
        self.tokens[token] = time.time() + self.life
        return 200, {
            "access_token": token,
            "expires_in": self.life,
            "token_type": "Bearer",
            "scope": told.get("scope", "email profile"),
        }


class Handler(BaseHTTPRequestHandler):
    realm: Realm

    def do_GET(self) -> None:
        realm = self.realm
        realm.paths.append(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        authorization = self.headers.get("Authorization", "")
        if self.path == f"{realm.path}/.well-known/openid-configuration":
            return self.say(*(realm.says or (200, realm.metadata)))
        if self.path == f"{realm.path}/protocol/openid-connect/token":
            return self.say(*realm.grant(dict(parse_qsl(body)), authorization))
        if self.path == "/api/me":
            there = realm.tokens.get(authorization.removeprefix("Bearer "), 0) > time.time()
            return self.say(200, {"told": authorization}) if there else self.say(401, {})
        if "/realms/" in self.path and not self.path.startswith("/.well-known"):
            return self.say(
                404,
                {
                    "error": "Realm does not exist",
                    "error_description": "For more on this error consult the server log.",
                },
            )
        return self.say(404, {"error": "Unable to find matching target resource method"})

    do_POST = do_GET

    def say(self, status: int, told: Any) -> None:
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def running(prefix: str = "") -> Iterator[Realm]:
    realm = Realm(prefix)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Of", (Handler,), {"realm": realm}))
    realm.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield realm
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
