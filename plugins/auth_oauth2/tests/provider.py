"""An authorization server, by Authlib, and an API that its tokens protect: each on a port of its own on loopback, in
threads.

Not a mock: clients, PKCE, grants, rotation and revocation are Authlib's. Tests set what it should do, and read what it
was asked.
"""

from __future__ import annotations

import secrets
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import flask
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import InvalidGrantError, errors, grants
from authlib.oauth2.rfc6749.models import AuthorizationCodeMixin, ClientMixin, TokenMixin
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from doorward_testing import reserve_port
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

errors.is_secure_transport = lambda uri: True  # plain HTTP, for it is on loopback


@dataclass
class Client(ClientMixin):
    client_id: str
    client_secret: str
    redirect_uris: list[str]
    method: str
    scope: str = "read write offline_access"
    key: Any = None
    """The public key of a client that signs, for private_key_jwt and assertions."""

    def get_client_id(self) -> str:
        return self.client_id

    def get_default_redirect_uri(self) -> str:
        return self.redirect_uris[0]

    def get_allowed_scope(self, scope: str) -> str:
        return " ".join(s for s in (scope or "").split() if s in self.scope.split())

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri in self.redirect_uris

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(self.client_secret, client_secret)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == self.method

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return True


@dataclass
class Code(AuthorizationCodeMixin):
    code: str
    client_id: str
    redirect_uri: str
    scope: str
    code_challenge: str
    code_challenge_method: str = "S256"

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope


@dataclass
class Token(TokenMixin):
    client_id: str
    access_token: str
    refresh_token: str
    scope: str
    expires_in: int
    family: str
    issued: float = field(default_factory=time.time)
    revoked: bool = False
    used: bool = False
    user: str = "alice"
    act: dict[str, str] | None = None
    """Who acts for the user (RFC 8693 section 4.1)."""

    def check_client(self, client: Client) -> bool:
        return client.client_id == self.client_id

    def get_scope(self) -> str:
        return self.scope

    def get_expires_in(self) -> int:
        return self.expires_in

    def is_expired(self) -> bool:
        return time.time() > self.issued + self.expires_in

    def is_revoked(self) -> bool:
        return self.revoked


class Provider:
    """Both servers. `expires_in` and the like may be changed at any time; `requests` are (method, path, form or query)
    of the provider."""

    def __init__(self, more: Callable[..., None] | None = None) -> None:
        self.more = more
        """Has the authorization server know further grants."""
        self.expires_in = 3600
        self.publish = True
        """Whether the API publishes RFC 9728 metadata, and names it in its challenge."""
        self.register = True
        self.deny = False
        self.delay = 0.0
        self.opaque = False
        """Whether an identity provider answers a token of another type than was asked for."""
        self.here = ""
        """The client of identity assertions at this authorization server."""
        self.clients: dict[str, Client] = {}
        self.codes: dict[str, Code] = {}
        self.tokens: list[Token] = []
        self.users = {"alice": "password of alice", "bob": "password of bob"}
        self.devices: dict[str, dict[str, Any]] = {}
        """What devices asked for, by their code; `approved` is set by who visits the page."""
        self.query = ""
        """The query of the address of the login page."""
        self.rotates = True
        """Whether a refresh token is replaced when it is used."""
        self.slow_down = 0
        """How many polls of a device are told to slow down."""
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.calls: list[str] = []
        self._servers: dict[str, BaseWSGIServer] = {}
        self._ports = {"provider": reserve_port(), "api": reserve_port()}
        self._provider, self._api = _provider(self), _api(self)
        self.start()

    def start(self) -> None:
        """Start what does not run, at the same ports as before."""
        for name, app in (("provider", self._provider), ("api", self._api)):
            if name not in self._servers:
                server = make_server("127.0.0.1", self._ports[name], app, threaded=True, request_handler=_Quiet)
                self._servers[name] = server
                threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self, *names: str) -> None:
        for name in names or tuple(self._servers):
            server = self._servers.pop(name)
            server.shutdown()
            server.server_close()

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self._ports['provider']}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._ports['api']}/api"

    def client(self, method: str = "client_secret_basic", redirect: str = "") -> Client:
        """A client that is registered beforehand; its secret has what makes encodings differ."""
        client = Client(f"client {secrets.token_hex(4)}", f"s+/&={secrets.token_urlsafe(24)}", [redirect], method)
        self.clients[client.client_id] = client
        return client

    def asked(self, path: str) -> list[dict[str, str]]:
        """The forms that came to a path of the provider."""
        return [form for _, at, form in self.requests if at == path]

    def secrets(self) -> dict[str, str]:
        """All that nobody may see: tokens, codes and secrets of clients."""
        found = {f"access {n}": t.access_token for n, t in enumerate(self.tokens)}
        found |= {f"refresh {n}": t.refresh_token for n, t in enumerate(self.tokens) if t.refresh_token}
        found |= {f"code {n}": form["code"] for n, form in enumerate(self.asked("/token")) if "code" in form}
        found |= {
            f"verifier {n}": form["code_verifier"]
            for n, form in enumerate(self.asked("/token"))
            if "code_verifier" in form
        }
        return found | {f"secret {n}": c.client_secret for n, c in enumerate(self.clients.values()) if c.client_secret}

    def revoke(self, *, refresh: bool) -> None:
        """End all access tokens, and with `refresh` the refresh tokens as well."""
        for token in self.tokens:
            token.revoked = True
            token.used = token.used or refresh

    def save(self, token: dict[str, Any], request: Any) -> None:
        token["expires_in"] = self.expires_in
        before = request.refresh_token
        family = before.family if before else secrets.token_hex(4)
        scope = token.get("scope") or ""
        user = request.user if isinstance(request.user, str) else "alice"
        if request.payload and request.payload.grant_type == "client_credentials":
            user = "the client itself"
        names = (request.client.client_id, token["access_token"], token.get("refresh_token", ""))
        self.tokens.append(Token(*names, scope, self.expires_in, family, user=user))

    def issue(self, user: str) -> Token:
        """A token that somebody has by another way, to be exchanged or refreshed."""
        token = Token(
            "elsewhere", secrets.token_hex(20), secrets.token_hex(20), "read", 3600, secrets.token_hex(4), user=user
        )
        self.tokens.append(token)
        return token

    def find(self, token: str) -> Token | None:
        return next((t for t in self.tokens if token and token in (t.access_token, t.refresh_token)), None)


class _Quiet(WSGIRequestHandler):
    def log(self, *args: Any) -> None:
        pass


def _provider(state: Provider) -> flask.Flask:
    app = flask.Flask("provider")
    app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
    server = AuthorizationServer(app, state.clients.get, state.save)

    class AuthorizationCodeGrant(grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post", "none")

        def save_authorization_code(self, code: str, request: Any) -> None:
            form = request.payload.data
            redirect = request.payload.redirect_uri or request.client.get_default_redirect_uri()
            scope = request.client.get_allowed_scope(request.payload.scope)
            state.codes[code] = Code(code, request.client.client_id, redirect, scope, form["code_challenge"])

        def query_authorization_code(self, code: str, client: Client) -> Code | None:
            found = state.codes.get(code)
            return found if found and found.client_id == client.client_id else None

        def delete_authorization_code(self, authorization_code: Code) -> None:
            del state.codes[authorization_code.code]

        def authenticate_user(self, authorization_code: Code) -> str:
            return "alice"

    class RefreshTokenGrant(grants.RefreshTokenGrant):
        INCLUDE_NEW_REFRESH_TOKEN = property(lambda _: state.rotates)
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post", "none")

        def authenticate_refresh_token(self, refresh_token: str) -> Token | None:
            found = state.find(refresh_token)
            if found and found.used:  # stolen, or used twice: all that came of it ends (RFC 9700 section 4.14.2)
                for token in state.tokens:
                    if token.family == found.family:
                        token.revoked = token.used = True
                raise InvalidGrantError(f"the refresh token {refresh_token} was used before")
            return found

        def authenticate_user(self, refresh_token: Token) -> str:
            return refresh_token.user

        def revoke_old_credential(self, refresh_token: Token) -> None:
            refresh_token.revoked = refresh_token.used = state.rotates

    class ClientCredentialsGrant(grants.ClientCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post", "private_key_jwt")

    class Registration(ClientRegistrationEndpoint):
        def authenticate_token(self, request: Any) -> bool:
            return state.register

        def get_server_metadata(self) -> dict[str, Any]:
            return {"token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"]}

        def save_client(self, client_info: dict[str, Any], client_metadata: dict[str, Any], request: Any) -> Client:
            method = client_metadata.get("token_endpoint_auth_method", "client_secret_basic")
            client = Client(
                client_info["client_id"], client_info["client_secret"], client_metadata["redirect_uris"], method
            )
            state.clients[client.client_id] = client
            return client

    class Revocation(RevocationEndpoint):
        CLIENT_AUTH_METHODS = ("client_secret_basic", "client_secret_post", "none")

        def query_token(self, token_string: str, token_type_hint: str) -> Token | None:
            return state.find(token_string)

        def revoke_token(self, token: Token, request: Any) -> None:
            token.revoked = token.used = True

    server.register_grant(AuthorizationCodeGrant, [CodeChallenge(required=True)])
    server.register_grant(RefreshTokenGrant)
    server.register_grant(ClientCredentialsGrant)
    if state.more:
        state.more(server, app, state)
    server.register_endpoint(Registration)
    server.register_endpoint(Revocation)

    @app.before_request
    def note() -> None:
        asked = flask.request
        form = asked.form.to_dict() or asked.args.to_dict()
        state.requests.append((asked.method, asked.path, form))

    @app.get("/.well-known/oauth-authorization-server")
    def metadata() -> dict[str, Any]:
        told = {
            "issuer": state.issuer,
            "authorization_endpoint": f"{state.issuer}/authorize{state.query}",
            "token_endpoint": f"{state.issuer}/token",
            "revocation_endpoint": f"{state.issuer}/revoke",
            "device_authorization_endpoint": f"{state.issuer}/device",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["read", "write", "offline_access", "admin"],
        }
        return told | ({"registration_endpoint": f"{state.issuer}/register"} if state.register else {})

    @app.get("/authorize")
    def authorize() -> Any:
        """The page at which a person logs in. This one needs nothing but to be visited."""
        grant = server.get_consent_grant(end_user="alice")
        return server.create_authorization_response(grant_user=None if state.deny else "alice", grant=grant)

    @app.post("/token")
    def token() -> Any:
        time.sleep(state.delay)
        return server.create_token_response()

    @app.post("/register")
    def register() -> Any:
        return server.create_endpoint_response(Registration.ENDPOINT_NAME)

    @app.post("/revoke")
    def revoke() -> Any:
        return server.create_endpoint_response(Revocation.ENDPOINT_NAME)

    return app


def _api(state: Provider) -> flask.Flask:
    app = flask.Flask("api")

    def refusal(status: int, **words: str) -> flask.Response:
        if state.publish:
            words["resource_metadata"] = state.url.replace("/api", "/.well-known/oauth-protected-resource/api")
        challenge = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in words.items())
        return flask.Response(status=status, headers={"WWW-Authenticate": challenge})

    def checked(scope: str) -> Token | flask.Response:
        sent = flask.request.headers.get("Authorization", "")
        state.calls.append(sent)
        token = state.find(sent.removeprefix("Bearer "))
        if not token or token.revoked or token.is_expired():
            return refusal(401, scope="read")
        if scope not in token.scope.split():
            return refusal(403, error="insufficient_scope", scope=scope)
        return token

    @app.get("/.well-known/oauth-protected-resource/api")
    def metadata() -> Any:
        if not state.publish:
            flask.abort(404)
        return {"resource": state.url, "authorization_servers": [state.issuer]}

    @app.get("/api/")
    @app.get("/api")
    @app.get("/api/me")
    def me() -> Any:
        token = checked("read")
        told = {"user": token.user, "scope": token.scope} if isinstance(token, Token) else token
        return {**told, "act": token.act} if isinstance(token, Token) and token.act else told

    @app.get("/api/owner")
    def owner() -> Any:
        """For somebody else, whatever a token has: as some servers say that."""
        return refusal(403, error="insufficient_scope", scope="read")

    @app.get("/api/admin")
    def admin() -> Any:
        token = checked("write")
        return {"ok": True} if isinstance(token, Token) else token

    @app.get("/api/bank")
    def bank() -> Any:
        """Wants to know better who it is (RFC 9470)."""
        return refusal(401, error="insufficient_user_authentication", acr_values="gold", max_age="60")

    @app.get("/api/echo")
    def echo() -> Any:
        """The token, as hostile APIs give it back."""
        sent = flask.request.headers.get("Authorization", "")
        told = {
            "plain": sent,
            "base64": b64encode(sent.encode()).decode(),
            "query": urlencode({"t": sent}),
            "bare": sent.removeprefix("Bearer "),
        }
        form = flask.request.args.get("form", "plain")
        return (
            ({"told": told[form]}, 200) if flask.request.args.get("status") != "400" else ({"error": told[form]}, 400)
        )

    @app.get("/openapi.json")
    def document() -> dict[str, Any]:
        texts = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("form", "status")]
        answer = {"responses": {"200": {"description": "fine"}}}
        return {
            "openapi": "3.1.0",
            "info": {"title": "Mine", "version": "1"},
            "servers": [{"url": state.url}],
            "paths": {
                "/me": {"get": {"operationId": "me", **answer}},
                "/admin": {"get": {"operationId": "admin", **answer}},
                "/echo": {"get": {"operationId": "echo", "parameters": texts, **answer}},
            },
        }

    return app


def running(more: Callable[..., None] | None = None) -> Iterator[Provider]:
    """For a fixture."""
    provider = Provider(more)
    try:
        yield provider
    finally:
        provider.stop()
