"""The bearer tokens of `[[principals.NAME.tokens]]`. Their hashes are in the configuration file, which is read again when it changes: a
token that `doorward token` makes or revokes needs no restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.to_thread
from doorward.config.config import Loaded, read, validate
from doorward.config.distribution import layers
from doorward.config.settings import EVERYONE, TokenSettings, can_come_in
from doorward.host.cached_file import stamp
from doorward.host.logs import log
from doorward.model.errors import ConfigError
from doorward_mcp_server.clients import hashed
from mcp.server.auth.provider import AccessToken


class StaticTokens:
    """Verifies them. `scopes` are those that a request needs, all of which such a token has."""

    def __init__(self, loaded: Loaded, scopes: list[str]) -> None:
        self._loaded, self._scopes = loaded, scopes
        self._tokens = {
            token.hash: (principal, token) for principal, settings in loaded.config.principals.items() for token in settings.tokens
        }
        self._stamp = self._found()
        self._turn = anyio.Lock()
        self._known = _rights(loaded.principals or {})

    def __bool__(self) -> bool:
        """Whether there are any."""
        self._look()
        return bool(self._tokens)

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the SDK wants to know of a good token; else `None`. Found by its hash: how long that takes tells nothing of the token."""
        if self._found() != self._stamp:
            async with self._turn:
                await anyio.to_thread.run_sync(self._look)  # a large file takes long
        principal, settings = self._tokens.get(hashed(token), ("", None))
        if settings is None or (settings.expires is not None and settings.expires <= datetime.now(UTC)):
            return None
        return AccessToken(token=token, client_id="static", scopes=self._scopes, subject=principal)

    def _look(self) -> None:
        """Read the file if it has changed. While it cannot be read, what it said before holds."""
        if (found := self._found()) == self._stamp:
            return
        try:
            self._tokens = dict(self._read())
        except (ConfigError, OSError, ValueError, TypeError) as error:
            log.error("tokens_not_read", file=str(self._loaded.path), why=str(error), hint="Those that it had before are still good.")
        self._stamp = found

    def _found(self) -> tuple[int, ...]:
        try:
            return stamp(self._loaded.path.stat())
        except OSError:
            return ()

    def _tables(self) -> Mapping[str, Any]:
        data, _ = layers(read(self._loaded.path)[0], self._loaded.secrets)
        tables = data.get("principals", {})
        if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
            raise ConfigError("must hold tables", place=f"{self._loaded.file} [principals]")
        return tables

    def _read(self) -> Iterator[tuple[str, tuple[str, TokenSettings]]]:
        """The tokens in the file. Not those of principals whose rights there are others than those that this process knows."""
        tables = self._tables()
        rights = _rights(tables)
        for name, table in tables.items():
            if not table.get("tokens") or not can_come_in(name):
                continue
            same = all(rights.get(key, {}) == self._known.get(key, {}) for key in (name, EVERYONE))
            for each in table["tokens"]:
                token = validate(TokenSettings, each, secrets=self._loaded.secrets, place=f"{self._loaded.file} [principals.{name}] tokens")
                if same or self._tokens.get(token.hash, ("",))[0] == name:
                    yield token.hash, (name, token)
                else:
                    log.warning("token_needs_restart", id=token.id, why=f"[principals.{name}] has changed: it is read at the start")


def _rights(tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """All but the tokens."""
    return {name: {key: value for key, value in table.items() if key != "tokens"} for name, table in tables.items()}
