"""A login: a person visits a page of the provider, and the answer is exchanged for tokens."""

from __future__ import annotations

import httpx2
from doorward import PluginContext
from doorward.administration import LoginPrompt
from doorward_auth_kit import CredentialHome
from mcp.shared.auth import AuthorizationCodeResult

from doorward_auth_oauth2 import device, discovery, flows, grants
from doorward_auth_oauth2.login_store import Login
from doorward_auth_oauth2.redirect import Redirect
from doorward_auth_oauth2.settings import OAuth2Settings
from doorward_auth_oauth2.wire import Wire


async def log_in(context: PluginContext[OAuth2Settings], before: Login | None, person: LoginPrompt) -> Login:
    """Log a person in; `before` is their previous login, if there is one.

    Raises: ConfigError, ServerError.
    """
    settings, url = context.settings, context.url
    CredentialHome(context.name, url)
    async with Wire(context.redact, settings.urls(url)) as wire:
        found = await discovery.discover(context, wire)
        if before is not None and before.wanted and not settings.scopes:
            found.scopes = list(dict.fromkeys([*before.scope.split(), *before.wanted.split(), *found.scopes]))
        if settings.flow == "device_code":
            return await device.authorize(context, found, person, wire)
        return await _in_a_browser(context, found, person, wire)


async def _in_a_browser(
    context: PluginContext[OAuth2Settings], found: discovery.Found, person: LoginPrompt, wire: Wire
) -> Login:
    settings, url = context.settings, context.url
    async with Redirect(settings.redirect_port) as redirect:

        async def visit(page: str) -> None:
            await wire.check_page(page)
            redirect.expect(page)
            asks = f", which is asked for: {' '.join(found.scopes)}" if found.scopes else ""
            person.tell(f"Log in at {httpx2.URL(page).host} for {context.name} ({httpx2.URL(url).host}){asks}.")
            if settings.client_id and not settings.redirect_port:
                person.tell(
                    f"It ends at {redirect.uri}. If the provider refuses that, register it with a fixed port: "
                    f"redirect_port."
                )
            await person.open(page)

        async def answer() -> AuthorizationCodeResult:
            got = await redirect.answer(
                person.ask("When the browser has ended at an address that starts with http://127.0.0.1, paste that:")
            )
            context.redact(got["code"])
            return AuthorizationCodeResult(code=got["code"], state=got["state"], iss=got.get("iss"))

        return await flows.authorize(settings, url, found, redirect.uri, visit, answer, wire)


async def log_out(context: PluginContext[OAuth2Settings], login: Login) -> bool:
    """Revoke a login at the provider. Returns: whether it supports that. Raises: ServerError."""
    login.redact(context.redact)
    async with Wire(context.redact, context.settings.urls(context.url)) as wire:
        return await grants.revoke(context.settings, login, wire)
