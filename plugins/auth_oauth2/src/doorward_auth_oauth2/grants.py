"""Token requests: each grant is one POST with client authentication, and all answers are read in the same way."""

from __future__ import annotations

import base64
import json
import re
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2
from doorward import ConfigError, PluginContext, ServerError
from doorward_auth_kit import parsed

from doorward_auth_oauth2.login_store import Login, life
from doorward_auth_oauth2.settings import ACCESS_TOKEN

if TYPE_CHECKING:
    from doorward_auth_oauth2.discovery import Found
    from doorward_auth_oauth2.settings import OAuth2Settings
    from doorward_auth_oauth2.wire import Wire

GRANT = "urn:ietf:params:oauth:grant-type:"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_LIFE_SECONDS, CLOCK_SKEW_SECONDS = 60, 10
"""How long an assertion is valid from now on, and how far it is dated back, since clocks differ. Keycloak refuses one
that is valid for more than a minute, unless it was issued within the last one: so neither figure may be larger."""


async def grant(
    context: PluginContext[OAuth2Settings], wire: Wire, subject: str = "", more: Sequence[str] = ()
) -> Login:
    """Tokens that Doorward gets without a person, by the configured flow. `subject` is the token to exchange, `more`
    are scopes that the server asked for later.

    Raises: ConfigError, LoginRefused, ServerError.
    """
    from doorward_auth_oauth2 import discovery

    settings = context.settings
    found = await discovery.discover(context, wire)
    require_named(settings, context.url, found)
    scope = " ".join(dict.fromkeys([*found.scopes, *more]))
    fields: dict[str, Any] = {"scope": scope}
    if settings.flow == "password":
        assert settings.username is not None and settings.password is not None  # noqa: PT018 (the settings ask for both)
        fields |= {
            "grant_type": "password",
            "username": await settings.username.get(),
            "password": await settings.password.get(),
        }
    elif settings.flow == "refresh_token":
        assert settings.refresh_token is not None  # the settings require it
        # The server may ask for more scopes than were granted with it (RFC 6749 section 6).
        fields = {
            "grant_type": "refresh_token",
            "refresh_token": await settings.refresh_token.get(),
            "scope": " ".join(settings.scopes),
        }
    elif settings.flow == "jwt_bearer":
        who = settings.assertion_issuer or settings.client_id
        signed = await assertion(
            settings, who, settings.subject or who, settings.audience or found.named["issuer"], settings.claims
        )
        fields |= {"grant_type": f"{GRANT}jwt-bearer", "assertion": signed}
    elif settings.flow == "token_exchange":
        fields |= {
            "grant_type": f"{GRANT}token-exchange",
            "subject_token": subject,
            "subject_token_type": settings.subject_token_type,
        }
        fields |= {"audience": settings.audience, "requested_token_type": settings.requested_token_type}
        if settings.delegation:
            own = await ask(settings, found.named, {}, {}, {"grant_type": "client_credentials"}, wire)
            fields |= {"actor_token": own["access_token"], "actor_token_type": ACCESS_TOKEN}
    elif settings.flow == "identity_assertion":
        signed = await _identity_assertion(settings, found, subject, scope, wire)
        fields |= {"grant_type": f"{GRANT}jwt-bearer", "assertion": signed}
    else:
        fields |= {"grant_type": "client_credentials"}
    tokens = await ask(settings, found.named, found.protected, {}, fields, wire)
    return Login(tokens, found.named, found.protected)


async def _identity_assertion(settings: OAuth2Settings, found: Found, subject: str, scope: str, wire: Wire) -> str:
    """What the identity provider of an organisation signs for the server's provider (SEP-990: an ID-JAG), for the token
    of a person. Raises: ConfigError, LoginRefused, ServerError."""
    fields = {
        "grant_type": f"{GRANT}token-exchange",
        "requested_token_type": ID_JAG,
        "audience": settings.audience or found.named["issuer"],
        "resource": settings.resources or found.protected.get("resource"),
        "scope": scope,
        "subject_token": subject,
        "subject_token_type": settings.subject_token_type,
    }
    there = settings.model_copy(
        update={
            "client_id": settings.identity_client_id or settings.client_id,
            "client_secret": settings.identity_client_secret,
            "client_auth": "basic" if settings.client_auth == "private_key_jwt" else settings.client_auth,
            "private_key": None if settings.identity_client_secret else settings.private_key,
        }
    )
    url = settings.identity_token_url
    response = await wire.send(await proven(there, url, url, {}, fields))
    signed = tokens_of(response)["access_token"]
    if json.loads(response.content).get("issued_token_type") != ID_JAG:
        raise ServerError(f"{parsed(url).host} gave no identity assertion (ID-JAG), but a token of another type")
    return str(signed)


async def refresh(settings: OAuth2Settings, login: Login, wire: Wire) -> Login:
    """New tokens for a login (RFC 6749 section 6); if the answer has no new refresh token, the old one stays valid.

    Raises: ConfigError, LoginRefused, ServerError.
    """
    before = {name: login.tokens[name] for name in ("refresh_token", "scope") if name in login.tokens}
    fields = {"grant_type": "refresh_token", "refresh_token": before["refresh_token"]}
    tokens = await ask(settings, login.provider, login.resource, login.client, fields, wire)
    return Login(before | tokens, login.provider, login.resource, login.client)


async def revoke(settings: OAuth2Settings, login: Login, wire: Wire) -> bool:
    """Revoke a login at the provider (RFC 7009). Returns: whether it supports that. Raises:
    ConfigError, ServerError."""
    endpoint = login.provider.get("revocation_endpoint")
    if endpoint:
        fields = {"token": login.tokens.get("refresh_token") or login.token}
        await wire.send(await proven(settings, endpoint, login.provider["issuer"], login.client, fields))
    return bool(endpoint)


async def ask(
    settings: OAuth2Settings,
    provider: dict[str, Any],
    resource: dict[str, Any],
    registered: dict[str, Any],
    fields: dict[str, Any],
    wire: Wire,
) -> dict[str, Any]:
    """The token endpoint's answer to a grant, to which the configuration may add fields. Raises: ConfigError,
    LoginRefused, ServerError."""
    whole = await settings.more_fields() | fields | {"resource": settings.resources or resource.get("resource")}
    return tokens_of(
        await wire.send(await proven(settings, provider["token_endpoint"], provider["issuer"], registered, whole))
    )


async def proven(
    settings: OAuth2Settings, url: str, issuer: str, registered: dict[str, Any], fields: dict[str, Any]
) -> httpx2.Request:
    """A POST authenticated as the configured client, else as the registered one (RFC 6749 section
    2.3, RFC 7523 section 2.2).

    Raises: ConfigError.
    """
    if settings.client_id or not registered:
        who, method = settings.client_id, settings.method
        secret = await settings.client_secret.get() if settings.client_secret else ""
    else:
        who, secret = registered["client_id"], registered.get("client_secret") or ""
        method = registered.get("token_endpoint_auth_method") or "client_secret_basic" if secret else "none"
    fields, headers = {name: value for name, value in fields.items() if value}, {"Accept": "application/json"}
    if method == "client_secret_basic":
        both = f"{quote(who, safe='')}:{quote(secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(both.encode()).decode()}"
    elif method == "private_key_jwt":
        fields |= {"client_assertion_type": ASSERTION, "client_assertion": await assertion(settings, who, who, issuer)}
    elif who:
        fields |= {"client_id": who} | ({"client_secret": secret} if method == "client_secret_post" else {})
    return httpx2.Request("POST", parsed(url), data=fields, headers=headers)


async def assertion(
    settings: OAuth2Settings, issuer: str, subject: str, audience: str, claims: dict[str, Any] | None = None
) -> str:
    """An assertion signed with the private key (RFC 7523 section 3). Raises: ConfigError."""
    import jwt

    now = int(time.time())
    told = {
        "iss": issuer,
        "sub": subject,
        "aud": audience,
        "iat": now - CLOCK_SKEW_SECONDS,
        "exp": now + ASSERTION_LIFE_SECONDS,
        "jti": str(uuid.uuid4()),
    } | (claims or {})
    key = await settings.private_key.get() if settings.private_key else ""
    headers = {"kid": settings.key_id} if settings.key_id else None
    try:
        return jwt.encode(told, key, algorithm=settings.signing_algorithm, headers=headers)
    except Exception as error:  # it may quote the key, and must not be shown
        raise ConfigError(
            f"private_key cannot sign with {settings.signing_algorithm}: {type(error).__name__}"
        ) from None


def tokens_of(response: httpx2.Response) -> dict[str, Any]:
    """The tokens in an answer (RFC 6749 section 5.1), without unused members. Raises: ServerError that quotes
    nothing from the answer."""
    where = parsed(str(response.request.url)).host
    try:
        told = json.loads(response.content)
    except (ValueError, RecursionError):
        told = None
    token, kind = (
        (told.get("access_token"), told.get("token_type") or "Bearer") if isinstance(told, dict) else (None, None)
    )
    if not isinstance(token, str) or not token or not isinstance(kind, str) or kind.lower() not in ("bearer", "n_a"):
        raise ServerError(f"{where} gave no usable answer: no bearer token is in it")
    if not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ServerError(f"{where} gave a token that no header may hold")
    more = {name: value for name in ("refresh_token", "scope") if isinstance(value := told.get(name), str) and value}
    lives = life(told.get("expires_in"))
    return {"access_token": token, **more, **({} if lives is None else {"expires_in": lives})}


def require_named(settings: OAuth2Settings, url: str, found: Found) -> None:
    """Make sure that secrets go only to a provider that the configuration names, or to the server itself, and not to
    one that the server names.

    Raises: ConfigError.
    """
    person = (
        settings.flow in ("authorization_code", "device_code")
        and settings.client_secret is None
        and settings.private_key is None
    )
    if person or settings.issuer or settings.token_url:
        return
    if httpx2.URL(found.named["token_endpoint"]).origin != httpx2.URL(url).origin:
        whose = (
            f"the secret of {settings.client_id!r} is" if settings.client_id else "the secret of this configuration is"
        )
        raise ConfigError(
            f"{url} sends to {found.named['issuer']}, and nothing says that {whose} for that",
            hint=f'If it is, set issuer = "{found.named["issuer"]}" in auth.',
        )
