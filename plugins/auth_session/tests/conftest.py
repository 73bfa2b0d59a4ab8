"""What core does for the plugin, and the application."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doorward import PluginContext
from doorward.config.config import validate
from doorward.secrets.store import Secrets
from doorward_auth_session import Session

from .application import Application, running

NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Whom clients on loopback trust: reading the authorities of this machine takes 20 ms for each client."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Doorward:
    """What core does for the plugin. The password stands in the environment, so that it can be rotated."""

    def __init__(self, app: Application, url: str) -> None:
        self.app, self.url = app, url
        self.environ = {"PASSWORD": app.users["alice"], "USER": "alice"}
        self.secrets = Secrets(environ=self.environ)

    def auth(self, *, at: str | None = None, origins: tuple[str, ...] = (), **settings: Any) -> Session:
        given = {"login_url": "/login", "username": "${USER}", "password": "${PASSWORD}", **settings}
        checked = validate(Session.Settings, given, secrets=self.secrets, place="[servers.mine] auth")
        url = f"{self.url}/api" if at is None else at
        return Session(
            PluginContext("mine", checked, Path("unused"), url, "openapi", self.secrets.redaction(), origins=origins)
        )

    @asynccontextmanager
    async def http(self, auth: Session | None = None, **settings: Any) -> Any:
        auth = auth or self.auth(**settings)
        nothing = CookieJar(DefaultCookiePolicy(allowed_domains=[]))  # as the source openapi has it
        async with httpx2.AsyncClient(
            auth=auth.create_auth(), verify=NOBODY, cookies=nothing, base_url=self.url, timeout=20
        ) as client:
            yield client
        await auth.close()


@pytest.fixture
def home() -> Iterator[Doorward]:
    with running() as (app, url):
        yield Doorward(app, url)
