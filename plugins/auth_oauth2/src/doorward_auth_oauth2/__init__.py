"""The auth type `oauth2`: OAuth 2.1 as MCP uses it, and older flows, for MCP servers and for APIs.

Another auth type can be built on it: a subclass of `OAuth2` with its own `Settings` calls `OAuth2.__init__` with a
context whose settings are an `OAuth2Settings`.
"""

from __future__ import annotations

import shlex
import time
from typing import TYPE_CHECKING

from doorward import LOCAL, ConfigError, ServerError, Settings

from doorward_auth_oauth2.settings import PEOPLE, OAuth2Settings

if TYPE_CHECKING:
    from typing import ClassVar

    import httpx2
    from doorward import PluginContext
    from doorward.administration import LoginPrompt

    from doorward_auth_oauth2.login_store import LoginStore

PLUGIN_API = 1
__all__ = ["PLUGIN_API", "OAuth2", "OAuth2Settings"]


class OAuth2:
    """Tokens from a person's `doorward login`, or fetched without a person; renewed in time."""

    Settings: ClassVar[type[Settings]] = OAuth2Settings

    def __init__(self, context: PluginContext[OAuth2Settings]) -> None:
        self._context = context

    def create_auth(self) -> httpx2.Auth:
        from doorward_auth_oauth2.tokens import Bearer

        return Bearer(self._context, self._store(), self._advice())

    async def login(self, person: LoginPrompt) -> str:
        """Log a person in with a browser. Raises: ConfigError, ServerError."""
        self._require_person()
        from doorward_auth_kit import UnreadableEntry

        from doorward_auth_oauth2.login import log_in

        store = self._store()
        try:
            before = await store.load()
        except UnreadableEntry:
            before = None  # the new login takes its place
        login = await log_in(self._context, before, person)
        async with store.lock():
            where = await store.save(login)
            await store.mark()
        return f"logged in; the tokens are kept in {where}"

    async def logout(self) -> str:
        """Delete a login, and revoke it at the provider. Raises: ConfigError."""
        self._require_person()
        from doorward_auth_kit import UnreadableEntry

        from doorward_auth_oauth2.login import log_out

        store = self._store()
        async with store.lock():
            try:
                login = await store.load()
            except UnreadableEntry as error:
                await store.forget()
                await store.mark()
                return f"logged out; the tokens are forgotten here, but could not be revoked: {error}"
            await store.forget()
            await store.mark()
        if login is None:
            return "nobody was logged in"
        try:
            revoked = await log_out(self._context, login)
        except ServerError as error:
            return f"logged out; the tokens are forgotten here, but could not be revoked: {error}"
        return "logged out; the tokens are forgotten" + (", and revoked by the provider" if revoked else "")

    async def check(self) -> str:
        """Whether there is a login that can be read, and a place for its tokens. Raises: ConfigError, ServerError."""
        from doorward_auth_kit import CredentialHome

        CredentialHome(self._context.name, self._context.url, self._context.origins)
        flow = self._context.settings.flow
        login = await self._store().load() if flow in (*PEOPLE, "refresh_token") else None
        if flow not in PEOPLE:
            return "gets its tokens by itself"
        if login is None or (login.ends < time.time() and not login.tokens.get("refresh_token")):
            raise ServerError("nobody is logged in", hint=self._advice())
        return "logged in"

    async def login_ends(self) -> float | None:
        """Until when a person's login holds: what has a refresh token is renewed. Raises: ConfigError."""
        from doorward_auth_kit import UnreadableEntry

        if self._context.settings.flow not in PEOPLE:
            return None
        try:
            login = await self._store().load()
        except UnreadableEntry:
            return 0.0
        if login is None:
            return 0.0
        return float("inf") if login.tokens.get("refresh_token") else login.ends

    def _require_person(self) -> None:
        if self._context.settings.flow not in PEOPLE:
            raise ConfigError(
                f"the flow {self._context.settings.flow} needs no login", place=f"[servers.{self._context.name}] auth"
            )
        if self._context.principal != LOCAL and not self._context.per_principal:
            raise ConfigError(
                "is the same for all", place=f"[servers.{self._context.name}]", hint="Set per_principal = true."
            )

    def _advice(self) -> str:
        """What to do if there is no token, or none that the server accepts."""
        if self._context.settings.flow not in PEOPLE:
            return "Ask the provider whether these credentials may still use it."
        whose = "" if self._context.principal == LOCAL else f" --principal {shlex.quote(self._context.principal)}"
        return f"Log in: doorward login {self._context.name}{whose}"

    def _store(self) -> LoginStore:
        """The store for this principal's login to this server. Tokens that can be fetched again
        never go into a keyring; those of several machines lie in their store, unless a keyring is asked for."""
        from doorward_auth_kit import SharedVault, Vault, entry

        from doorward_auth_oauth2.login_store import LoginStore, SharedLoginStore

        settings = self._context.settings
        about = [
            settings.flow,
            settings.issuer,
            settings.token_url,
            settings.client_id,
            " ".join(settings.scopes),
            " ".join(settings.resources),
        ]
        again = settings.flow not in (*PEOPLE, "refresh_token")
        kind = "file" if again else settings.store
        own = LoginStore(Vault.of(self._context), entry(self._context, *about), kind)
        shared = SharedVault.of(self._context, entry(self._context, *about, shared=True))
        return own if shared is None or kind == "keyring" else SharedLoginStore(shared, own)
