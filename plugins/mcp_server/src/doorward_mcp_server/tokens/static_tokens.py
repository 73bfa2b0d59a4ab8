"""The bearer tokens whose hashes stand in the configuration, in `[[principals.NAME.tokens]]`."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import anyio.to_thread
from doorward.configuration import Loaded
from mcp.server.auth.provider import AccessToken

from doorward_mcp_server.tokens.bound_token import BoundToken
from doorward_mcp_server.tokens.client_tokens import hashed
from doorward_mcp_server.tokens.token_file import TokenFile


class StaticTokens:
    """Verifies static tokens. Such a token has all of `scopes`, which a request needs."""

    def __init__(self, loaded: Loaded, scopes: list[str]) -> None:
        self._file, self._scopes = TokenFile(loaded), scopes
        self._turn = anyio.Lock()

    def __bool__(self) -> bool:
        """Whether any token is configured."""
        self._file.refresh()
        return bool(self._file.tokens)

    async def verify_token(self, token: str) -> AccessToken | None:
        """The SDK's form of a valid token; else `None`. It is looked up by its hash, so that the time this takes tells
        nothing of the token."""
        if self._file.changed():
            async with self._turn:
                await anyio.to_thread.run_sync(self._file.refresh)  # a large file takes long
        principal, settings = self._file.tokens.get(hashed(token), ("", None))
        if settings is None or (settings.expires is not None and settings.expires <= datetime.now(UTC)):
            return None
        return BoundToken(
            token=token,
            client_id="static",
            scopes=self._scopes,
            subject=principal,
            endpoints=(settings.endpoint,) if settings.endpoint else None,
        )
