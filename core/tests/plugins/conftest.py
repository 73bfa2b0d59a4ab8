"""An auth, and a source that uses it."""

from __future__ import annotations

from typing import Any

from doorward.model.calls import Call
from doorward.model.contexts import PluginContext
from doorward.model.settings import Settings

from ..conftest import Weather


class Key:
    """An auth that works, as far as it is asked here."""

    Settings = Settings

    def __init__(self, context: PluginContext) -> None: ...

    def create_auth(self) -> Any:
        import httpx2

        return httpx2.Auth()


class Keyed(Weather):
    """A source that uses its auth."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        self.auth = server.auth

    async def call(self, call: Call) -> Any:
        self.auth()
        return await super().call(call)
