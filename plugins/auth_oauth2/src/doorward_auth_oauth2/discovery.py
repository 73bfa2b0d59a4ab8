"""Finds the authorization server for a server: RFC 9728, RFC 8414 and OpenID Connect Discovery, as MCP uses them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import httpx2
from doorward import ConfigError, ServerError
from mcp.client.auth import utils
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from pydantic import AnyHttpUrl, ValidationError

from doorward_auth_oauth2.settings import PEOPLE
from doorward_auth_oauth2.wire import said

if TYPE_CHECKING:
    from doorward import PluginContext

    from doorward_auth_oauth2.settings import OAuth2Settings
    from doorward_auth_oauth2.wire import Wire


class Metadata(OAuthMetadata):
    """The metadata of an authorization server, with the endpoint for devices (RFC 8628 section 4)."""

    device_authorization_endpoint: AnyHttpUrl | None = None


class Found:
    """The result of discovery: the provider, the resource's own metadata if there is any, and the scopes to request."""

    def __init__(self, provider: Metadata, resource: ProtectedResourceMetadata | None, scopes: list[str]) -> None:
        self.provider, self.resource, self.scopes = provider, resource, scopes
        about = {"issuer", "authorization_endpoint", "token_endpoint", "revocation_endpoint"}
        self.named: dict[str, Any] = provider.model_dump(mode="json", include=about, exclude_none=True)
        """The part of the provider's metadata that is stored."""
        self.protected: dict[str, Any] = (
            resource.model_dump(mode="json", include={"resource", "authorization_servers"}) if resource else {}
        )


async def discover(context: PluginContext[OAuth2Settings], wire: Wire) -> Found:
    """Ask the server, then the provider. Raises: ServerError, ConfigError."""
    settings, url = context.settings, context.url
    if settings.token_url:
        device = settings.device_authorization_url or None
        return Found(
            _by_urls(settings.token_url, settings.authorization_url or settings.token_url, device=device),
            None,
            settings.scopes,
        )
    challenge = await wire.challenge(url, mcp=context.source == "mcp")
    challenged = challenge if challenge.status_code in (401, 403) else None
    resource = await _resource(challenged, url, wire)
    provider = await _provider(settings, url, resource, wire, guess=challenge.status_code == 401)
    return Found(provider, resource, settings.scopes or _asked(settings, challenged, resource, provider))


async def _resource(challenged: httpx2.Response | None, url: str, wire: Wire) -> ProtectedResourceMetadata | None:
    """The metadata of the protected resource (RFC 9728), if it publishes any."""
    named = utils.extract_resource_metadata_from_www_auth(challenged) if challenged is not None else None
    for at in utils.build_protected_resource_metadata_discovery_urls(named, url):
        found = await utils.handle_protected_resource_response(await wire.get(at))
        if found is None:
            continue
        if not check_resource_allowed(
            requested_resource=resource_url_from_server_url(url), configured_resource=str(found.resource)
        ):
            raise ServerError(f"{at} is about {found.resource}, not about {url}: nobody was asked for tokens")
        return found
    return None


async def _provider(
    settings: OAuth2Settings, url: str, resource: ProtectedResourceMetadata | None, wire: Wire, *, guess: bool
) -> Metadata:
    """The metadata of the authorization server; its issuer must be the expected one (RFC 8414 section 3.3)."""
    offered = [str(one) for one in resource.authorization_servers] if resource else []
    issuer = settings.issuer or (offered[0] if offered else "")
    if settings.issuer and offered:
        issuer = next((one for one in offered if utils.issuers_match(one, settings.issuer)), "")
        if not issuer:
            raise ServerError(
                f"{url} sends to {', '.join(offered)}, which is not the issuer that is configured: nobody was asked "
                f"for tokens"
            )
    expected = issuer or str(httpx2.URL(url).copy_with(path="", query=None, fragment=None, userinfo=b""))
    words = ""
    for at in utils.build_oauth_authorization_server_metadata_discovery_urls(issuer or None, url):
        response = await wire.get(at)
        ok, told = await utils.handle_auth_metadata_response(response)
        words = _words(response) or words
        if told is not None:
            try:
                found = Metadata.model_validate_json(response.content)
            except ValidationError:
                raise ServerError(f"{at} names no place for devices that could be used") from None
            if not utils.issuers_match(str(found.issuer), expected):
                if settings.usual_urls(words):
                    break
                raise ServerError(
                    f"{at} is the metadata of {found.issuer}, not of {expected}: nobody was asked for tokens"
                )
            if settings.flow == "authorization_code":
                _check(found, strict=resource is not None)
            return found
        if not ok:
            break
    if usual := settings.usual_urls(words):
        return Metadata.model_validate({"issuer": expected, **usual})
    if settings.issuer:
        raise ConfigError(f"{issuer} has no metadata{f': {words}' if words else ''}", hint="Is that its address?")
    if issuer or not guess:
        what = f"{issuer} has no metadata" if issuer else f"{url} does not say where to log in"
        raise ConfigError(what, hint="Set issuer, or authorization_url and token_url with a client_id, in auth.")
    base = expected.rstrip("/")  # as in MCP's specification of 2025-03-26
    return _by_urls(f"{base}/token", f"{base}/authorize", f"{base}/register", issuer=expected)


def _words(response: httpx2.Response) -> str:
    """The reason that an answer without metadata gives, if any (Keycloak: that there is no such realm)."""
    try:
        content = response.json()
    except (ValueError, RecursionError):
        return ""
    return said(content) if isinstance(content, dict) and content.get("error") else ""


def _by_urls(
    token: str, authorization: str, registration: str | None = None, *, issuer: str = "", device: str | None = None
) -> Metadata:
    told = {
        "issuer": issuer or token,
        "token_endpoint": token,
        "authorization_endpoint": authorization,
        "registration_endpoint": registration,
        "device_authorization_endpoint": device,
    }
    try:
        return Metadata.model_validate(told)
    except ValidationError:
        raise ConfigError("token_url, authorization_url or device_authorization_url is no URL") from None


def _check(found: OAuthMetadata, *, strict: bool) -> None:
    """Refuse a provider that cannot log in safely.

    The login page must belong to the issuer, or to the host of the token endpoint, which receives the code. If it
    belongs to a third party, the issuer is after a code of theirs (a mix-up attack, RFC 9700 section 4.4).
    """
    login = httpx2.URL(str(found.authorization_endpoint)).origin
    if login not in (httpx2.URL(str(found.issuer)).origin, httpx2.URL(str(found.token_endpoint)).origin):
        raise ServerError(
            f"{found.issuer} wants logins at {login.host}, which is neither its own nor that of its token endpoint"
        )
    methods = found.code_challenge_methods_supported
    if "S256" not in (methods or ()) and (methods is not None or strict):
        raise ServerError(f"{found.issuer} does not offer PKCE with S256, without which no login is safe")


def _asked(
    settings: OAuth2Settings,
    challenged: httpx2.Response | None,
    resource: ProtectedResourceMetadata | None,
    provider: OAuthMetadata,
) -> list[str]:
    """The scopes that the server asks for, with `offline_access` for a person's refresh token if
    the provider supports it."""
    scopes = challenged_scopes(challenged) if challenged is not None else []
    scopes = scopes or _scopes((resource and resource.scopes_supported) or ())
    if (
        scopes
        and settings.flow in PEOPLE
        and "offline_access" in (provider.scopes_supported or ())
        and "offline_access" not in scopes
    ):
        scopes.append("offline_access")
    return scopes


def challenged_scopes(response: httpx2.Response) -> list[str]:
    """The scopes that an answer demands (RFC 6750 section 3)."""
    return _scopes((utils.extract_scope_from_www_auth(response) or "").split())


def challenged_login(response: httpx2.Response) -> dict[str, str]:
    """What an answer demands of the login itself (RFC 9470 section 3): `acr_values`, `max_age`."""
    acr = _scopes((utils.extract_field_from_www_auth(response, "acr_values") or "").split())[:10]
    age = utils.extract_field_from_www_auth(response, "max_age") or ""
    return ({"acr_values": " ".join(acr)} if acr else {}) | (
        {"max_age": age} if re.fullmatch(r"[0-9]{1,9}", age) else {}
    )


def _scopes(words: Iterable[str]) -> list[str]:
    """The words that are valid scopes (RFC 6749 section 3.3), up to a plausible number."""
    return [word for word in words if re.fullmatch(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}", word)][:100]
