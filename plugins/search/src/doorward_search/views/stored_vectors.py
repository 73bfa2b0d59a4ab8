"""The vectors in the store: what was embedded once is not embedded again, after a restart either."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from doorward import DoorwardError, log
from doorward.engines import Delete, Put, Store, scan_all, take_over

T = TypeVar("T")

TABLE = "vectors"
"""The table of vectors. A key is the name of a view, the fingerprint of its model, and the digest of a text."""

EARLIER = "search_views.db"

KEPT_SECONDS = 30 * 86400
"""How long a vector is kept that nobody uses: a function may come back, and so may a model."""

RENEWED_SECONDS = 86400
"""How long after a vector was kept, or found in use, it is noted again that it is."""

_AT_ONCE = 500
_EARLIER = "SELECT view, model, text, vector FROM vectors"


class StoredVectors:
    """Vectors by the names of views, the fingerprints of their models, and the digests of texts. A store that cannot be
    used costs time and no answer: everything is embedded again. `earlier` is the file in which versions before the
    store kept them."""

    def __init__(self, store: Store, earlier: Path | None = None) -> None:
        self._store, self._earlier = store, earlier
        self._expires: dict[str, float] = {}
        self._told = False

    async def read(self, view: str, model: str) -> dict[bytes, bytes]:
        """All vectors of a view under a fingerprint, by the digests of their texts."""
        await self._done(self._take_over())
        prefix = _key(view, model, b"")
        records = await self._done(scan_all(self._store, TABLE, prefix)) or []
        lengths = {len(record.value) for record in records}
        if len(lengths) != 1 or any(length % 2 or not length for length in lengths):
            return {}  # somebody else has written there
        self._expires |= {record.key: record.expires or 0.0 for record in records}
        return {bytes.fromhex(record.key.removeprefix(prefix)): record.value for record in records}

    async def keep(self, view: str, model: str, vectors: Mapping[bytes, bytes]) -> None:
        keys = {_key(view, model, text): vector for text, vector in vectors.items()}
        for puts in _batches([Put(TABLE, key, vector, ttl=KEPT_SECONDS) for key, vector in keys.items()]):
            await self._done(self._store.commit(*puts))
        self._expires |= dict.fromkeys(keys, time.time() + KEPT_SECONDS)

    async def used(self, view: str, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Note that these are in use: the others go when their time is over. Not at once: a catalog that is made anew
        has only some of its servers at first, and to embed may cost money."""
        soon = time.time() + KEPT_SECONDS - RENEWED_SECONDS
        older = {text: each for text, each in vectors.items() if self._expires.get(_key(view, model, text), 0.0) < soon}
        await self.keep(view, model, older)

    async def clear(self) -> int:
        """Remove all of them. Returns: how many there were. Raises: StateError."""
        found = await scan_all(self._store, TABLE)
        for deletes in _batches([Delete(TABLE, record.key) for record in found]):
            await self._store.commit(*deletes)
        return len(found)

    async def _take_over(self) -> None:
        def changes(rows: Sequence[Any]) -> list[Put]:
            return [Put(TABLE, _key(view, model, text), vector, ttl=KEPT_SECONDS) for view, model, text, vector in rows]

        if self._earlier is not None:
            await take_over(self._store, self._earlier, _EARLIER, changes, whose=TABLE)
            self._earlier = None

    async def _done(self, work: Awaitable[T]) -> T | None:
        """What `work` reads or writes. `None` if the store cannot be used; the log says so once."""
        try:
            found = await work
        except DoorwardError as error:
            if not self._told:
                self._told = True
                log.warning("search_vectors_not_kept", why=str(error), hint=error.hint)
            return None
        self._told = False
        return found


def _key(view: str, model: str, text: bytes) -> str:
    return f"{view} {model} {text.hex()}"


def _batches(changes: Sequence[T]) -> list[Sequence[T]]:
    return [changes[start : start + _AT_ONCE] for start in range(0, len(changes), _AT_ONCE)]
