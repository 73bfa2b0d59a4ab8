"""The auth type `oauth2`: OAuth 2.1 as MCP has it, for MCP servers and for APIs."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from doorward import ConfigError, ServerError

from doorward_auth_oauth2.settings import OAuth2Settings

if TYPE_CHECKING:
    import httpx2
    from doorward import Person, PluginContext

    from doorward_auth_oauth2.kept import Store

PLUGIN_API = 1


class OAuth2:
    """Tokens that a person gets by `doorward login`, or that the client gets by itself; renewed in time."""

    Settings = OAuth2Settings

    def __init__(self, context: PluginContext) -> None:
        self._context = context

    def create_auth(self) -> httpx2.Auth:
        from doorward_auth_oauth2.tokens import Bearer, Tokens

        return Bearer(self._context, Tokens(self._context, self._store()))

    async def login(self, person: Person) -> str:
        """Log a person in, in a browser. Raises: ConfigError, ServerError."""
        self._require_person()
        from doorward_auth_oauth2.login import log_in

        store = self._store()
        login = await log_in(self._context, await store.load(), person)
        async with store.lock():
            where = await store.save(login)
        return f"logged in; the tokens are kept in {where}"

    async def logout(self) -> str:
        """Forget a login, and have the provider forget it. Raises: ConfigError."""
        self._require_person()
        from doorward_auth_oauth2.login import log_out

        store = self._store()
        async with store.lock():
            login = await store.load()
            await store.forget()
        if login is None:
            return "nobody was logged in"
        try:
            revoked = await log_out(self._context, login)
        except ServerError as error:
            return f"logged out; the tokens are forgotten here, but could not be revoked: {error}"
        return "logged out; the tokens are forgotten" + (", and revoked by the provider" if revoked else "")

    async def check(self) -> str:
        """Whether there is a login. Raises: ConfigError, ServerError."""
        if self._context.settings.flow == "client_credentials":
            return "gets its tokens by itself"
        login = await self._store().load()
        if login is None or (login.ends < time.time() and not login.tokens.get("refresh_token")):
            raise ServerError("nobody is logged in", hint=f"Log in: doorward login {self._context.name}")
        return "logged in"

    def _require_person(self) -> None:
        if self._context.settings.flow == "client_credentials":
            raise ConfigError("the flow client_credentials needs no login", place=f"[servers.{self._context.name}] auth")

    def _store(self) -> Store:
        """Where the login of this server, with this URL, provider and client, is kept: of a person who is not told apart yet."""
        from doorward_auth_oauth2.kept import Store

        context, settings = self._context, self._context.settings
        about = ["local", context.url, settings.issuer, settings.token_url, settings.client_id, str(context.state.resolve())]
        name = f"{context.name}-{hashlib.sha256(chr(10).join(about).encode()).hexdigest()[:16]}"
        return Store(context.state / "oauth2", name, settings.store)
