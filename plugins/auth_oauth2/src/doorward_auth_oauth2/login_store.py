"""A login as it is stored, in the keyring of the operating system or in the vault."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import anyio
from doorward import ConfigError, StateError, log
from doorward_auth_kit import SharedVault, UnreadableEntry, Vault

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "doorward"
"""The service name of entries in a keyring."""
_IN_KEYRING = "in the keyring"
"""The entry of the vault while the login is in a keyring, so that a locked one is not taken for an empty one."""
_MAX_LIFE_SECONDS = 10.0**9
"""The longest life that matters; some providers send more than a float can hold."""
_MIN_LIFE_SECONDS = 0.001
"""A shorter life counts as none: added to the time of day it would make no difference."""


def life(told: Any) -> float | None:
    """The seconds of an `expires_in` (RFC 6749 section 5.1), given as a number or as text. `None` if the value makes no
    sense: a token that would have expired before it came is used until it is refused."""
    if not isinstance(told, (int, float, str)) or isinstance(told, bool):
        return None
    try:
        seconds = min(float(told), _MAX_LIFE_SECONDS)
    except OverflowError:
        return _MAX_LIFE_SECONDS if not str(told).startswith("-") else None
    except ValueError:
        return None
    return seconds if seconds >= _MIN_LIFE_SECONDS else None


@dataclass(frozen=True, slots=True)
class Login:
    """One login, or the tokens of a client. The dictionaries are as they were received, with
    the members of the RFCs."""

    tokens: dict[str, Any] = field(repr=False)
    provider: dict[str, Any] = field(default_factory=dict)
    """Part of the authorization server's metadata (RFC 8414): issuer, endpoints."""
    resource: dict[str, Any] = field(default_factory=dict)
    """Part of the resource's metadata (RFC 9728), if there is any: resource, authorization_servers."""
    client: dict[str, Any] = field(default_factory=dict, repr=False)
    """The client that was registered at the login (RFC 7591); empty if a client is configured."""
    got: float = field(default_factory=time.time)
    by: str = ""
    """A digest of the configured values that it was fetched with; if they change, this login is no longer valid."""
    wanted: str = ""
    """Scopes for lack of which a call was refused; the next login requests them."""

    @property
    def token(self) -> str:
        return str(self.tokens["access_token"])

    @property
    def scope(self) -> str:
        return str(self.tokens.get("scope") or "")

    @property
    def ends(self) -> float:
        """When the token expires, in seconds since the epoch; infinity if that is unknown."""
        lives = life(self.tokens.get("expires_in"))
        return float("inf") if lives is None else self.got + lives

    def redact(self, redact: Callable[[str], None]) -> None:
        """Tell the scrubber which of its values must not be shown."""
        for value in (self.token, self.tokens.get("refresh_token"), self.client.get("client_secret")):
            if value:
                redact(str(value))


class LoginStore:
    """The store of one login. Everything that waits for a disk or a keyring runs in a thread."""

    def __init__(self, vault: Vault, name: str, kind: Literal["auto", "keyring", "file"]) -> None:
        self._vault, self._name, self._kind = vault, name, kind
        self._seen = vault.marked(name)
        self._unkept: Login | None = None

    async def load(self) -> Login | None:
        """The stored login, if there is one, or a newer one that could not be stored. Raises: UnreadableEntry,
        ConfigError."""
        found = [login for login in (await anyio.to_thread.run_sync(self._load), self._unkept) if login]
        return max(found, key=lambda login: login.got, default=None)

    async def save(self, login: Login) -> str:
        """Store a login in place of the previous one. Returns: where. Raises: ConfigError."""
        where = await anyio.to_thread.run_sync(self._save, login)
        self._unkept = None
        return where

    async def keep(self, login: Login) -> None:
        """Store fetched tokens; in memory alone if that fails: a call that waits for a token
        should not depend on a disk."""
        try:
            await self.save(login)
        except (ConfigError, StateError) as error:
            self._unkept = login
            log.warning("token_not_kept", why=str(error), hint="It is used all the same, until this process ends.")

    async def forget(self) -> bool:
        """Delete the login. Returns: whether there was one. Raises: ConfigError."""
        return await anyio.to_thread.run_sync(self._forget)

    async def spend(self, token: str) -> None:
        """Remember that a configured refresh token, given by its digest, has been replaced by a successor."""
        with contextlib.suppress(ConfigError):
            await anyio.to_thread.run_sync(self._vault.mark, f"spent-{token}")

    async def spent(self, token: str) -> bool:
        """Whether a configured refresh token, given by its digest, has been replaced: sent again, most providers take
        it for stolen, and revoke its successors."""
        return bool(self._vault.marked(f"spent-{token}"))

    async def mark(self) -> None:
        """Tell other processes that a person has logged in or out. Raises: ConfigError."""
        self._vault.mark(self._name)

    async def changed(self) -> bool:
        """Whether a person has logged in or out since the last time."""
        before, self._seen = self._seen, self._vault.marked(self._name)
        if before != self._seen:
            self._unkept = None
        return before != self._seen

    def lock(self) -> AbstractAsyncContextManager[None]:
        """A lock on the stored login, across processes. Raises: ConfigError, ServerError."""
        return self._vault.lock(self._name)

    def _load(self) -> Login | None:
        """The newer login of the two places: one may have been unavailable when the other was written."""
        held = None
        if (keyring := self._keyring()) is not None:
            with self._keyring_errors():
                held = keyring.get_password(SERVICE, self._name)
        filed = self._vault.load(self._name) if self._kind != "keyring" else None
        if filed == _IN_KEYRING:
            filed = None
            if held is None:
                raise UnreadableEntry(
                    f"the login that is stored as {self._name} cannot be read: it is in a keyring, which is locked, "
                    "or not there, or has lost it",
                    hint="Unlock the keyring, or log in again.",
                )
        logins = [self._parsed(text) for text in (held, filed) if text is not None]
        return max(logins, key=lambda login: login.got, default=None)

    def _parsed(self, text: str) -> Login:
        """The login in a text from a keyring or a file. Raises: UnreadableEntry if it is not one."""
        try:
            login = replace(Login({}), **json.loads(text))
            if login.token and login.ends and float(login.got) == login.got:
                return login
        except (ValueError, TypeError, KeyError):
            pass
        raise self._vault.unreadable(self._name)

    def _save(self, login: Login) -> str:
        text = _text(login)
        if (keyring := self._keyring()) is not None:
            with self._keyring_errors():
                keyring.set_password(SERVICE, self._name, text)
                self._vault.save(self._name, _IN_KEYRING)
                return "the keyring"
        return str(self._vault.save(self._name, text))

    def _forget(self) -> bool:
        try:
            had = self._load() is not None
        except UnreadableEntry:
            had = True
        if (keyring := self._keyring()) is not None:
            with self._keyring_errors():
                if keyring.get_password(SERVICE, self._name) is not None:
                    keyring.delete_password(SERVICE, self._name)
        self._vault.forget(self._name)
        return had

    def _keyring(self) -> KeyringBackend | None:
        """The keyring, if there is one that may hold secrets and the settings allow it."""
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
        """Treat a keyring that is locked or unavailable as missing, unless it is the only place allowed."""
        try:
            yield
        except ConfigError:
            raise
        except Exception as error:  # each backend has errors of its own
            if self._kind == "keyring":
                raise ConfigError(f"the keyring cannot be used: {type(error).__name__}: {error}") from None


class SharedLoginStore(LoginStore):
    """The store of one login of all machines: what is fetched by one is used by all. A login that one of them had for
    itself is taken over, unless there is, or was, one of all."""

    def __init__(self, shared: SharedVault, own: LoginStore) -> None:
        super().__init__(own._vault, own._name, own._kind)
        self._shared = shared

    async def load(self) -> Login | None:
        text = await self._shared.load()
        if text is None and (own := await super().load()) is not None:
            if await self._shared.adopt(_text(own)):
                with contextlib.suppress(ConfigError):
                    await super().forget()
            text = await self._shared.load()
        found = [login for login in (self._parsed(text) if text else None, self._unkept) if login]
        return max(found, key=lambda login: login.got, default=None)

    async def save(self, login: Login) -> str:
        await self._shared.save(_text(login))
        self._unkept = None
        return "the store"

    async def forget(self) -> bool:
        with contextlib.suppress(ConfigError):
            await super().forget()
        try:
            had = bool(await self._shared.load())
        except UnreadableEntry:
            had = True
        await self._shared.forget()
        self._unkept = None
        return had

    async def spend(self, token: str) -> None:
        with contextlib.suppress(StateError):
            await self._shared.note(f"spent-{token}")

    async def spent(self, token: str) -> bool:
        return await super().spent(token) or await self._shared.noted(f"spent-{token}")

    async def mark(self) -> None:
        await self._shared.mark()

    async def changed(self) -> bool:
        if changed := await self._shared.marked():
            self._unkept = None
        return changed

    def lock(self) -> AbstractAsyncContextManager[None]:
        return self._shared.lock()


def _text(login: Login) -> str:
    return json.dumps(asdict(login), separators=(",", ":"))
