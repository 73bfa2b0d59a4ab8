"""The frames of a journal's file: each whole or not at all, in order, and sealed where there is a key."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from doorward.model.errors import ConfigError, StateError

MAGIC = b"doorward run 1\n"
"""The beginning of each file: no other file is ever touched."""

SUMMARIES = b"HWROL"
"""Kinds of frames that say what became of a run; a list of runs reads no others."""

_HEAD = struct.Struct(">cII")
_MOST = 2**30

Frame = tuple[bytes, Any]
"""The kind of a frame, which is one letter, and what it says: a dictionary, or its JSON."""


class Sealing:
    """Seals frames with AES-GCM, each for its place in the journal of one run; without a key they stay as they are."""

    def __init__(self, key: Callable[[], str] | None, salt: Callable[[], bytes]) -> None:
        self._key, self._salt = key, salt
        self._master: bytes | None = None

    def box(self, run: str) -> Box:
        """What seals the frames of one run. Raises: ConfigError where the package for it is missing."""
        if self._key is None:
            return Box(None)
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            hint = "pip install 'doorward[vault]'; or set [runs] durable = \"never\"."
            told = "`vault_key` is to encrypt what is stored of runs, and the package `cryptography` is missing"
            raise ConfigError(told, place="vault_key", hint=hint) from None
        if self._master is None:
            self._master = hashlib.scrypt(self._key().encode(), salt=self._salt(), n=2**14, r=8, p=1, dklen=32)
        return Box(AESGCM(hmac.digest(self._master, f"run {run}".encode(), "sha256")))


class Box:
    """See `Sealing`. The place of a frame is part of what is sealed: none can be moved, or taken from another run."""

    def __init__(self, cipher: Any) -> None:
        self._cipher = cipher

    def sealed(self, payload: bytes, place: int, kind: bytes) -> bytes:
        if self._cipher is None:
            return payload
        nonce = os.urandom(12)
        return nonce + bytes(self._cipher.encrypt(nonce, payload, b"%b %d" % (kind, place)))

    def opened(self, payload: bytes, place: int, kind: bytes) -> bytes:
        """Raises: StateError if it was sealed with another key, or changed."""
        if self._cipher is None:
            return payload
        from cryptography.exceptions import InvalidTag

        try:
            return bytes(self._cipher.decrypt(payload[:12], payload[12:], b"%b %d" % (kind, place)))
        except (InvalidTag, ValueError):
            raise StateError(
                "a stored run cannot be read: it was encrypted with another `vault_key`, or changed",
                hint="Set vault_key to the key with which it was encrypted.",
            ) from None


def written(kind: bytes, said: Any, place: int, box: Box) -> bytes:
    """A frame as bytes. Raises: StateError if a value in it cannot be written."""
    payload = box.sealed(said if isinstance(said, bytes) else as_json(said), place, kind)
    return _HEAD.pack(kind, len(payload), zlib.crc32(payload)) + payload


def read(content: bytes, box: Box, only: bytes = b"") -> Iterator[tuple[Frame | None, int]]:
    """The frames of a file, and where each ends; `None` for those of a kind that is not wanted. A frame that was not
    written to its end, and what follows, is left out. Raises: StateError."""
    at, place = len(MAGIC), 0
    while at + _HEAD.size <= len(content):
        kind, length, crc = _HEAD.unpack_from(content, at)
        start, at = at + _HEAD.size, at + _HEAD.size + length
        payload = content[start:at]
        if length > _MOST or len(payload) < length or zlib.crc32(payload) != crc:
            return
        wanted = not only or kind in only
        try:
            yield ((kind, _value(box.opened(payload, place, kind))) if wanted else None), at
        except ValueError:
            raise StateError(
                "a stored run cannot be read: it is encrypted", hint="Set vault_key to the key that it was."
            ) from None
        place += 1


@contextmanager
def understood() -> Iterator[None]:
    """Frames are read that somebody changed, or another version wrote. Raises: StateError if they make no sense."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise StateError(
            "a stored run cannot be read: it is damaged, or of another version", hint="Run the program anew."
        ) from None


def as_json(value: Any) -> bytes:
    """A value as JSON that is read as it was, numbers that are none and broken text included. Raises: StateError."""
    try:
        return to_json(value, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):  # pydantic refuses half of a surrogate pair
        try:
            return json.dumps(value).encode()
        except (TypeError, ValueError) as error:
            raise StateError(f"a value of this run cannot be stored: {error}") from None


def _value(payload: bytes) -> Any:
    try:
        return from_json(payload)
    except ValueError:
        return json.loads(payload)
