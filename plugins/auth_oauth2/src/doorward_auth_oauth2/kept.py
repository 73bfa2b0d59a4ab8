"""What is kept of a login, and where: in the keyring of the operating system, or in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
from doorward import ConfigError, ServerError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "doorward"
"""The service under which entries stand in a keyring."""
MARGIN = 30.0
"""Seconds before its end from which on a token is renewed; half of its life, if that is less."""
_YEARS = 10**9
"""Seconds after which nobody cares any more; some say more than a float can hold."""
PATIENCE = 60.0
"""Seconds to wait for another process that renews the same token."""


@dataclass(frozen=True, slots=True)
class Login:
    """One login, or the tokens of a client. The dictionaries are as they came over the wire, in the words of the RFCs."""

    tokens: dict[str, Any] = field(repr=False)
    provider: dict[str, Any] = field(default_factory=dict)
    """Of the authorization server's metadata (RFC 8414): issuer, endpoints."""
    resource: dict[str, Any] = field(default_factory=dict)
    """Of the resource's metadata (RFC 9728), if it has any: resource, authorization_servers."""
    client: dict[str, Any] = field(default_factory=dict, repr=False)
    """The client that was registered at the login (RFC 7591); empty for one that is configured."""
    got: float = field(default_factory=time.time)
    wanted: str = ""
    """Scopes that a call was refused for, to be asked for at the next login."""

    @property
    def token(self) -> str:
        return str(self.tokens["access_token"])

    @property
    def scope(self) -> str:
        return str(self.tokens.get("scope") or "")

    @property
    def ends(self) -> float:
        """When the token ends, in seconds since the epoch; infinity if nobody said."""
        life = self.tokens.get("expires_in")
        return float("inf") if life is None else self.got + float(min(life, _YEARS))

    @property
    def renewal(self) -> float:
        """From when on it should be renewed."""
        return self.ends - min(MARGIN, (self.ends - self.got) / 2) if self.ends < float("inf") else self.ends

    def conceal(self, conceal: Callable[[str], None]) -> None:
        """Tell the scrubber what must not be seen of it."""
        for value in (self.token, self.tokens.get("refresh_token"), self.client.get("client_secret")):
            if value:
                conceal(str(value))


class Store:
    """Where one login is kept. Everything that waits for a disk or a keyring does so in a thread."""

    def __init__(self, folder: Path, name: str, kind: Literal["auto", "keyring", "file"]) -> None:
        self._folder = folder
        self._name = name
        self._kind = kind
        self._file = folder / f"{name}.json"

    async def load(self) -> Login | None:
        """What is kept, if anything is. Raises: ConfigError."""
        return await anyio.to_thread.run_sync(self._load)

    async def save(self, login: Login) -> str:
        """Keep a login in place of what was kept. Returns: where. Raises: ConfigError."""
        return await anyio.to_thread.run_sync(self._save, login)

    async def forget(self) -> bool:
        """Keep nothing. Returns: whether there was anything. Raises: ConfigError."""
        return await anyio.to_thread.run_sync(self._forget)

    @contextlib.asynccontextmanager
    async def lock(self) -> AsyncIterator[None]:
        """Alone with what is kept, of all processes: a refresh token may be used once only. Raises: ConfigError, ServerError."""
        from filelock import FileLock, Timeout

        self._make_folder()
        lock = FileLock(self._folder / f"{self._name}.lock", mode=0o600)
        patience = anyio.current_time() + PATIENCE
        while True:
            try:
                lock.acquire(blocking=False)
                break
            except Timeout:
                if anyio.current_time() > patience:
                    raise ServerError("another process has been renewing the token for a minute", hint="Is one of them stuck?") from None
                await anyio.sleep(0.05)
            except OSError as error:
                raise ConfigError(f"cannot be written: {error.strerror}", place=str(self._folder)) from None
        try:
            yield
        finally:
            lock.release()

    def _load(self) -> Login | None:
        """The newest of both places: one may have been out of reach when the other was written."""
        found = []
        if (keyring := self._keyring()) is not None:
            with self._keyring_errors():
                found.append(keyring.get_password(SERVICE, self._name))
        if self._kind != "keyring":
            with contextlib.suppress(FileNotFoundError), self._file_errors():
                found.append(self._file.read_text(encoding="utf-8"))
        logins = [login for text in found if text and (login := _parsed(text))]
        return max(logins, key=lambda login: login.got, default=None)

    def _save(self, login: Login) -> str:
        text = json.dumps(asdict(login), separators=(",", ":"))
        if (keyring := self._keyring()) is not None:
            with self._keyring_errors():
                keyring.set_password(SERVICE, self._name, text)
                with self._file_errors():
                    self._file.unlink(missing_ok=True)
                return "the keyring"
        with self._file_errors():
            self._make_folder()
            new = self._file.with_name(f".{self._file.name}.{os.getpid()}")
            new.unlink(missing_ok=True)
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._file)
        return str(self._file)

    def _forget(self) -> bool:
        had = self._load() is not None
        if (keyring := self._keyring()) is not None:
            with self._keyring_errors():
                if keyring.get_password(SERVICE, self._name) is not None:
                    keyring.delete_password(SERVICE, self._name)
        with self._file_errors():
            self._file.unlink(missing_ok=True)
        return had

    def _make_folder(self) -> None:
        with self._file_errors():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)

    def _keyring(self) -> KeyringBackend | None:
        """The keyring, unless there is none that may hold secrets, or none is wanted."""
        if self._kind == "file":
            return None
        import keyring
        from keyring.core import recommended

        with self._keyring_errors():
            found = keyring.get_keyring()
            if recommended(found):
                return found
        if self._kind == "keyring":
            raise ConfigError("this machine has no keyring", hint='Set store = "file" in auth, or install one.')
        return None

    @contextlib.contextmanager
    def _keyring_errors(self) -> Iterator[None]:
        """A keyring that is locked or cannot be reached is none, unless it is the only place allowed."""
        try:
            yield
        except ConfigError:
            raise
        except Exception as error:  # each backend has errors of its own
            if self._kind == "keyring":
                raise ConfigError(f"the keyring cannot be used: {type(error).__name__}: {error}") from None

    @contextlib.contextmanager
    def _file_errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ConfigError(f"cannot be used: {error.strerror}", place=str(self._file)) from None


def _parsed(text: str) -> Login | None:
    """A login of a keyring or a file, where it is one."""
    try:
        login = replace(Login({}), **json.loads(text))
        return login if login.token and login.ends else None
    except (ValueError, TypeError, KeyError):
        return None
