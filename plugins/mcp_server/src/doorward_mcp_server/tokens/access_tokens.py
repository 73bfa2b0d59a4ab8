"""Access tokens of an authorization server: JWTs that it has signed for us (RFC 9068, RFC 8725)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jwt
from doorward.serving import seldom
from mcp.server.auth.provider import AccessToken

from doorward_mcp_server.settings import OAuthSettings
from doorward_mcp_server.tokens.bound_token import BoundToken
from doorward_mcp_server.tokens.issuer import Keys, Unavailable

CLOCK_SKEW_SECONDS = 60
"""Seconds by which the clocks of the authorization server and of this machine may differ."""
MAX_TOKEN_CHARACTERS = 16 * 2**10
"""Longest token."""
_ACCESS_TOKEN_TYPES = ("at+jwt", "application/at+jwt")
_ID_TOKEN_CLAIMS = ("nonce", "at_hash", "c_hash", "s_hash", "events")
"""Claims of ID tokens and logout tokens alone. An ID token tells a client who has logged in; it gives no access."""
_CLIENT_CLAIMS = ("client_id", "azp", "cid", "appid")
"""Claims with the client to which a token was issued: of RFC 9068, OpenID Connect and most
providers, Okta, Entra ID."""


class Refused(ValueError):
    """Why a token is not valid. Quotes nothing of the token."""


class AccessTokens:
    """Verifies access tokens. `resource` is the URL of this endpoint, for which they must be issued if the
    configuration names no audience. A token for the URL of one of the `endpoints` opens that alone."""

    def __init__(self, settings: OAuthSettings, endpoints: Callable[[], Iterable[str]] = tuple) -> None:
        self._settings, self._endpoints = settings, endpoints
        self.resource = ""
        named = [settings.audience] if isinstance(settings.audience, str) else settings.audience
        self._audience = [name for name in named if name]
        self._keys = Keys(settings)

    async def verify_token(self, token: str) -> AccessToken | None:
        """The SDK's form of a valid token, with the principal as `subject`; else `None`. Raises: Unavailable."""
        try:
            return self._found(token, await self._claims(token))
        except Unavailable:
            raise
        except Exception as error:  # a token may be anything, and its bearer is not told what is wrong
            told = f": {error}" if isinstance(error, (jwt.InvalidTokenError, Refused)) else ""
            seldom.info("token_refused", why=f"{type(error).__name__}{told}"[:200])
            return None

    def _found(self, token: str, claims: Mapping[str, Any]) -> AccessToken:
        return BoundToken(
            token=token,
            client_id=str(claims.get("client_id") or claims.get("azp") or claims["iss"]),
            scopes=_scopes(claims),
            expires_at=int(claims["exp"]) + CLOCK_SKEW_SECONDS,
            resource=self.resource,
            subject=claims[self._settings.principal],
            claims=dict(claims),
            endpoints=self._bound(claims),
        )

    def _bound(self, claims: Mapping[str, Any]) -> tuple[str, ...] | None:
        """The endpoints that a token is for, by its audience (RFC 8707) and by a claim; `None`: it says nothing of any.
        Raises: Refused for a claim that is neither a name nor a list of names, or leaves nothing."""
        found = self._by_audience(claims)
        claim = self._settings.endpoint
        if claim and claim in claims:
            names = [claims[claim]] if isinstance(claims[claim], str) else claims[claim]
            if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
                raise Refused("its endpoint is no name")
            found = tuple(names) if found is None else tuple(name for name in names if name in found)
        if found == ():
            raise Refused("bound to no endpoint")
        return found

    def _by_audience(self, claims: Mapping[str, Any]) -> tuple[str, ...] | None:
        audience = [claims["aud"]] if isinstance(claims["aud"], str) else claims["aud"]
        if any(each in audience for each in self._everywhere):
            return None
        return tuple(name for name in self._endpoints() if f"{self.resource}/{name}" in audience)

    @property
    def _everywhere(self) -> list[str]:
        """The audiences of tokens that are for no endpoint alone."""
        return self._audience or [self.resource]

    async def _claims(self, token: str) -> Mapping[str, Any]:
        """Raises: Unavailable; any exception for a token that is not valid."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise Refused("too long")
        header = jwt.get_unverified_header(token)
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in self._settings.algorithms:
            raise Refused("signed by an algorithm that is not accepted")
        options: Any = {"require": ["iss", "aud", "exp"], "enforce_minimum_key_length": True}
        wrong: Exception = Refused("signed with a key that the issuer does not have")
        for key in await self._keys.named(kid, algorithm):
            try:
                claims: dict[str, Any] = jwt.decode(
                    token,
                    key,
                    [algorithm],
                    options,
                    audience=[*self._everywhere, *(f"{self.resource}/{name}" for name in self._endpoints())],
                    issuer=self._settings.issuer,
                    leeway=CLOCK_SKEW_SECONDS,
                )
            except jwt.InvalidSignatureError as error:
                wrong = error
                continue
            _check(header, claims)
            return claims
        raise wrong


def _check(header: Mapping[str, Any], claims: Mapping[str, Any]) -> None:
    """Raises: Refused for a token that the same issuer has signed for us, but that is no access token."""
    kind = str(header.get("typ", "")).lower()
    if "cnf" in claims:
        raise Refused("bound to a key of its client (DPoP or mTLS), of which a bearer shows no proof")
    if kind in _ACCESS_TOKEN_TYPES:
        return
    if kind not in ("", "jwt"):
        raise Refused("its typ is not that of an access token")
    if "typ" in claims:  # Keycloak puts the type there
        if claims["typ"] != "Bearer":
            raise Refused("not an access token")
    elif claims.get("token_use", "access") != "access":  # Cognito puts it there
        raise Refused("not an access token")
    elif any(claim in claims for claim in _ID_TOKEN_CLAIMS):
        raise Refused("an ID token, not an access token")
    else:
        _check_client(claims)


def _check_client(claims: Mapping[str, Any]) -> None:
    """Refuse ID tokens that have no other mark: their audience is the client itself.

    So a token that does not tell its type must name a client and another audience. With `scp` it need not: in Entra ID
    an application may be its own API. Raises: Refused.
    """
    if "scp" in claims:
        return
    audience = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
    clients = [claims[claim] for claim in _CLIENT_CLAIMS if claim in claims]
    if any(client in audience for client in clients):
        raise Refused("for the client that it was issued to: an ID token, or as good as one")
    if not clients and "scope" not in claims:
        raise Refused("nothing in it says that it is an access token: neither its typ, nor a client or scopes")


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token: `scope` is a string (RFC 9068), `scp` a string or a list."""
    found = claims.get("scope", claims.get("scp", ""))
    if isinstance(found, str):
        return found.split()
    return [scope for scope in found if isinstance(scope, str)] if isinstance(found, list) else []
