"""A provider, an API behind it, and a person who logs in by HTTP, for the tests of `oauth2`."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doorward import PluginContext
from doorward.config.config import validate
from doorward.engines import MemoryStore
from doorward.secrets.store import Secrets
from doorward_auth_oauth2 import OAuth2

from .more_grants import register
from .provider import Provider, running

NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Whom clients on loopback trust: reading the authorities of this machine takes 20 ms for each client."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def provider() -> Iterator[Provider]:
    yield from running(register)


class LoginPrompt:
    """Somebody with a browser that has no window: it visits the page, and where that sends it. `change` may alter the
    last address."""

    def __init__(self, change: Callable[[str], str] = str, paste: bool = False) -> None:
        self.told: list[str] = []
        self.pages: list[str] = []
        self.seen: list[tuple[int, str]] = []
        self.change, self.paste = change, paste
        self._ends = ""
        self._visiting: set[asyncio.Task[None]] = set()

    def tell(self, text: str) -> None:
        self.told.append(text)

    async def open(self, page: str) -> None:
        self.pages.append(page)
        async with httpx2.AsyncClient(verify=NOBODY, timeout=10) as client:
            answer = await client.get(page)
        self._ends = answer.headers.get("Location", "")
        if self._ends and not self.paste:
            self._visiting.add(asyncio.ensure_future(self.visit(self.change(self._ends))))

    async def visit(self, address: str) -> None:
        async with httpx2.AsyncClient(verify=NOBODY, timeout=10) as client:
            answer = await client.get(address)
        self.seen.append((answer.status_code, answer.text))

    async def ask(self, question: str) -> str | None:
        return self.change(self._ends) if self.paste else None


class Doorward:
    """What core does for the plugin."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.environ = {"SECRET": "from-the-environment"}
        self.secrets = Secrets(environ=self.environ)
        self.presented: dict[str, str] = {}
        self.store: MemoryStore | None = None

    def auth(
        self, source: str = "openapi", url: str | None = None, principal: str = "local", key: str = "", **settings: Any
    ) -> OAuth2:
        """A driver, as another process with the same configuration would have it."""
        checked = validate(
            OAuth2.Settings, {"store": "file", **settings}, secrets=self.secrets, place="[servers.mine] auth"
        )
        redact = self.secrets.redaction()
        context = PluginContext(
            "mine",
            checked,
            self.folder,
            self.url if url is None else url,
            source,
            redact,
            principal,
            lambda: self.presented.get(principal),
            (lambda: key) if key else None,
            per_principal=principal != "local",
            store=self.store,
        )
        return OAuth2(context)

    def http(self, auth: OAuth2) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(auth=auth.create_auth(), verify=NOBODY, base_url=self.url, timeout=20)

    def files(self) -> list[Path]:
        return [file for file in self.folder.rglob("*") if file.is_file() and file.suffix == ".json"]


@pytest.fixture
def home(tmp_path: Path, provider: Provider) -> Doorward:
    return Doorward(tmp_path, provider.url)
