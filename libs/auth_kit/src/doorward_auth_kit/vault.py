"""Credentials stored between processes: files that only their owner can read, encrypted if there is a key."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from doorward import ConfigError, ServerError
from doorward.files import own_file, own_folder, sync_names, write_own

if TYPE_CHECKING:
    from doorward import PluginContext

LOCK_SECONDS = 60.0
"""How long to wait for another process that uses the same entry."""

_SEALED = '{"salt": '
"""How an encrypted entry begins."""


class UnreadableEntry(ConfigError):
    """An entry is there, but cannot be read. Whoever takes it for missing may use up, or revoke, what it stands for."""


def entry(context: PluginContext, *about: str, shared: bool = False) -> str:
    """The name of the entry for this server, URL, principal and configuration, and for what else it is `about` (the
    provider, the client). No other entry has this name. One that is `shared` is called the same on every machine."""
    where = [] if shared else [str(context.state.resolve())]
    what = [context.principal, context.url, *where, *about]
    return f"{context.name}-{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]}"


class Vault:
    """A folder of entries by name. `key` reveals the key that encrypts them; without one, only permissions of files
    protect them. What only the key of `before` opens is read, and encrypted with `key` then."""

    def __init__(
        self, folder: Path, key: Callable[[], str] | None = None, before: Callable[[], str] | None = None
    ) -> None:
        self._folder, self._key, self._before = folder, key, before

    @classmethod
    def of(cls, context: PluginContext) -> Vault:
        """The vault of a configuration, in its state folder; `vault_key` there encrypts it."""
        return cls(context.state / "credentials", context.vault_key, context.vault_key_before)

    @property
    def encrypted(self) -> bool:
        """Whether entries are encrypted. Credentials that can be fetched again are stored only then."""
        return self._key is not None

    def load(self, name: str) -> str | None:
        """The entry of this name; `None` if there is none. Raises: UnreadableEntry, ConfigError."""
        with self._errors(name):
            self._check_folder()
            try:
                with open(own_file(self._file(name), os.O_RDONLY), encoding="utf-8") as file:
                    text = file.read()
            except FileNotFoundError:
                return None
            except UnicodeDecodeError:
                raise self.unreadable(name) from None
        return self._opened(name, text)

    def unreadable(self, name: str) -> UnreadableEntry:
        """The error for an entry that cannot be read."""
        return UnreadableEntry(
            "cannot be read: it was encrypted with another `vault_key`, or is damaged",
            place=str(self._file(name)),
            hint="Set vault_key, or vault_key_before, to the key with which it was encrypted. If that is lost, log in "
            "again, or delete the file and configure new credentials.",
        )

    def save(self, name: str, text: str) -> Path:
        """Write or replace an entry, whole or not at all. Returns: its file. Raises: ConfigError."""
        with self._errors(name):
            own_folder(self._folder, private=True)
            write_own(self._file(name), self._sealed(name, text).encode())
        return self._file(name)

    def forget(self, name: str) -> bool:
        """Delete an entry. Returns: whether there was one. Raises: ConfigError."""
        with self._errors(name):
            self._check_folder()
            had = self._file(name).exists()
            self._file(name).unlink(missing_ok=True)
        return had

    def mark(self, name: str) -> None:
        """Tell all processes that hold this entry that it is out of date; that survives a power cut, too. Raises:
        ConfigError."""
        with self._errors(name):
            own_folder(self._folder, private=True)
            number = own_file(self._mark(name), os.O_WRONLY | os.O_CREAT)
            try:
                os.utime(number)
                os.fsync(number)
            finally:
                os.close(number)
            sync_names(self._folder)

    def marked(self, name: str) -> int:
        """A number that changes with each `mark`. It is cheap enough to be read at each request."""
        try:
            return self._mark(name).lstat().st_mtime_ns
        except OSError:
            return 0

    @contextlib.asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[None]:
        """Use an entry as the only process: a refresh token may be used once only. Raises: ConfigError, ServerError."""
        from filelock import FileLock, Timeout

        at = self._folder / f"{name}.lock"
        with self._errors(name):
            own_folder(self._folder, private=True)
            os.close(own_file(at, os.O_RDWR | os.O_CREAT))
        lock = FileLock(at, mode=0o600)
        patience = anyio.current_time() + LOCK_SECONDS
        while True:
            try:
                lock.acquire(blocking=False)
                break
            except Timeout:
                if anyio.current_time() > patience:
                    raise ServerError(
                        "another process has been renewing the token for a minute", hint="Is one of them stuck?"
                    ) from None
                await anyio.sleep(0.05)
            except OSError as error:
                raise ConfigError(f"cannot be written: {error.strerror}", place=str(self._folder)) from None
        try:
            yield
        finally:
            lock.release()

    def _sealed(self, name: str, text: str) -> str:
        return text if self._key is None else seal(self._key(), name, text)

    def _opened(self, name: str, text: str) -> str:
        """The text of an entry. Raises: UnreadableEntry if it was encrypted with another key or for another entry, or
        is damaged."""
        if not text.startswith(_SEALED):
            return text
        if self._key is None:
            raise self.unreadable(name)
        try:
            opened, is_new = unseal_either(self._key, self._before, name, text)
        except ValueError:
            raise self.unreadable(name) from None
        if not is_new:
            self._seal_again(name, text, opened)
        return opened

    def _seal_again(self, name: str, found: str, text: str) -> None:
        """Encrypt an entry with the new key, unless somebody uses it just now: then it is done when it is read next."""
        from filelock import FileLock, Timeout

        lock = FileLock(self._folder / f"{name}.lock", mode=0o600)
        with contextlib.suppress(Timeout, OSError, ConfigError), lock.acquire(blocking=False):
            with open(own_file(self._file(name), os.O_RDONLY), encoding="utf-8") as file:
                is_same = file.read() == found
            if is_same:
                write_own(self._file(name), self._sealed(name, text).encode())

    def _check_folder(self) -> None:
        if self._folder.exists():
            own_folder(self._folder, private=True)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _mark(self, name: str) -> Path:
        return self._folder / f"{name}.changed"

    @contextlib.contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConfigError(f"cannot be used: {error.strerror}", place=str(self._file(name))) from None


def seal(key: str, name: str, text: str) -> str:
    """A text encrypted for the entry of this name."""
    from cryptography.fernet import Fernet

    salt = os.urandom(16)
    box = Fernet(_derived(key, name, salt)).encrypt(text.encode())
    return json.dumps({"salt": salt.hex(), "box": box.decode()})


def unseal(key: str, name: str, text: str) -> str:
    """What `seal` was given. Raises: ValueError for another key, another entry, or a damaged text."""
    from cryptography.fernet import Fernet, InvalidToken

    try:
        sealed = json.loads(text)
        salt, box = bytes.fromhex(sealed["salt"]), sealed["box"].encode()
        return Fernet(_derived(key, name, salt)).decrypt(box).decode()
    except (ValueError, KeyError, TypeError, AttributeError, InvalidToken):
        raise ValueError("is not sealed with this key for this entry") from None


def unseal_either(key: Callable[[], str], before: Callable[[], str] | None, name: str, text: str) -> tuple[str, bool]:
    """What `seal` was given with this key, or with the one of `before`; and whether it was this one. Raises: ValueError
    if it was neither."""
    try:
        return unseal(key(), name, text), True
    except ValueError:
        if before is None:
            raise
        return unseal(before(), name, text), False


def _derived(key: str, name: str, salt: bytes) -> bytes:
    """A key for Fernet, derived from any text (RFC 7914), for one entry: a file moved to the place of another cannot be
    read there."""
    derived = hashlib.scrypt(key.encode(), salt=salt + name.encode(), n=2**14, r=8, p=1, dklen=32)
    return base64.urlsafe_b64encode(derived)
