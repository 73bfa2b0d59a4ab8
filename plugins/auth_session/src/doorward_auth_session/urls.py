"""The URLs of a session, and which of them may receive what."""

from __future__ import annotations

import httpx2
from doorward import ConfigError, PluginContext
from doorward_auth_kit import CredentialHome, parsed

from doorward_auth_session.settings import SessionSettings

REDIRECTS = (301, 302, 303, 307, 308)


class SessionUrls:
    """The URLs of the login, the page before it and the logout. Relative ones are below the server's URL.

    Raises: ConfigError if one is neither https nor on loopback; if the page or the logout is neither at the
    server nor at the login.
    """

    def __init__(self, context: PluginContext[SessionSettings]) -> None:
        settings, name = context.settings, context.name
        self.home = CredentialHome(name, context.url, context.origins)
        self.server = parsed(context.url)
        base = self.server.copy_with(query=None, fragment=None, userinfo=b"")
        base = base.copy_with(path=base.path.rstrip("/") + "/")
        self.login = base.join(settings.login_url)
        self.page = base.join(settings.csrf_url) if settings.csrf_url else self.login
        self.logout = base.join(settings.logout_url) if settings.logout_url else None
        login = CredentialHome(name, str(self.login))
        for key, url in (("csrf_url", self.page), ("logout_url", self.logout)):
            if url is not None and url.origin not in (self.home.origin, login.origin):
                raise ConfigError(
                    f"{key} is neither at the server nor where the login is",
                    place=f"[servers.{name}] auth",
                    hint="Name a page of either: a session is shown to nobody else.",
                )

    def asks_to_log_in(self, response: httpx2.Response) -> bool:
        """Whether an answer is a redirect to the login."""
        if response.status_code not in REDIRECTS or "location" not in response.headers:
            return False
        try:
            to = response.request.url.join(response.headers["location"])
        except httpx2.InvalidURL:
            return False
        return any(
            to.origin == at.origin and to.path.rstrip("/") == at.path.rstrip("/") for at in (self.login, self.page)
        )
