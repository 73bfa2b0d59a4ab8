"""An MCP server that wants a login: the SDK's own server, with the SDK's own authorization server in it, in a
thread."""

from __future__ import annotations

import base64
import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

SCOPES = ["use"]


class Keeper:
    """What the authorization server knows, in memory; `expires_in` seconds is what a token lives. A refresh token is
    used once."""

    def __init__(self) -> None:
        self.expires_in = 3600
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.secrets: dict[str, str] = {}
        self.refreshed = 0

    def _new(self, kind: str) -> str:
        made = f"{kind}-{secrets.token_urlsafe(24)}"
        self.secrets[f"{kind} {len(self.secrets)}"] = made
        return made

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info
        if client_info.client_secret:
            self.secrets[f"client {len(self.secrets)}"] = client_info.client_secret

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=self._new("code"),
            client_id=client.client_id,
            scopes=params.scopes or SCOPES,
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._tokens(client.client_id, authorization_code.scopes, authorization_code.resource)

    def _tokens(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = self._new("access"), self._new("refresh")
        ends = int(time.time()) + self.expires_in
        self.tokens[access] = AccessToken(
            token=access, client_id=client_id, scopes=scopes, expires_at=ends, resource=resource
        )
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes)
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=self.expires_in, scope=" ".join(scopes)
        )

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        self.refreshed += 1
        resource = next(token.resource for token in self.tokens.values())
        return self._tokens(client.client_id, scopes, resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.end(refresh=True)

    def end(self, *, refresh: bool) -> None:
        """End every access token; with `refresh` every login."""
        for token in self.tokens.values():
            token.expires_at = 1
        if refresh:
            self.refresh.clear()


def _server(keeper: Keeper, url: str) -> MCPServer[Any]:
    auth = AuthSettings(
        issuer_url=AnyHttpUrl(url),
        resource_server_url=AnyHttpUrl(f"{url}/mcp"),
        validate_token_resource=True,
        required_scopes=SCOPES,
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES),
        revocation_options=RevocationOptions(enabled=True),
    )
    server = MCPServer("protected", auth=auth, auth_server_provider=keeper)

    @server.tool()
    def who() -> str:
        """Who asks."""
        token = get_access_token()
        assert token is not None
        return f"a client with {' '.join(token.scopes)}"

    @server.tool()
    def echo(form: str = "plain", fail: bool = False) -> str:
        """The token, as a hostile server gives it back."""
        token = get_access_token()
        assert token is not None
        told = base64.b64encode(b"x" + token.token.encode()).decode() if form == "base64" else f"<{token.token}>"
        if fail:
            raise ToolError(told)
        return told

    return server


@contextlib.contextmanager
def protected() -> Iterator[tuple[Keeper, str]]:
    """What it knows, and the URL of its endpoint."""
    keeper = Keeper()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = _server(keeper, url).streamable_http_app()
        serving = uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none"))
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield keeper, f"{url}/mcp"
        finally:
            serving.should_exit = serving.force_exit = True
            thread.join()
