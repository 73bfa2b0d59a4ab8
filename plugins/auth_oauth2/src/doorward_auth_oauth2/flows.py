"""The flows themselves, by the SDK's providers.

A provider is an `httpx2.Auth` that wants to stand between a client and a server, and holds a lock while it waits for the server. Here it is
driven by hand instead: it sees no request of the server's, and what it sends goes out through `Wire`. What it has to know of the
authorization server is set before; `discovery` has found it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx2
from doorward import ConfigError, ServerError
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError, utils
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider, PrivateKeyJWTOAuthProvider, SignedJWTParameters
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, ValidationError

from doorward_auth_oauth2.kept import Login

if TYPE_CHECKING:
    from doorward_auth_oauth2.discovery import Found
    from doorward_auth_oauth2.settings import OAuth2Settings
    from doorward_auth_oauth2.wire import Wire

logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)  # what it logs is raised as well, and told by us

STEP_UP = {"WWW-Authenticate": 'Bearer error="insufficient_scope"'}
"""The answer upon which a provider gets tokens by what it knows already."""


class _Memory:
    """The SDK's `TokenStorage`, for one flow."""

    def __init__(self, tokens: OAuthToken | None = None, client: OAuthClientInformationFull | None = None) -> None:
        self.tokens, self.client = tokens, client

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def authorize(
    settings: OAuth2Settings,
    url: str,
    found: Found,
    redirect_uri: str,
    visit: Callable[[str], Awaitable[None]],
    answer: Callable[[], Awaitable[AuthorizationCodeResult]],
    wire: Wire,
) -> Login:
    """A person logs in: `visit` takes them to a page, `answer` is what came back. A client that is not configured is registered for
    this login: providers forget those of before, and then nobody could log in.

    Raises: ServerError, ConfigError.
    """
    _require_named(settings, url, found)
    cimd = settings.client_metadata_url if utils.should_use_client_metadata_url(found.provider, settings.client_metadata_url) else ""
    redirects = [AnyUrl(redirect_uri)]
    memory = _Memory(client=_client(settings, {}, redirects))
    if memory.client is None and not cimd and found.provider.registration_endpoint is None:
        raise ConfigError(
            f"{found.provider.issuer} registers no clients by itself",
            hint=f"Register one there, with the redirect URL {redirect_uri}, and set its client_id, and redirect_port, in auth.",
        )
    metadata = OAuthClientMetadata(client_name="Doorward", redirect_uris=redirects, scope=" ".join(found.scopes) or None)
    provider = OAuthClientProvider(url, metadata, memory, visit, answer, cimd or None)
    return await _tokens(provider, memory, url, found, wire, keep_client=not settings.client_id)


async def client_credentials(settings: OAuth2Settings, url: str, found: Found, wire: Wire) -> Login:
    """The client gets tokens for itself. Raises: ServerError, ConfigError."""
    _require_named(settings, url, found)
    who, issuer, scope, memory = settings.client_id, str(found.provider.issuer), " ".join(found.scopes) or None, _Memory()
    provider: OAuthClientProvider
    if settings.private_key is not None:
        provider = PrivateKeyJWTOAuthProvider(url, memory, who, _signer(settings, settings.private_key.reveal()), scope, issuer)
    else:
        secret = settings.client_secret.reveal() if settings.client_secret else ""
        method = _METHODS[settings.client_auth]
        provider = ClientCredentialsOAuthProvider(url, memory, who, secret, method, scope, issuer)
    return await _tokens(provider, memory, url, found, wire, keep_client=False)


async def refresh(settings: OAuth2Settings, url: str, login: Login, wire: Wire) -> Login:
    """New tokens for a login. Raises: Refused, ServerError."""
    provider, memory = _provider_of(settings, url, login)
    before = memory.tokens
    await _drive(provider, httpx2.Request("GET", url), wire)
    if memory.tokens is before:
        raise ServerError(f"{login.provider['token_endpoint']} gave no usable token")
    return _login(memory, login.provider, login.resource, login.client)


async def revoke(settings: OAuth2Settings, url: str, login: Login, wire: Wire) -> bool:
    """Have the provider forget a login (RFC 7009). Returns: whether it can. Raises: ServerError."""
    endpoint = login.provider.get("revocation_endpoint")
    if not endpoint:
        return False
    provider, memory = _provider_of(settings, url, login)
    provider.context.client_info = memory.client
    data = {"token": login.tokens.get("refresh_token") or login.token, "client_id": memory.client.client_id if memory.client else ""}
    data, headers = provider.context.prepare_token_auth(data, {})
    await wire.send(httpx2.Request("POST", endpoint, data=data, headers=headers))
    return True


async def _tokens(provider: OAuthClientProvider, memory: _Memory, url: str, found: Found, wire: Wire, *, keep_client: bool) -> Login:
    """Have a provider get tokens. Without `scopes_supported` it asks for the scopes that it was given, and no others."""
    context, unscoped = provider.context, {"scopes_supported": None}
    context.oauth_metadata = found.provider.model_copy(update=unscoped)
    context.protected_resource_metadata = found.resource.model_copy(update=unscoped) if found.resource else None
    context.auth_server_url = str(found.provider.issuer)
    request = httpx2.Request("GET", url)
    await _drive(provider, request, wire, httpx2.Response(403, headers=STEP_UP, request=request))
    if memory.tokens is None:
        raise ServerError(f"{found.provider.issuer} gave no token")
    about = {"issuer", "authorization_endpoint", "token_endpoint", "revocation_endpoint"}
    named = found.provider.model_dump(mode="json", include=about, exclude_none=True)
    resource = found.resource.model_dump(mode="json", include={"resource", "authorization_servers"}) if found.resource else {}
    client = memory.client.model_dump(mode="json", exclude_none=True) if memory.client and keep_client else {}
    return _login(memory, named, resource, client)


async def _drive(provider: OAuthClientProvider, request: httpx2.Request, wire: Wire, answer: httpx2.Response | None = None) -> None:
    """Go through a provider's flow until it would send `request`; then, if there is an answer to that, until it would send it again."""
    flow = provider.async_auth_flow(request)
    try:
        for told in (None, answer) if answer else (None,):
            outgoing = await flow.asend(told)  # type: ignore[arg-type]  # the first of a generator is None
            while outgoing is not request:
                outgoing = await flow.asend(await wire.send(outgoing))
    except (
        OAuthTokenError,
        OAuthRegistrationError,
        ValueError,
        OverflowError,
    ):  # their texts quote answers, cut, where no scrubber knows a token
        raise ServerError(f"{provider.context.auth_server_url or 'the provider'} gave no usable answer") from None
    except OAuthFlowError as error:
        raise ServerError(f"the login failed: {str(error)[:300]}") from None
    finally:
        await flow.aclose()


def _provider_of(settings: OAuth2Settings, url: str, login: Login) -> tuple[OAuthClientProvider, _Memory]:
    """The provider of a login, for whom its token has ended."""
    try:
        memory = _Memory(OAuthToken.model_validate(login.tokens), _client(settings, login.client, None))
        provider = OAuthClientProvider(url, OAuthClientMetadata(redirect_uris=None), memory)
        provider.context.oauth_metadata = OAuthMetadata.model_validate(login.provider)
        provider.context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(login.resource) if login.resource else None
    except ValidationError:
        raise ServerError("what is kept of the login cannot be read") from None
    provider.context.token_expiry_time = 1.0
    return provider, memory


def _client(settings: OAuth2Settings, registered: dict[str, Any], redirects: list[AnyUrl] | None) -> OAuthClientInformationFull | None:
    """The client that is configured, else the one that was registered."""
    if not settings.client_id:
        return OAuthClientInformationFull.model_validate(registered) if registered else None
    secret = settings.client_secret.reveal() if settings.client_secret else None
    method = _METHODS[settings.client_auth] if secret else "none"
    return OAuthClientInformationFull(
        client_id=settings.client_id, client_secret=secret, token_endpoint_auth_method=method, redirect_uris=redirects
    )


def _login(memory: _Memory, provider: dict[str, Any], resource: dict[str, Any], client: dict[str, Any]) -> Login:
    assert memory.tokens is not None
    if not re.fullmatch(r"[\x21-\x7e]+", memory.tokens.access_token):
        raise ServerError(f"{provider['issuer']} gave a token that no header may hold")
    return Login(memory.tokens.model_dump(mode="json", exclude_none=True), provider, resource, client)


def _require_named(settings: OAuth2Settings, url: str, found: Found) -> None:
    """A configured secret goes to a provider that the configuration names, or to the server itself; not to whom the server names."""
    if (settings.client_secret is None and settings.private_key is None) or settings.issuer or settings.token_url:
        return
    if httpx2.URL(str(found.provider.token_endpoint)).origin != httpx2.URL(url).origin:
        raise ConfigError(
            f"{url} sends to {found.provider.issuer}, and nothing says that the secret of {settings.client_id!r} is for that",
            hint=f'If it is, set issuer = "{found.provider.issuer}" in auth.',
        )


def _signer(settings: OAuth2Settings, key: str) -> Callable[[str], Awaitable[str]]:
    """What signs an assertion for an audience (RFC 7523)."""
    sign = SignedJWTParameters(
        issuer=settings.client_id, subject=settings.client_id, signing_key=key, signing_algorithm=settings.signing_algorithm
    ).create_assertion_provider()

    async def signed(audience: str) -> str:
        try:
            return await sign(audience)
        except Exception as error:  # of the key's format: it must not be quoted
            raise ConfigError(f"private_key cannot sign with {settings.signing_algorithm}: {type(error).__name__}") from None

    return signed


_METHODS: dict[str, Any] = {"basic": "client_secret_basic", "post": "client_secret_post"}
