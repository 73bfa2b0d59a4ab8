"""Gateways on other machines: a request for what one of them holds, a session of an older protocol version or of a
sandbox, is sent to it by HTTP, and its answer handed back.

The gateways find each other in the store that they share, and only there: each stores the address by which the others
reach it, sealed with a key that only those have who have the `vault_key`. With this key the one that sends seals what
shall be done, the client's token with it, and the one that answers proves that it has the key, too. The client's token
is checked again there. What is sent on is never sent on again.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import re
import secrets
import socket
import ssl
import time
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2
from doorward import ConfigError, StateError, log
from doorward.engines import Delete, Put, Store
from doorward.serving import Process
from pydantic import BaseModel, ValidationError
from starlette.types import Scope

from doorward_mcp_server.http.sessions import OF_ONE_CONNECTION, Refused

TABLE = "mcp peers"
"""The addresses of gateways that live, by the ids of their processes."""

LEASE_SECONDS = 15.0
"""An address that has not been stored again for so long is gone."""

RENEWAL_SECONDS = 5.0

SENT_HEADER = "doorward-forwarded"
PROOF_HEADER = "doorward-proof"

VALID_SECONDS = 60
"""Seconds for which a request that was sealed may arrive. The clocks of two machines may differ by as much."""

MAX_SEALED_BYTES = 15_000
"""Largest sealed head: with the rest of the request's head it must fit into what uvicorn takes."""

CONNECT_SECONDS = 5.0

_ID = re.compile(r"[0-9a-f]{8}")

_KEEPALIVE = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
    (socket.IPPROTO_TCP, getattr(socket, name), value)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
    if hasattr(socket, name)
]
"""An answer may take as long as a program does: a machine that has lost its power meanwhile is noticed."""


class _Row(BaseModel):
    id: str
    url: str


class Head(BaseModel):
    """A request that is sent on, but for its body."""

    to: str
    nonce: str
    method: str
    target: str
    headers: list[tuple[str, str]]
    size: int
    digest: str


class Peers:
    """The gateways that share a store and a key. `url` is the address by which the others reach this one."""

    def __init__(self, store: Store, key: bytes, process: Process, url: str) -> None:
        from cryptography.fernet import Fernet
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        self.process = process
        self._store, self._url = store, url
        own = HKDF(SHA256(), 64, None, b"doorward peers").derive(key)
        self._box, self._proving = Fernet(base64.urlsafe_b64encode(own[:32])), own[32:]
        self._tls = ssl.create_default_context()
        self._seen: dict[str, float] = {}

    @contextlib.asynccontextmanager
    async def announced(self) -> AsyncIterator[None]:
        """A block in which the others know where this gateway is."""
        await self._announce()
        renewing = asyncio.ensure_future(self._renew())
        try:
            yield
        finally:
            renewing.cancel()
            with contextlib.suppress(StateError):
                await self._store.commit(Delete(TABLE, self.process.id))

    async def find(self, named: str) -> _Row | None:
        """The gateway that has named something, if that is another one and lives. Raises: Refused if the store is out
        of reach."""
        from cryptography.fernet import InvalidToken

        id = named[:8]
        if _ID.fullmatch(id) is None:
            return None
        try:
            found = await self._store.get(TABLE, id)
        except StateError as error:
            raise Refused(503, f"who has this session cannot be looked up: {error}") from error
        if found is None:
            return None
        try:
            row = _Row.model_validate_json(self._box.decrypt(found.value, 2 * VALID_SECONDS))
        except (InvalidToken, ValidationError):
            log.warning("peer_unknown", id=id, hint="Have all machines the same vault_key, and the same time?")
            return None
        return row if row.id == id else None

    @contextlib.asynccontextmanager
    async def exchange(self, row: _Row, scope: Scope, body: bytes) -> AsyncIterator[httpx2.Response]:
        """The answer of another gateway to a request. Raises: Refused if it does not prove who it is."""
        nonce = secrets.token_urlsafe(16)
        headers = {SENT_HEADER: self.sealed(row.id, nonce, scope, body), "Content-Type": "application/octet-stream"}
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        transport = httpx2.AsyncHTTPTransport(verify=self._tls, socket_options=_KEEPALIVE, limits=limits)
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        async with (
            httpx2.AsyncClient(transport=transport, timeout=timeout, trust_env=False) as client,
            client.stream("POST", row.url, headers=headers, content=body) as answer,
        ):
            proof = answer.headers.pop(PROOF_HEADER, "")
            if not hmac.compare_digest(proof.encode(), self.proof(nonce, answer.status_code)):
                log.warning("peer_unproven", id=row.id, url=row.url, status=answer.status_code)
                raise Refused(502, "the machine that has this session cannot be reached: another one answered for it")
            yield answer

    def sealed(self, to: str, nonce: str, scope: Scope, body: bytes) -> str:
        """A request, as only another gateway can read it. Raises: Refused if it is too large."""
        query = scope["query_string"].decode("latin-1")
        head = Head(
            to=to,
            nonce=nonce,
            method=scope["method"],
            target=scope["raw_path"].decode("latin-1") + (f"?{query}" if query else ""),
            headers=[
                (name.decode("latin-1"), value.decode("latin-1"))
                for name, value in scope["headers"]
                if name not in OF_ONE_CONNECTION
            ],
            size=len(body),
            digest=hashlib.sha256(body).hexdigest(),
        )
        sealed = self._box.encrypt(head.model_dump_json().encode()).decode()
        if len(sealed) > MAX_SEALED_BYTES:
            raise Refused(431, "the headers are too large to be sent on to the machine that has this session")
        return sealed

    def opened(self, sealed: str) -> Head:
        """What another gateway has sealed. Raises: Refused."""
        from cryptography.fernet import InvalidToken

        try:
            return Head.model_validate_json(self._box.decrypt(sealed, VALID_SECONDS))
        except (InvalidToken, ValueError):
            raise Refused(403, "this was sealed by no gateway of ours, or too long ago") from None

    def spend(self, nonce: str) -> None:
        """Note that a request has come. Raises: Refused if it had come before."""
        now = time.monotonic()
        while self._seen and self._seen[oldest := next(iter(self._seen))] < now:
            del self._seen[oldest]
        if nonce in self._seen:
            raise Refused(403, "this request was here before")
        self._seen[nonce] = now + 3 * VALID_SECONDS

    def proof(self, nonce: str, status: int) -> bytes:
        """What shows that an answer is that of a gateway of ours to this request."""
        return hmac.digest(self._proving, f"{nonce} {status}".encode(), "sha256").hex().encode()

    async def _announce(self) -> None:
        row = _Row(id=self.process.id, url=self._url)
        try:
            sealed = self._box.encrypt(row.model_dump_json().encode())
            await self._store.commit(Put(TABLE, row.id, sealed, ttl=LEASE_SECONDS))
        except StateError as error:
            log.warning("peer_unannounced", why=str(error))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEWAL_SECONDS)
            await self._announce()


def check_peer(url: str, *, distributed: bool, sealed: bool) -> None:
    """Raises: ConfigError if machines could not find, or not trust, each other."""
    if not distributed:
        raise ConfigError(
            "gateways on several machines find each other by a store that they share",
            place="[http] peer",
            hint='Set store = "postgres", or leave `peer` out.',
        )
    if not sealed:
        raise ConfigError(
            "gateways prove who they are to each other by a `vault_key`",
            place="[http] peer",
            hint="Set the same `vault_key` on all machines, or leave `peer` out.",
        )
    if urlsplit(url).path in ("", "/"):
        raise ConfigError(
            f"{url} names no path",
            place="[http] peer",
            hint="Write the whole address of this machine's endpoint, such as https://10.0.0.3:8765/mcp.",
        )
