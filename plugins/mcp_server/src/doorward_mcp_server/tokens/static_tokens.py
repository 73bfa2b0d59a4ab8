"""The bearer tokens of `[[principals.NAME.tokens]]`, of which the configuration has the hashes."""

from __future__ import annotations

from datetime import UTC, datetime

import anyio
import anyio.to_thread
from doorward.serving import Loaded, TokenFile
from mcp.server.auth.provider import AccessToken

from doorward_mcp_server.tokens.client_tokens import hashed


class StaticTokens:
    """Verifies them. `scopes` are those that a request needs, all of which such a token has."""

    def __init__(self, loaded: Loaded, scopes: list[str]) -> None:
        self._file, self._scopes = TokenFile(loaded), scopes
        self._turn = anyio.Lock()

    def __bool__(self) -> bool:
        """Whether there are any."""
        self._file.refresh()
        return bool(self._file.tokens)

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the SDK wants to know of a good token; else `None`. Found by its hash: how long that takes tells nothing
        of the token."""
        if self._file.changed():
            async with self._turn:
                await anyio.to_thread.run_sync(self._file.refresh)  # a large file takes long
        principal, settings = self._file.tokens.get(hashed(token), ("", None))
        if settings is None or (settings.expires is not None and settings.expires <= datetime.now(UTC)):
            return None
        return AccessToken(token=token, client_id="static", scopes=self._scopes, subject=principal)
