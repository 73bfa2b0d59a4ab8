"""A login on another device (RFC 8628): a person enters a code on the provider's page, and we poll until they have."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import anyio
import httpx2
from doorward import ConfigError, PluginContext, ServerError
from doorward.administration import LoginPrompt

from doorward_auth_oauth2 import grants
from doorward_auth_oauth2.discovery import Found
from doorward_auth_oauth2.login_store import Login, life
from doorward_auth_oauth2.settings import OAuth2Settings
from doorward_auth_oauth2.wire import Refused, Wire

INTERVAL_SECONDS = 5.0
"""Time between two requests, unless the provider says otherwise; each `slow_down` adds as much again."""
MIN_INTERVAL_SECONDS, MAX_INTERVAL_SECONDS = 1.0, 60.0
MAX_LOGIN_SECONDS = 900.0
"""The longest time to wait for the person."""
GRANT = "urn:ietf:params:oauth:grant-type:device_code"


async def authorize(context: PluginContext[OAuth2Settings], found: Found, person: LoginPrompt, wire: Wire) -> Login:
    """The person's tokens, once they have entered the code. Raises: ConfigError, LoginRefused, ServerError."""
    settings, endpoint = context.settings, found.provider.device_authorization_endpoint
    grants.require_named(settings, context.url, found)
    if endpoint is None:
        raise ConfigError(
            f"{found.named['issuer']} has no logins for devices", hint='Set flow = "authorization_code" in auth.'
        )
    fields = {"scope": " ".join(found.scopes), "resource": settings.resources or found.protected.get("resource")}
    request = await grants.proven(
        settings, str(endpoint), found.named["issuer"], {}, await settings.more_fields() | fields
    )
    told = _read(await wire.send(request))
    for page in (told["verification_uri"], told["page"]):
        await wire.check_page(page)
    scopes = f", which is asked for: {' '.join(found.scopes)}" if found.scopes else ""
    person.tell(
        f"Log in at {httpx2.URL(told['page']).host} for {context.name} ({httpx2.URL(context.url).host}){scopes}."
    )
    person.tell(
        f"Enter the code {told['user_code']} at {told['verification_uri']}, or see that it is the one that is shown."
    )
    await person.open(told["page"])
    tokens = await _wait(context, found, told, wire)
    return Login({"scope": " ".join(found.scopes)} | tokens, found.named, found.protected)


async def _wait(
    context: PluginContext[OAuth2Settings], found: Found, told: dict[str, Any], wire: Wire
) -> dict[str, Any]:
    fields = {"grant_type": GRANT, "device_code": told["device_code"]}
    interval = told["interval"]
    ends = time.monotonic() + min(life(told.get("expires_in")) or MAX_LOGIN_SECONDS, MAX_LOGIN_SECONDS)
    while time.monotonic() + interval < ends:
        await anyio.sleep(interval)
        try:
            return await grants.ask(context.settings, found.named, found.protected, {}, fields, wire)
        except Refused as error:
            if error.code == "slow_down":
                interval = min(interval + INTERVAL_SECONDS, MAX_INTERVAL_SECONDS)
            elif error.code != "authorization_pending":
                raise
        except ServerError:  # temporarily unavailable (section 3.5)
            interval = min(interval * 2, MAX_INTERVAL_SECONDS)
    raise ServerError("nobody has entered the code in time", hint="Start the login again.")


def _read(response: httpx2.Response) -> dict[str, Any]:
    """The answer of section 3.2. Raises: ServerError."""
    try:
        told = json.loads(response.content)
        code = re.sub(r"[^\x20-\x7e]", "", told["user_code"])[:40]
        interval = min(max(life(told.get("interval")) or INTERVAL_SECONDS, MIN_INTERVAL_SECONDS), MAX_INTERVAL_SECONDS)
        page = told.get("verification_uri_complete") or told["verification_uri"]
        strings = {name: told[name] + "" for name in ("device_code", "verification_uri")}
        return {
            **strings,
            "page": page + "",
            "user_code": code,
            "interval": interval,
            "expires_in": told.get("expires_in"),
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ServerError(
            f"{httpx2.URL(str(response.request.url)).host} gave no usable answer: no code to log in with is in it"
        ) from None
