"""Both schemes against the conformance class of secret schemes, as any third party's scheme."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import Any

import keyring
import keyring.backend
import keyring.errors
import pytest
from doorward_secrets import Command, Keyring
from doorward_testing import SecretSchemeConformance

CANARY = "c4n4ry-of-the-vault"


@pytest.mark.slow
class TestCommandConformance(SecretSchemeConformance):
    plugin, scheme = Command, "cmd"

    def known(self, host: Any) -> tuple[str, str]:
        (host.folder / "tell.py").write_text(f"print({CANARY!r})")
        return f"{shlex.quote(sys.executable)} {shlex.quote(str(host.folder / 'tell.py'))}", CANARY

    def missing(self, host: Any) -> str:
        return f"{shlex.quote(sys.executable)} -c pass"


class Backend(keyring.backend.KeyringBackend):
    """A keyring with one password."""

    priority = 1  # type: ignore[assignment]

    def get_password(self, service: str, username: str) -> str | None:
        return CANARY if (service, username) == ("vault", "me") else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise keyring.errors.PasswordSetError

    def delete_password(self, service: str, username: str) -> None:
        raise keyring.errors.PasswordDeleteError


@pytest.mark.slow
class TestKeyringConformance(SecretSchemeConformance):
    plugin, scheme = Keyring, "keyring"

    @pytest.fixture(autouse=True)
    def _backend(self) -> Iterator[None]:
        before = keyring.get_keyring()
        keyring.set_keyring(Backend())
        yield
        keyring.set_keyring(before)

    def known(self, host: Any) -> tuple[str, str]:
        return "vault/me", CANARY

    def missing(self, host: Any) -> str:
        return "vault/you"
