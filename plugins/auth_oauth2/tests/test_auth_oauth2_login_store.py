"""Where a login is kept: a keyring, or a file; the newest wins, and nothing that is broken is believed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from doorward import ConfigError
from doorward_auth_kit import UnreadableEntry, Vault
from doorward_auth_oauth2.login_store import Login, LoginStore
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.errors import KeyringLocked, PasswordDeleteError

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Memory(KeyringBackend):
    """A keyring as the library has it, in memory. `locked` is one that nobody has opened."""

    priority = 5  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.locked = False

    def _open(self) -> dict[tuple[str, str], str]:
        if self.locked:
            raise KeyringLocked("nobody has opened it")
        return self.entries

    def get_password(self, service: str, username: str) -> str | None:
        return self._open().get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._open()[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self._open().pop((service, username), None) is None:
            raise PasswordDeleteError


@pytest.fixture
def ring() -> Iterator[Memory]:
    before, ring = keyring.get_keyring(), Memory()
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


def login(token: str, got: float = 1.0) -> Login:
    return Login({"access_token": token, "refresh_token": "r"}, {"issuer": "i"}, got=got)


async def test_a_keyring(ring: Memory, tmp_path: Path) -> None:
    """Where there is one, no login is in a file."""
    store = LoginStore(Vault(tmp_path / "oauth2"), "mine", "auto")
    assert await store.load() is None
    assert await store.save(login("one")) == "the keyring"
    assert (await store.load()) == login("one")
    assert list(ring.entries) == [("doorward", "mine")]
    assert [file.read_text() for file in tmp_path.rglob("*.json")] == ["in the keyring"]
    assert await LoginStore(Vault(tmp_path / "oauth2"), "other", "auto").load() is None
    assert await store.forget()
    assert not await store.forget()
    assert ring.entries == {}


async def test_a_locked_keyring(ring: Memory, tmp_path: Path) -> None:
    """Is not taken for an empty one; what was written meanwhile is newer than what it holds, and moves there when it
    opens."""
    store = LoginStore(Vault(tmp_path / "oauth2"), "mine", "auto")
    await store.save(login("one", got=1))
    ring.locked = True
    with pytest.raises(UnreadableEntry, match="stored as mine cannot be read: it is in a keyring, which is locked"):
        await store.load()
    assert await store.save(login("two", got=2)) == str(tmp_path / "oauth2/mine.json")
    ring.locked = False
    assert (await store.load()) == login("two", got=2)
    await store.save(login("three", got=3))
    assert [file.read_text() for file in tmp_path.rglob("*.json")] == ["in the keyring"]
    assert (await store.load()) == login("three", got=3)
    ring.locked = True
    only = LoginStore(Vault(tmp_path / "oauth2"), "mine", "keyring")
    for work in (only.load(), only.save(login("four")), only.forget()):
        with pytest.raises(ConfigError, match="the keyring cannot be used: KeyringLocked"):
            await work


@pytest.mark.parametrize("none", [fail.Keyring, null.Keyring])
async def test_no_keyring(ring: Memory, tmp_path: Path, none: Any) -> None:
    """A file takes its place, unless the configuration wants none."""
    keyring.set_keyring(none())
    assert (await LoginStore(Vault(tmp_path), "mine", "auto").save(login("one"))).endswith("mine.json")
    assert await LoginStore(Vault(tmp_path), "mine", "auto").load() == login("one")
    with pytest.raises(ConfigError, match="has no keyring"):
        await LoginStore(Vault(tmp_path), "mine", "keyring").save(login("one"))
    assert await LoginStore(Vault(tmp_path), "mine", "file").load() == login("one")


async def test_file_only(ring: Memory, tmp_path: Path) -> None:
    await LoginStore(Vault(tmp_path), "mine", "file").save(login("one"))
    assert ring.entries == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"tokens": {}}',
        '{"tokens": [], "x": 1}',
        '{"tokens": {"expires_in": 5}}',
        '{"tokens": {"access_token": "a"}, "got": "b"}',
    ],
)
async def test_what_cannot_be_read_is_not_taken_for_nothing(tmp_path: Path, text: str) -> None:
    """A damaged login is said, and can be replaced or forgotten."""
    store = LoginStore(Vault(tmp_path), "mine", "file")
    (tmp_path / "mine.json").write_text(text)
    with pytest.raises(UnreadableEntry, match=r"mine\.json: cannot be read"):
        await store.load()
    await store.save(login("one"))
    assert await store.load() == login("one")
    (tmp_path / "mine.json").write_text(text)
    assert await store.forget()
    assert await store.load() is None


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
async def test_a_folder_of_others(tmp_path: Path) -> None:
    """A folder and a file that others could read are closed to them."""
    folder = tmp_path / "oauth2"
    folder.mkdir(mode=0o755)
    (folder / "mine.json").write_text("{}")
    (folder / "mine.json").chmod(0o644)
    await LoginStore(Vault(folder), "mine", "file").save(login("one"))
    assert (folder.stat().st_mode & 0o777, (folder / "mine.json").stat().st_mode & 0o777) == (0o700, 0o600)
    assert json.loads((folder / "mine.json").read_text())["tokens"]["access_token"] == "one"
    assert [file.name for file in folder.iterdir()] == ["mine.json"]


async def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = LoginStore(Vault(tmp_path / "file"), "mine", "file")
    with pytest.raises(ConfigError, match="cannot be used"):
        await store.save(login("one"))


def test_what_a_login_shows() -> None:
    """Its tokens are not in its `repr`, which ends up in tracebacks."""
    assert "one" not in repr(login("one"))


def test_nothing_is_imported_early() -> None:
    """Neither the SDK, nor an HTTP client, nor a keyring, before tokens are needed."""
    code = "import sys, doorward_auth_oauth2; print([m for m in ('mcp', 'httpx2', 'keyring', 'filelock') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
