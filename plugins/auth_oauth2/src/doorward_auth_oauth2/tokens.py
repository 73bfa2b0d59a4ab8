"""The tokens of one server, put into its requests. Nothing here ever waits for a person."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NoReturn

import httpx2
from doorward import LOCAL, ConfigError, LoginRefused, PluginContext, ServerError, log
from doorward_auth_kit import Backoff, CredentialHome, FetchedAuth, Renewal, UnreadableEntry, Vault, due

from doorward_auth_oauth2.login_store import Login, LoginStore
from doorward_auth_oauth2.settings import EXCHANGES, PEOPLE, OAuth2Settings
from doorward_auth_oauth2.wire import Wire

MAX_SCOPES = 100
"""Scopes that a server can have asked for, one call after another."""


class _Held(Renewal[Login]):
    """Hands out one login, until a person logs in again or out, in any process."""

    def __init__(self, fetch: Callable[[Login | None], Awaitable[Login]], store: LoginStore) -> None:
        super().__init__(fetch)
        self._store = store

    async def get(self, refused: Login | None = None) -> Login:
        if await self._store.changed():
            self.held = None
        return await super().get(refused)


class Bearer(FetchedAuth[Login]):
    """Puts the token into each request (RFC 6750 section 2.1). The token comes from a person's
    login, or is fetched here."""

    def __init__(self, context: PluginContext[OAuth2Settings], store: LoginStore, advice: str) -> None:
        self._context, self._store, self._settings = context, store, context.settings
        self._person = self._settings.flow in PEOPLE
        self._keeps = self._person or self._settings.flow == "refresh_token" or Vault.of(context).encrypted
        self._backoff = Backoff(context.name)
        self._more: tuple[str, ...] = ()
        """Scopes that the server asked for when a call was refused for lack of them."""
        home = CredentialHome(context.name, context.url, context.origins)
        super().__init__(context.name, home, _Held(self._fetch, store), self._put, advice=advice)
        if self._settings.flow in EXCHANGES and self._settings.subject_token is None and not context.per_principal:
            raise ConfigError(
                f"the flow {self._settings.flow} exchanges what each principal brings, and this server is the same "
                "for all",
                place=f"[servers.{context.name}]",
                hint="Set per_principal = true, or a subject_token in auth.",
            )

    def _put(self, request: httpx2.Request, credential: Login) -> None:
        self._context.redact(credential.token)  # each time again: the scrubber remembers only the latest values
        request.headers["Authorization"] = f"Bearer {credential.token}"

    async def after(self, response: httpx2.Response, credential: Login) -> Login | None:
        if response.status_code == 401 and "insufficient_user_authentication" in _challenge(response):
            self._stronger(response)
        if _narrow(response):
            return await self._wider(response, credential)
        return await super().after(response, credential)

    async def check(self, response: httpx2.Response, credential: Login) -> None:
        if _narrow(response):
            await self._wider(response, credential)
        await super().check(response, credential)

    def _stronger(self, response: httpx2.Response) -> NoReturn:
        """Raises: ServerError: no token that can be renewed helps (RFC 9470), only another login."""
        from doorward_auth_oauth2.discovery import challenged_login

        name = self._context.name
        wanted = ", ".join(f'{key} = "{value}"' for key, value in challenged_login(response).items())
        why = f"{name} wants a stronger or a newer login{f': {wanted}' if wanted else ''}"
        raise ServerError(why, hint=f"Set params = {{ {wanted} }} in the auth of {name}. {self._advice}")

    async def _wider(self, response: httpx2.Response, credential: Login) -> Login:
        """A later login, if the scopes of this one do not suffice.

        Raises: ServerError if there is none; the next login will ask for what was missing.
        """
        from doorward_auth_oauth2.discovery import challenged_scopes

        name, scopes = self._context.name, challenged_scopes(response)
        wanted = f"the scope {' '.join(scopes)!r}" if scopes else "a scope"
        missing = f"{name} wants {wanted}, which its token does not have"
        useless = f"Another login changes nothing: ask those who run {name} what this one may do."
        if not self._person:
            if scopes and set(scopes) <= set(credential.scope.split()):
                raise ServerError(f"{name} wants {wanted}, which its token has", hint=useless)
            if self._settings.scopes or self._settings.flow == "refresh_token" or set(scopes) <= set(self._more):
                raise ServerError(missing, hint=f"Set scope in the auth of {name}.")
            self._more = tuple(dict.fromkeys([*self._more, *credential.scope.split(), *scopes]))[:MAX_SCOPES]
            return await self.renew(credential)
        async with self._store.lock():
            login = await self._store.load()
            if login is not None and login.token != credential.token:
                login.redact(self._context.redact)
                self._renewal.held = login
                return login
            if scopes and set(scopes) <= set(credential.scope.split()):
                raise ServerError(f"{name} wants {wanted}, which its token has", hint=useless)
            if self._settings.scopes or not scopes:
                raise ServerError(missing, hint=f"Set scope in the auth of {name}. {self._advice}")
            if login is not None and not set(scopes) <= set(login.wanted.split()):
                await self._store.keep(replace(login, wanted=" ".join(dict.fromkeys([*login.wanted.split(), *scopes]))))
        raise ServerError(missing, hint=f"{self._advice}, which will ask for it.")

    async def _fetch(self, refused: Login | None) -> Login:
        """The stored tokens, which another process may have fetched, or new ones."""
        by, *also = await self._fetched_by()
        if not self._keeps:
            return await self._own(None, by)
        async with self._store.lock():
            kept = await self._load()
            if kept is not None and kept.by not in (by, *also):
                kept = None
            if kept is not None:
                kept.redact(self._context.redact)
            usable = (
                kept if kept and (refused is None or kept.token != refused.token) and time.time() < kept.ends else None
            )
            if usable and time.time() < due(usable):
                return usable
            try:
                login = await (self._of_a_person(kept) if self._person else self._own(kept, by))
            except ServerError:
                if usable:
                    return usable
                raise
            await self._store.keep(login)
        return login

    async def _fetched_by(self) -> list[str]:
        """Digests of the configured values that stored tokens belong to: the first is stored with new ones."""
        settings = self._settings
        if self._person:
            return [""]
        every = _digest(settings.flow, settings.asks_for, *await settings.secrets())
        if settings.refresh_token is None:
            return [every]
        # The other secrets may change: a configured refresh token is used up, and only its successors go on.
        return [_digest(settings.flow, await settings.refresh_token.get()), every]

    async def _load(self) -> Login | None:
        """The stored tokens. Raises: UnreadableEntry if there are some that no request for new ones can replace."""
        try:
            return await self._store.load()
        except UnreadableEntry as error:
            if self._person or self._settings.flow == "refresh_token":
                raise
            log.warning(
                "stored_token_unread",
                server=self._context.name,
                why=str(error),
                hint="Another is fetched in its place. Is vault_key the key with which it was encrypted?",
            )
            return None

    async def _of_a_person(self, kept: Login | None) -> Login:
        name = self._context.name
        if kept is None:
            raise LoginRefused(f"nobody is logged in to {name}", hint=self._advice)
        if not kept.tokens.get("refresh_token"):
            raise LoginRefused(f"the login to {name} has ended", hint=self._advice)
        try:
            login = await self._refresh(kept)
        except LoginRefused as error:
            raise LoginRefused(f"the login to {name} has ended: {error}", hint=self._advice) from None
        except ServerError as error:
            raise ServerError(f"the token of {name} cannot be renewed: {error}", hint=error.hint) from None
        return replace(login, wanted=kept.wanted)

    async def _own(self, kept: Login | None, by: str) -> Login:
        """Tokens that need no person's login. Each successor of a configured refresh token is used once."""
        from doorward_auth_oauth2 import grants

        settings, subject = self._settings, ""
        first = await settings.refresh_token.get() if settings.refresh_token else ""
        if settings.flow in EXCHANGES:
            subject = await self._subject()
        try:
            if first and kept is not None and kept.tokens.get("refresh_token"):
                login = await self._refresh(kept)
            elif first and await self._store.spent(by):
                raise ConfigError(
                    f"no token for {self._context.name}: the configured refresh token was used, and its successor is "
                    "not stored here",
                    hint="Configure a refresh token that was not used yet.",
                )
            else:
                what = _digest(by, subject, *await settings.secrets(), *self._more)
                login = await self._ask(what, lambda wire: grants.grant(self._context, wire, subject, self._more))
                if first and login.tokens.get("refresh_token", first) != first:
                    await self._store.spend(by)
        except ServerError as error:
            raise type(error)(f"no token for {self._context.name}: {error}", hint=error.hint) from None
        return replace(login, by=by)

    async def _subject(self) -> str:
        """The token to exchange. Raises: MissingSecret, LoginRefused."""
        if self._settings.subject_token is not None:
            return str(await self._settings.subject_token.get())
        whose = self._context.principal
        if presented := self._context.presented():
            return presented
        why = (
            "nobody who asks from this machine brings a token"
            if whose == LOCAL
            else f"{whose} brought no token that can be exchanged"
        )
        raise LoginRefused(
            why,
            hint="It takes a client that connects over HTTP with an access token of the provider (docs/serving.md).",
        )

    async def _refresh(self, kept: Login) -> Login:
        from doorward_auth_oauth2 import grants

        what = _digest(kept.token, *await self._settings.secrets())
        return await self._ask(what, lambda wire: grants.refresh(self._settings, kept, wire))

    async def _ask(self, what: str, work: Callable[[Wire], Awaitable[Login]]) -> Login:
        """New tokens, unless the same request has just failed at the provider. Raises: LoginRefused, ServerError."""

        async def asked() -> Login:
            async with Wire(self._context.redact, self._settings.urls(self._context.url)) as wire:
                return await work(wire)

        return await self._backoff.ask(what, asked)


def _narrow(response: httpx2.Response) -> bool:
    return response.status_code == 403 and "insufficient_scope" in _challenge(response)


def _challenge(response: httpx2.Response) -> str:
    return response.headers.get("WWW-Authenticate", "")


def _digest(*what: str) -> str:
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()
