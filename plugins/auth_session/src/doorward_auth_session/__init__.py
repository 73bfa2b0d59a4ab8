"""The auth type `session`: a login by POST, whose cookies or token are sent with every request from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward_auth_session.settings import SessionSettings

if TYPE_CHECKING:
    import httpx2
    from doorward import PluginContext

    from doorward_auth_session.auth import SessionAuth

PLUGIN_API = 1


class Session:
    """Logs in when a request needs it, again before the session ends or when the server refuses it,
    and logs out at the end."""

    Settings = SessionSettings

    def __init__(self, context: PluginContext[SessionSettings]) -> None:
        self._context = context
        self._made: SessionAuth | None = None

    def create_auth(self) -> httpx2.Auth:
        """Raises: ConfigError if there is a URL to which nothing may be sent."""
        from doorward_auth_session.auth import SessionAuth

        self._made = SessionAuth(self._context)
        return self._made

    async def check(self) -> str:
        """A sentence for `doorward doctor`, which does not log in."""
        from doorward_auth_kit import place

        from doorward_auth_session.urls import SessionUrls

        return f"logs in by itself, at {place(str(SessionUrls(self._context).login))}"

    async def close(self) -> None:
        """Log out, if there is a session and a `logout_url`."""
        if self._made is not None:
            await self._made.log_out()
