"""A person's login in a browser, by the SDK's OAuth provider.

That provider is an `httpx2.Auth` meant to stand between a client and a server, and holds a lock while it waits for the
server. Here it is driven by hand: it sees no requests to the server, and its own requests go out through `Wire`. What
it needs to know about the authorization server comes from `discovery`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import httpx2
from doorward import ConfigError, ServerError
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError, utils
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from doorward_auth_oauth2 import grants
from doorward_auth_oauth2.login_store import Login

if TYPE_CHECKING:
    from doorward_auth_oauth2.discovery import Found
    from doorward_auth_oauth2.settings import OAuth2Settings
    from doorward_auth_oauth2.wire import Wire

logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)  # what it logs is also raised, and reported by us

STEP_UP = {"WWW-Authenticate": 'Bearer error="insufficient_scope"'}
"""The answer that makes a provider fetch tokens with what it already knows."""


class _Memory:
    """The SDK's `TokenStorage`, for one flow."""

    def __init__(self, client: OAuthClientInformationFull | None = None) -> None:
        self.client = client

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        pass  # the tokens are read from the answer itself

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
    """Log a person in: `visit` takes them to a page, `answer` returns what came back. If no client is configured, one
    is registered for this login: providers forget earlier ones, and then nobody could log in.

    Raises: ServerError, ConfigError.
    """
    grants.require_named(settings, url, found)
    cimd = (
        settings.client_metadata_url
        if utils.should_use_client_metadata_url(found.provider, settings.client_metadata_url)
        else ""
    )
    redirects = [AnyUrl(redirect_uri)]
    own = (
        OAuthClientInformationFull(client_id=settings.client_id, redirect_uris=redirects)
        if settings.client_id
        else None
    )
    memory = _Memory(own)
    if memory.client is None and not cimd and found.provider.registration_endpoint is None:
        raise ConfigError(
            f"{found.provider.issuer} registers no clients by itself",
            hint=f"Register one there, with the redirect URL {redirect_uri}, and set its client_id, and "
            f"redirect_port, in auth.",
        )

    async def visit_with_more(page: str) -> None:
        more = await settings.more_fields() | ({"resource": settings.resources} if settings.resources else {})
        if "?" in (endpoint := str(found.provider.authorization_endpoint)):  # the SDK appends another one
            more = dict(parse_qsl(page.removeprefix(f"{endpoint}?"))) | more
            page = endpoint
        await visit(str(httpx2.URL(page).copy_merge_params(more)) if more else page)

    metadata = OAuthClientMetadata(
        client_name="Doorward", redirect_uris=redirects, scope=" ".join(found.scopes) or None
    )
    provider = OAuthClientProvider(url, metadata, memory, visit_with_more, answer, cimd or None)
    # Without `scopes_supported` it requests the scopes that it was given, and no others.
    unscoped = {"scopes_supported": None}
    provider.context.oauth_metadata = found.provider.model_copy(update=unscoped)
    provider.context.protected_resource_metadata = (
        found.resource.model_copy(update=unscoped) if found.resource else None
    )
    provider.context.auth_server_url = str(found.provider.issuer)
    tokens, client = await _drive(provider, memory, settings, url, found, wire)
    return Login({"scope": " ".join(found.scopes)} | tokens, found.named, found.protected, client)


async def _drive(
    provider: OAuthClientProvider, memory: _Memory, settings: OAuth2Settings, url: str, found: Found, wire: Wire
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a provider's flow until it would send the request; the answer to that makes it fetch tokens, until it
    would send the request again.

    Returns: the tokens, and the client that was registered for them.
    """
    request, tokens, client = httpx2.Request("GET", url), {}, {}
    flow = provider.async_auth_flow(request)
    try:
        for told in (None, httpx2.Response(403, headers=STEP_UP, request=request)):
            outgoing = await flow.asend(told)  # type: ignore[arg-type]  # a generator is started with None
            while outgoing is not request:
                if str(outgoing.url) != found.named["token_endpoint"]:
                    outgoing = await flow.asend(await wire.send(outgoing))
                    continue
                if memory.client and not settings.client_id:
                    client = memory.client.model_dump(mode="json", exclude_none=True)
                fields = dict(parse_qsl(outgoing.content.decode()))
                fields = {name: value for name, value in fields.items() if name not in ("client_id", "client_secret")}
                tokens = await grants.ask(settings, found.named, found.protected, client, fields, wire)
                read = {"access_token": tokens["access_token"], "token_type": "Bearer"}
                outgoing = await flow.asend(httpx2.Response(200, json=read, request=outgoing))
    except (
        OAuthTokenError,
        OAuthRegistrationError,
        ValueError,
    ):  # their texts quote parts of answers, in which the scrubber would not recognise a token
        raise ServerError(f"{provider.context.auth_server_url or 'the provider'} gave no usable answer") from None
    except OAuthFlowError as error:
        raise ServerError(f"the login failed: {str(error)[:300]}") from None
    finally:
        await flow.aclose()
    if not tokens:
        raise ServerError(f"{found.provider.issuer} gave no token")
    return tokens, client
