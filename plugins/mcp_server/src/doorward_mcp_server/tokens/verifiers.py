"""The verifiers of bearer tokens: for those of the configuration, of an authorization server, and of a plugin."""

from __future__ import annotations

import time
from typing import Any

from doorward import DoorwardError, Gateway, PluginError
from doorward.serving import can_come_in, seldom
from mcp.server.auth.provider import AccessToken, TokenVerifier

from doorward_mcp_server.settings import http_of
from doorward_mcp_server.tokens.access_tokens import AccessTokens
from doorward_mcp_server.tokens.issuer import Unavailable
from doorward_mcp_server.tokens.static_tokens import StaticTokens


class Verifiers:
    """All configured verifiers, as the one `TokenVerifier` of the SDK. Raises: PluginError if a plugin fails."""

    def __init__(self, gate: Gateway) -> None:
        self._gate = gate
        oauth = http_of(gate.config).oauth
        self.scopes: list[str] = oauth.scopes if oauth else []
        self._static = StaticTokens(gate.loaded, self.scopes)
        self._oauth = AccessTokens(oauth, lambda: gate.principals.endpoints) if oauth else None
        self._of_plugin = of_plugin(gate)
        self._wanted = False

    def serve_at(self, url: str) -> None:
        """Set the resource for which tokens must be issued. Its URL is known only when the port is."""
        if self._oauth is not None:
            self._oauth.resource = url

    def wanted(self) -> bool:
        """Whether clients must bring a token. Once they must, that stays so, even when the last token is revoked."""
        self._wanted = self._wanted or bool(self._oauth or self._of_plugin or self._static)
        return self._wanted

    async def verify_token(self, token: str) -> AccessToken | None:
        """The token as the first verifier that accepts it gives it, with the principal as `subject`. Raises:
        Unavailable if none accepts it and one of them cannot tell."""
        down: Unavailable | None = None
        verifiers: tuple[TokenVerifier | None, ...] = (self._static, self._of_plugin, self._oauth)
        for verifier in filter(None, verifiers):
            try:
                found = await verifier.verify_token(token)
            except Unavailable as error:
                down = error
            except Exception as error:  # without its text, which may quote the token
                seldom.error("verifier_failed", verifier=type(verifier).__name__, why=type(error).__name__)
                down = Unavailable("the token cannot be verified")
            else:
                if found is not None and self._may_enter(found):
                    if verifier is self._oauth:  # servers may need it, to be exchanged for another one
                        self._gate.principals.present(str(found.subject), found.token)
                    return found
        if down is not None:
            raise down
        if self._oauth is None:  # else it has said why
            seldom.info("token_refused", why="it is unknown or revoked, or it has ended")
        return None

    def _may_enter(self, found: Any) -> bool:
        if not isinstance(found, AccessToken) or not can_come_in(found.subject):
            seldom.warning(
                "token_without_principal",
                hint="Its subject must be a name, other than `local` and `*`, of at most 200 characters.",
            )
            return False
        return found.expires_at is None or found.expires_at >= time.time()


def of_plugin(gate: Gateway) -> TokenVerifier | None:
    """The verifier of a plugin, if one brings it. Raises: PluginError, which names the plugin, if that fails."""
    try:
        found: TokenVerifier | None = gate.plugins.hook.token_verifier()
    except PluginError:
        raise
    except DoorwardError as error:
        raise PluginError(f"a plugin's token_verifier failed: {error}", hint=error.hint) from error
    return found
