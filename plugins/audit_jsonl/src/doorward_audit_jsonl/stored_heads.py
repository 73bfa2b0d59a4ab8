"""The heads of the chains of several machines, in the store that they share. With them, whoever has a copy of a log and
its key can tell whether its last lines were cut off, with the head beside it or not.

A head is stored as it is written beside the log, with a hash by the key of the chain. Who can only write to the store
can remove it, or put an earlier one there, but not make one.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from doorward.engines import Store, scan_all, update

from doorward_audit_jsonl.chain import Head, head_in

TABLE = "audit heads"
"""A key is the name of a chain, a blank, and the name of its machine."""

KEPT_SECONDS = 400 * 86400.0
"""Seconds for which the head of a log is kept to which nothing is added."""


@dataclass(frozen=True, slots=True)
class Heads:
    """What the store knows: the head of a log, and the chains of others, with their machines."""

    own: Head | None = None
    others: Sequence[str] = ()


def chain_name(key: bytes) -> str:
    """What a chain is called: no other key has this name, and nobody can tell the key from it."""
    return hmac.digest(key, b"the name of the chain", "sha256").hex()[:16]


async def store_head(store: Store, key: bytes, head: Head) -> None:
    """Store a head, unless a later one is there. Raises: StateError."""

    def later(found: bytes | None) -> tuple[bytes | None, None]:
        before = head_in(found, key) if found else None
        return (None if before and before.last.n >= head.last.n else head.written(key)), None

    await update(store, TABLE, f"{chain_name(key)} {socket.gethostname()}", later, ttl=KEPT_SECONDS)


async def load_heads(store: Store, key: bytes) -> Heads:
    """What the store knows of a log, and of others. Raises: StateError."""
    own: Head | None = None
    others: list[str] = []
    for record in await scan_all(store, TABLE):
        name, _, machine = record.key.partition(" ")
        if name != chain_name(key):
            others.append(f"{name} of {machine}")
        elif (head := head_in(record.value, key)) and (own is None or head.last.n > own.last.n):
            own = head
    return Heads(own, others)
