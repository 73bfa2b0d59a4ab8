"""Seals what is stored with `vault_key`: without the key nobody reads it, and nobody changes or moves it unseen."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from doorward import ConfigError, StateError
from doorward.administration import run_in_thread
from doorward.engines import Put, Store, retry
from doorward.files import own_folder, shared_secret

SALTS = "salts"
"""The table of salts, by what is sealed with them."""


async def shared_salt(store: Store, what: str, earlier: Path | None = None) -> bytes:
    """The salt with which all processes of a store seal this; the one in the file of an `earlier` version, if
    there is one. Raises: StateError."""

    async def attempt() -> bytes:
        if (found := await store.get(SALTS, what)) is not None:
            return found.value
        salt = await run_in_thread(_first_salt, earlier)
        await store.commit(Put(SALTS, what, salt, expected=0), sync=True)
        return salt

    return await retry(attempt, SALTS)


def _first_salt(earlier: Path | None) -> bytes:
    return shared_secret(earlier, 16) if earlier is not None and earlier.exists() else os.urandom(16)


class Sealing:
    """Seals with AES-GCM, by keys that are made of `key` and a salt, or the one in a file that all processes share;
    without a key, what is stored stays as it is. What that does not open, the key of `before` may. `what` is stored, in
    words, and `hint` says how to do without."""

    def __init__(
        self, key: Callable[[], str] | None, salt: Path | bytes, what: str, hint: str = "",
        before: Callable[[], str] | None = None,
    ) -> None:  # fmt: skip
        self._key, self._salt, self._what = key, salt, what
        self._hint = f"pip install 'doorward[vault]'{hint}."
        self._master: bytes | None = None
        self._before = Sealing(before, salt, what) if key is not None and before is not None else None

    def box(self, name: str) -> Box:
        """What seals all that has this name. Raises: ConfigError where the package for it is missing."""
        if self._key is None:
            return Box(None, b"", self._what)
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            told = (
                f"`vault_key` is to encrypt what is stored of {self._what}, and the package `cryptography` is missing"
            )
            raise ConfigError(told, place="vault_key", hint=self._hint) from None
        if self._master is None:
            salt = self._salt
            if isinstance(salt, Path):
                own_folder(salt.parent, private=True)
                salt = shared_secret(salt, 16)
            self._master = hashlib.scrypt(self._key().encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)
        key = hmac.digest(self._master, name.encode(), "sha256")
        return Box(AESGCM(key), key, self._what, self._before.box(name) if self._before else None)


class Box:
    """See `Sealing`. What a content is `about` is part of what is sealed: none can be moved to another place."""

    __slots__ = ("_before", "_cipher", "_key", "_what")

    def __init__(self, cipher: Any, key: bytes, what: str, before: Box | None = None) -> None:
        self._cipher, self._key, self._what, self._before = cipher, key, what, before

    @property
    def seals(self) -> bool:
        """Whether there is a key."""
        return self._cipher is not None

    def sealed(self, content: bytes, about: bytes) -> bytes:
        """The content, so that only `opened` reads it."""
        if self._cipher is None:
            return content
        nonce = os.urandom(12)
        return nonce + bytes(self._cipher.encrypt(nonce, content, about))

    def opened(self, content: bytes, about: bytes) -> bytes:
        """The content again. Raises: StateError if it was sealed with another key, or changed."""
        if self._cipher is None:
            return content
        from cryptography.exceptions import InvalidTag

        try:
            return bytes(self._cipher.decrypt(content[:12], content[12:], about))
        except (InvalidTag, ValueError):
            if self._before is not None:
                return self._before.opened(content, about)
            raise StateError(
                f"what is stored of {self._what} cannot be read: it was encrypted with another `vault_key`, "
                "without one, or changed",
                hint="Set vault_key, or vault_key_before, to the key with which it was encrypted.",
            ) from None

    def keyed(self, digest: str) -> str:
        """A hash, so that nobody who guesses what was hashed can find out without the key."""
        return hmac.digest(self._key, digest.encode(), "sha256").hex() if self._key else digest

    def all_keyed(self, digest: str) -> tuple[str, ...]:
        """The hashes by which it may be stored: that of the key, and that of the one before."""
        return (self.keyed(digest), *(self._before.all_keyed(digest) if self._before else ()))
