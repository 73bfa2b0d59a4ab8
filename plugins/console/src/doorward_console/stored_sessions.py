"""Sessions in the store, sealed with `vault_key`: they outlive a restart, and other processes know them."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from doorward import Principal, StateError, log
from doorward.administration import run_in_thread
from doorward.engines import Conflict, Delete, Put
from doorward_auth_kit import seal, unseal_either

from doorward_console.sessions import LINK_SECONDS, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorward import Gateway
    from doorward.engines import Store

TABLE = "console sessions"
LINKS = "console links used"


class StoredSessions:
    """Sessions by the hashes of their ids. Without a key there are none: who can write a database is no operator."""

    def __init__(self, store: Store, key: Callable[[], str], before: Callable[[], str] | None = None) -> None:
        self._store, self._key, self._before = store, key, before

    @classmethod
    def of(cls, gateway: Gateway) -> StoredSessions | None:
        """Those of a gateway that has a store that lasts, and a `vault_key`."""
        key, before = gateway.config.vault_keys
        if key is None or not gateway.store.lasts:
            return None
        return cls(gateway.store, key, before)

    async def put(self, id: str, session: Session, left: float, ended: Iterable[str] = ()) -> None:
        """Store a session for the seconds that it has left; others, by their keys, have `ended`. One that cannot be
        stored is this process's alone."""
        about = {"principal": str(session.principal), "forgery": session.forgery, "token": session.token}
        text = json.dumps(about | {"ends": time.time() + left})
        try:
            sealed = await run_in_thread(seal, self._key(), name := key_of(id), text)
            put = Put(TABLE, name, sealed.encode(), ttl=left)
            await self._store.commit(put, *(Delete(TABLE, each) for each in {*ended} - {name}))
        except StateError as error:
            log.warning("console_session_not_stored", why=error.message)

    async def lives(self, id: str) -> bool:
        """Whether a session is there: one that was ended in another process is not. Raises: StateError."""
        return await self._store.get(TABLE, key_of(id)) is not None

    async def get(self, id: str) -> tuple[Session, float] | None:
        """A session, and the seconds that it has left. Raises: StateError."""
        record = await self._store.get(TABLE, key_of(id))
        if record is None:
            return None
        try:
            text, _ = await run_in_thread(unseal_either, self._key, self._before, key_of(id), record.value.decode())
            said = json.loads(text)
        except ValueError:  # sealed with another key, for another session, or changed
            return None
        left = said["ends"] - time.time()
        return (Session(Principal(said["principal"]), said["forgery"], 0.0, said["token"]), left) if left > 0 else None

    def new_link(self) -> str:
        """The secret of a link that can be used once, in whatever process, within `LINK_SECONDS`: it is signed."""
        about = f"{int(time.time() + LINK_SECONDS)}.{secrets.token_urlsafe(24)}"
        return f"{about}.{self._signature(about)}"

    async def use_link(self, secret: str) -> bool:
        """Whether this is a link that has not been used, and is not too old. It is used now. Raises: StateError."""
        about, _, signature = secret.rpartition(".")
        if not hmac.compare_digest(signature.encode(errors="replace"), self._signature(about).encode()):
            return False
        if int(about.partition(".")[0]) < time.time():
            return False
        try:
            await self._store.commit(Put(LINKS, key_of(about), b"", expected=0, ttl=LINK_SECONDS * 2))
        except Conflict:
            return False
        return True

    def _signature(self, about: str) -> str:
        return hmac.new(self._key().encode(), f"console link {about}".encode(errors="replace"), "sha256").hexdigest()

    async def end(self, id: str) -> None:
        """End a session everywhere. Raises: StateError: then it has not ended."""
        await self._store.commit(Delete(TABLE, key_of(id)))


def key_of(id: str) -> str:
    """The key of a session: nobody who reads it can sign in by it."""
    return hashlib.sha256(id.encode(errors="surrogatepass")).hexdigest()
