"""Gateways on several machines, with folders of their own and one store: one login, one token, one renewal for all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from doorward import ServerError
from doorward.engines import MemoryStore
from doorward_auth_kit import UnreadableEntry, shared_vault

from .conftest import Doorward, LoginPrompt
from .provider import Provider
from .test_auth_oauth2_flows import prepared

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = "a key of at least thirty-two characters"


class Database(MemoryStore):
    """What all machines share."""

    distributed = True


@pytest.fixture
def machines(tmp_path: Path, provider: Provider) -> list[Doorward]:
    store, each = Database(), [Doorward(tmp_path / name, provider.url) for name in ("one", "other")]
    for home in each:
        home.folder.mkdir()
        home.store = store
    return each


def grants(provider: Provider, kind: str) -> int:
    return sum(form["grant_type"] == kind for form in provider.asked("/token"))


async def test_a_login_is_of_all_machines(machines: list[Doorward], provider: Provider, later: Any) -> None:
    """Who logs in at one is logged in at the other; whichever renews does it for both, by one request; nothing readable
    is stored, and who logs out does so everywhere."""
    one, other = machines
    provider.expires_in = 100
    assert await one.auth(key=KEY).login(LoginPrompt()) == "logged in; the tokens are kept in the store"
    async with one.http(one.auth(key=KEY)) as a, other.http(other.auth(key=KEY)) as b:
        assert {(await each.get("/me")).status_code for each in (a, b)} == {200}
        provider.expires_in, provider.delay = 3600, 0.2
        later(101)
        answers = await asyncio.gather(*(each.get("/me") for each in (a, b) for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        assert grants(provider, "refresh_token") == 1
        records = await one.store.scan(shared_vault.TABLE)  # type: ignore[union-attr]
        assert records
        for token in provider.tokens:
            assert not any(token.access_token.encode() in record.value for record in records)
        with pytest.raises(UnreadableEntry, match="encrypted with another `vault_key`"):
            await other.auth(key="another key").check()
        assert not one.files()
        assert not other.files()
        assert "revoked by the provider" in await other.auth(key=KEY).logout()
    async with one.http(one.auth(key=KEY)) as a:
        with pytest.raises(ServerError, match="nobody is logged in"):
            await a.get("/me")


async def test_tokens_of_a_client_are_of_all_machines(machines: list[Doorward], provider: Provider, later: Any) -> None:
    """Those that nobody has to log in for: one request an expiry, and not one for each machine."""
    settings = prepared(provider, "client_secret_basic")[1]
    settings |= {"flow": "client_credentials", "token_url": f"{provider.issuer}/token", "scope": "read"}
    provider.expires_in = 100
    clients = [home.http(home.auth(key=KEY, **settings)) for home in machines]
    try:
        for time in range(2):
            await asyncio.gather(*(client.get("/me") for client in clients for _ in range(5)))
            assert grants(provider, "client_credentials") == time + 1
            provider.expires_in = 3600
            later(101)
    finally:
        for client in clients:
            await client.aclose()


async def test_the_login_of_one_machine_becomes_that_of_all(machines: list[Doorward], provider: Provider) -> None:
    """What a version before, or a gateway without a database, kept in a file is used by all, and is in the file no
    more; but no file brings back a login that somebody has ended. Without a key, it stays in the file."""
    one, other = machines
    store = one.store
    for home in machines:
        home.store = None
        await home.auth(key=KEY).login(LoginPrompt())
        assert len(home.files()) == 1
        home.store = store
    assert await one.auth(key=KEY).check() == "logged in"
    assert not one.files()
    assert await other.auth(key=KEY).check() == "logged in"
    await one.auth(key=KEY).logout()
    with pytest.raises(ServerError, match="nobody is logged in"):
        await other.auth(key=KEY).check()
    assert "/credentials/" in await other.auth().login(LoginPrompt())
