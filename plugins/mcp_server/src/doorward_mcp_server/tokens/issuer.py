"""The signing keys of an authorization server: found by its metadata, cached, and fetched again for unknown ones."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt
from doorward import ServerError
from doorward.serving import seldom
from doorward.values import is_loopback
from doorward_auth_kit import exchange, plain_client
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from starlette.authentication import AuthenticationError

from doorward_mcp_server.settings import OAuthSettings

RETRY_SECONDS = 30.0
"""Seconds between two fetches because of an unknown key. Anybody can send tokens that name one."""
RETRY_DOWN_SECONDS = 2.0
"""The same while the issuer cannot be reached."""
REFRESH_SECONDS = 3600.0
"""Seconds after which keys are fetched anew, so that withdrawn ones end. The old ones are valid until that succeeds."""
FETCH_SECONDS = 10.0
"""Seconds for a whole fetch: requests wait for it."""
MAX_KEYS = 50
"""Keys of an issuer that are looked at."""
_KEY_TYPES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


class Unavailable(AuthenticationError):
    """A token cannot be verified now."""


class Keys:
    """The public keys of an issuer."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._settings = settings
        self._keys: list[Mapping[str, Any]] = []
        self._fetched = self._tried = float("-inf")
        self._down = False
        self._running: asyncio.Task[None] | None = None

    async def named(self, kid: str | None, algorithm: str) -> list[jwt.PyJWK]:
        """The keys that may have made a signature: those with this id, or all if the token names none.

        Raises: Unavailable if the issuer cannot be asked for them.
        """
        if found := self._held(kid, algorithm):
            if time.monotonic() - self._fetched > REFRESH_SECONDS:
                self._ask()
            return found
        if running := self._ask():
            await asyncio.shield(running)
        found = self._held(kid, algorithm)
        if not found and self._down:
            raise Unavailable("the authorization server cannot be asked for its keys")
        return found

    def _held(self, kid: str | None, algorithm: str) -> list[jwt.PyJWK]:
        return list(_usable((key for key in self._keys if kid is None or key.get("kid") == kid), algorithm))

    def _ask(self) -> asyncio.Task[None] | None:
        """Start to fetch the keys, once for all that wait, and not too often."""
        if self._running is None or self._running.done():
            if time.monotonic() - self._tried < (RETRY_DOWN_SECONDS if self._down else RETRY_SECONDS):
                return None
            self._running = asyncio.ensure_future(self._fetch())
        return self._running

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(FETCH_SECONDS), plain_client(self._settings.issuer) as client:
                url = self._settings.jwks_url or await self._discovered(client)
                found = await _json(client, url)
            keys = found.get("keys") if found else None
            if not isinstance(keys, list):
                raise ServerError(f"{url} has no keys")
            self._keys = [key for key in keys[:MAX_KEYS] if isinstance(key, dict)]
            self._fetched, self._down = time.monotonic(), False
        except Exception as error:  # whatever is in the answer: the keys that are held stay valid
            self._down = True
            seldom.warning(
                "issuer_unavailable", issuer=self._settings.issuer, why=f"{type(error).__name__}: {error}"[:500]
            )
        finally:
            self._tried = time.monotonic()

    async def _discovered(self, client: httpx2.AsyncClient) -> str:
        """The URL of the keys, from the metadata. Raises: ServerError."""
        issuer = self._settings.issuer
        for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, issuer):
            found = await _json(client, url)
            if found is None:
                continue
            if found.get("issuer") != issuer:
                raise ServerError(f"{url} is of another issuer: {found.get('issuer')!r:.200}, not {issuer!r}")
            where = found.get("jwks_uri")
            if isinstance(where, str) and (where.startswith("https://") or (_is_local(issuer) and _is_local(where))):
                return where
            raise ServerError(f"{url} names no https jwks_uri")
        raise ServerError(f"{issuer} has no metadata (RFC 8414, OpenID Connect Discovery)")


def _is_local(url: str) -> bool:
    return is_loopback(urlsplit(url).hostname or "")


async def _json(client: httpx2.AsyncClient, url: str) -> dict[str, Any] | None:
    """The object at a URL; `None` if there is nothing. Raises: ServerError."""
    response = await exchange(client, client.build_request("GET", url, headers={"Accept": "application/json"}))
    if 400 <= response.status_code < 500:
        return None
    if response.status_code != 200:
        raise ServerError(f"{url} answered {response.status_code}")
    found = json.loads(response.content)
    if not isinstance(found, dict):
        raise ServerError(f"{url} answered with no object")
    return found


def _usable(keys: Iterator[Mapping[str, Any]], algorithm: str) -> Iterator[jwt.PyJWK]:
    """The keys for this kind of signature. Keys that cannot be read are skipped."""
    for key in keys:
        if (
            key.get("kty") != _KEY_TYPES[algorithm[:2]]
            or key.get("use", "sig") != "sig"
            or key.get("alg", algorithm) != algorithm
        ):
            continue
        try:
            yield jwt.PyJWK(dict(key), algorithm)
        except Exception as error:
            seldom.debug("key_not_readable", why=type(error).__name__)
