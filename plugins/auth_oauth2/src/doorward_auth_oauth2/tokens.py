"""The tokens of one server: there when a request needs one, renewed in time, by one request for all that wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import httpx2
from doorward import DoorwardError, PluginContext, ServerError, log

from doorward_auth_oauth2.kept import Login, Store
from doorward_auth_oauth2.wire import Capped, Refused, Wire, require_private

E = TypeVar("E", bound=DoorwardError)

AGAIN = 1.0
"""Seconds for which a provider is not asked again after it could not be reached."""
AGAIN_REFUSED = 30.0
"""The same, after it refused: an account that is tried over and over gets locked."""


class Bearer(httpx2.Auth):
    """Puts the token into each request (RFC 6750 section 2.1), and another one if the server refuses it, once."""

    def __init__(self, context: PluginContext, tokens: Tokens) -> None:
        require_private(context.url, context.name)
        self._name, self._home, self._tokens = context.name, httpx2.URL(context.url).origin, tokens

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if request.url.origin != self._home:
            raise ServerError(
                f"the token of {self._name!r} is for {self._home.host} and was not sent to {request.url.host}",
                hint="Configure the other origin as a server of its own.",
            )
        token, renewed = await self._tokens.get(), False
        while True:
            request.headers["Authorization"] = f"Bearer {token}"
            response = yield request
            if response.status_code == 401:
                if renewed:
                    raise self._tokens.useless()
                token, renewed = await self._tokens.get(refused=token), True
            elif response.status_code == 403 and "insufficient_scope" in response.headers.get("WWW-Authenticate", ""):
                token = await self._tokens.wider(token, response)
            else:
                return
            response.stream = Capped(response.stream, self._name)  # httpx2 reads it to its end before it sends again


class Tokens:
    """Hands out access tokens. Nothing here ever waits for a person."""

    def __init__(self, context: PluginContext, store: Store) -> None:
        self._context, self._store = context, store
        self._name, self._settings, self._url = context.name, context.settings, context.url
        self._login: Login | None = None
        self._renewal: asyncio.Future[Login] | None = None
        self._failed: tuple[str, float, ServerError] | None = None

    async def get(self, refused: str = "") -> str:
        """A token; another one than that which the server has refused.

        Raises: ServerError, ConfigError, with what to do about it.
        """
        login = self._login
        if login is None or login.token == refused or time.time() >= login.renewal:
            if self._renewal is None or self._renewal.done():
                # A task of its own: who asked first may be gone before the answer, with which the old refresh token ends.
                self._renewal = asyncio.ensure_future(self._renew(refused))
                self._renewal.add_done_callback(lambda done: done.cancelled() or done.exception())
            if login is not None and login.token != refused and time.time() < login.ends:
                return login.token  # nobody has to wait for its successor
            try:
                login = await asyncio.shield(self._renewal)
            except DoorwardError as error:
                raise _again(error) from None  # each who waits has an error of their own
        if login.token == refused:
            raise self.useless()
        return login.token

    def useless(self) -> ServerError:
        """What to tell if a new token does not help."""
        return ServerError(f"{self._name} refuses the token that it was given", hint=self._advice())

    async def wider(self, token: str, response: httpx2.Response) -> str:
        """The token of a login that came after this one, whose scopes do not suffice.

        Raises: ServerError if there is none; the next login will ask for what was missing.
        """
        from doorward_auth_oauth2.discovery import challenged_scopes

        scopes = challenged_scopes(response)
        missing = f"{self._name} wants {f'the scope {chr(32).join(scopes)!r}' if scopes else 'a scope'}, which its token does not have"
        if self._settings.flow == "client_credentials":
            raise ServerError(missing, hint=f"Set scope in the auth of {self._name}.")
        async with self._store.lock():
            login = await self._store.load()
            if login is not None and login.token != token:
                login.conceal(self._context.conceal)
                self._login = login
                return login.token
            if self._settings.scopes or not scopes:
                raise ServerError(missing, hint=f"Set scope in the auth of {self._name}. {self._advice()}")
            if login is not None and not set(scopes) <= set(login.wanted.split()):
                await self._store.save(replace(login, wanted=" ".join(dict.fromkeys([*login.wanted.split(), *scopes]))))
        raise ServerError(missing, hint=f"{self._advice()}, which will ask for it.")

    def _advice(self) -> str:
        if self._settings.flow == "client_credentials":
            return "Ask the provider whether this client may still use it."
        return f"Log in: doorward login {self._name}"

    async def _renew(self, refused: str) -> Login:
        if self._settings.flow == "client_credentials":
            self._login = await self._own(refused)
        else:
            async with self._store.lock():
                self._login = await self._of_a_person(refused)
        return self._login

    async def _own(self, refused: str) -> Login:
        """A token that the client gets by itself."""
        from doorward_auth_oauth2 import discovery, flows

        async def work(wire: Wire) -> Login:
            found = await discovery.discover(self._context, wire)
            return await flows.client_credentials(self._settings, self._url, found, wire)

        try:
            return await self._ask("", work)
        except ServerError as error:
            if self._login is not None and self._login.token != refused and time.time() < self._login.ends:
                return self._login
            raise ServerError(f"no token for {self._name}: {error}", hint=error.hint) from None

    async def _of_a_person(self, refused: str) -> Login:
        """The token that is kept, which another process may have got, or one for its refresh token."""
        kept = await self._store.load()
        if kept is None:
            raise ServerError(f"nobody is logged in to {self._name}", hint=self._advice())
        kept.conceal(self._context.conceal)
        usable = kept.token != refused and time.time() < kept.ends
        if usable and (time.time() < kept.renewal or not kept.tokens.get("refresh_token")):
            return kept
        if not kept.tokens.get("refresh_token"):
            raise ServerError(f"the login to {self._name} has ended", hint=self._advice())
        from doorward_auth_oauth2 import flows

        try:
            login = await self._ask(kept.token, lambda wire: flows.refresh(self._settings, self._url, kept, wire))
        except Refused as error:
            raise ServerError(f"the login to {self._name} has ended: {error}", hint=self._advice()) from None
        except ServerError as error:
            if usable:
                return kept
            raise ServerError(f"the token of {self._name} cannot be renewed: {error}", hint=error.hint) from None
        login = replace(login, wanted=kept.wanted)
        await self._store.save(login)
        return login

    async def _ask(self, what: str, work: Callable[[Wire], Awaitable[Login]]) -> Login:
        """New tokens, unless the provider has just failed to give any for the same.

        Raises: Refused, ServerError.
        """
        if self._failed is not None and self._failed[0] == what and time.monotonic() < self._failed[1]:
            raise _again(self._failed[2])
        try:
            async with Wire(self._context.conceal, self._settings.urls(self._url)) as wire:
                return await work(wire)
        except ServerError as error:
            # Without the error's text: it may quote a token, and not every log is scrubbed.
            log.warning("no_new_token", server=self._name, refused=isinstance(error, Refused))
            pause = AGAIN_REFUSED if isinstance(error, Refused) else AGAIN
            self._failed = (what, time.monotonic() + pause, error)
            raise


def _again(error: E) -> E:
    return type(error)(error.message, hint=error.hint)
