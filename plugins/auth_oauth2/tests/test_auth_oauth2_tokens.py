"""Tokens while calls are made: renewed in time, by one request, also among processes; and what is told when they cannot
be."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

import anyio
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from doorward import ConfigError, ServerError
from doorward_auth_kit import EXCHANGE_SECONDS, due, renewal, vault
from doorward_auth_oauth2 import login_store

from .conftest import Doorward, LoginPrompt
from .provider import Provider

pytestmark = pytest.mark.anyio


async def refreshes(provider: Provider) -> int:
    return sum(form["grant_type"] == "refresh_token" for form in provider.asked("/token"))


@pytest.mark.slow
async def test_a_hundred_calls_and_one_token(home: Doorward, provider: Provider, later: Any) -> None:
    """A token that ends while a hundred calls start is renewed by one request, and no call fails. CONTRACT: AUT-10."""
    provider.expires_in = 100
    auth = home.auth()
    await auth.login(LoginPrompt())
    provider.expires_in, provider.delay = 3600, 0.2
    async with home.http(auth) as client:
        assert (await client.get("/me")).status_code == 200
        later(101)
        answers = await asyncio.gather(*(client.get("/me") for _ in range(100)))
        assert [answer.status_code for answer in answers] == [200] * 100
        assert await refreshes(provider) == 1
        assert "Bearer " + provider.tokens[0].access_token not in provider.calls[2:]
        provider.revoke(refresh=False)  # before its time: a 401, again one request
        answers = await asyncio.gather(*(client.get("/me") for _ in range(30)))
        assert [answer.status_code for answer in answers] == [200] * 30
        assert await refreshes(provider) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("life", "renewed"), [(3600, 0), (290, 0), (310, 0), (40, 1)])
async def test_margin(home: Doorward, provider: Provider, later: Any, life: int, renewed: int) -> None:
    """Renewal comes 30 seconds before the end, or at half of a shorter life. CONTRACT: AUT-10."""
    now = time.time()
    login = login_store.Login({"access_token": "x", "expires_in": life}, got=now)
    assert login.ends - due(login) == min(30.0, life / 2)
    assert due(login_store.Login({"access_token": "x"})) == float("inf")
    provider.expires_in = life
    auth = home.auth()
    await auth.login(LoginPrompt())
    provider.expires_in = 3600
    later(25)
    async with home.http(auth) as client:
        for _ in range(3):
            assert (await client.get("/me")).status_code == 200
        while await refreshes(provider) < renewed:  # nobody waits for it
            await anyio.sleep(0.01)
    assert await refreshes(provider) == renewed


@pytest.mark.slow
async def test_revoked(home: Doorward, provider: Provider) -> None:
    """A login that the provider has ended is told, with what the provider says, without its token; and it is not asked
    again and again."""
    auth = home.auth()
    await auth.login(LoginPrompt())
    provider.revoke(refresh=True)
    async with home.http(auth) as client:
        for _ in range(3):
            with pytest.raises(
                ServerError, match=r'the login to mine has ended: .*/token refused: "invalid_grant'
            ) as caught:
                await client.get("/me")
            home.secrets.scrub_error(caught.value)
            assert provider.tokens[0].refresh_token not in str(caught.value)
            assert "[secret] was used before" in str(caught.value)
            assert caught.value.hint == "Log in: doorward login mine"
        assert await refreshes(provider) == 1
        await home.auth().login(LoginPrompt())  # in another process, while this one serves
        assert (await client.get("/me")).status_code == 200


async def test_no_refresh_token(home: Doorward, provider: Provider, later: Any) -> None:
    """Without one, a token is used to its end, and then a login is needed."""
    provider.expires_in = 100
    await home.auth().login(LoginPrompt())
    [file] = home.files()
    entry = json.loads(file.read_text())
    del entry["tokens"]["refresh_token"]
    file.write_text(json.dumps(entry))
    async with home.http(home.auth()) as client:
        later(75)
        assert (await client.get("/me")).status_code == 200
        later(26)
        with pytest.raises(ServerError, match=r"the login to mine has ended"):
            await client.get("/me")


@pytest.mark.slow
async def test_a_full_disk(home: Doorward, provider: Provider, small_disk: Any) -> None:
    """A token that cannot be kept is used; its successor is got with it, and kept as soon as there is room."""
    home.folder = small_disk.folder / "state"
    provider.expires_in = 1
    auth = home.auth()
    await auth.login(LoginPrompt())
    async with home.http(auth) as client:
        before = [file.read_text() for file in home.files()]
        with small_disk.full():
            for _ in range(3):
                await anyio.sleep(1.1)
                assert (await client.get("/me")).status_code == 200
            assert await refreshes(provider) == 3
            assert [file.read_text() for file in home.files()] == before
        await anyio.sleep(1.1)
        assert (await client.get("/me")).status_code == 200
    async with home.http(home.auth()) as client:
        provider.expires_in = 3600
        assert (await client.get("/me")).status_code == 200


async def test_the_provider_is_down(home: Doorward, provider: Provider, later: Any) -> None:
    """Calls go on while the token lives, then fail clearly, and work again as soon as the provider does. CONTRACT:
    AUT-10."""
    provider.expires_in = 100
    auth = home.auth()
    await auth.login(LoginPrompt())
    provider.stop("provider")
    async with home.http(auth) as client:
        later(75)
        assert (await client.get("/me")).status_code == 200
        later(26)
        with pytest.raises(ServerError, match=r"the token of mine cannot be renewed: .*/token cannot be reached"):
            await client.get("/me")
        provider.expires_in = 3600
        provider.start()
        later(renewal.MAX_RETRY_SECONDS)
        assert (await client.get("/me")).status_code == 200


@pytest.mark.slow
async def test_the_first_to_ask_leaves(home: Doorward, provider: Provider) -> None:
    """A call that is cancelled while it renews loses nothing: the new refresh token is kept."""
    auth = home.auth()
    await auth.login(LoginPrompt())
    provider.revoke(refresh=False)
    provider.delay = 0.3
    async with home.http(auth) as client:
        with anyio.move_on_after(0.15):
            await client.get("/me")
        assert (await client.get("/me")).status_code == 200
    assert await refreshes(provider) == 1
    async with home.http(home.auth()) as client:
        assert (await client.get("/me")).status_code == 200
    assert await refreshes(provider) == 1


OTHER = """
import asyncio, sys
from pathlib import Path
import httpx2
from doorward import PluginContext
from doorward.config.config import validate
from doorward.secrets.store import Secrets
from doorward_auth_oauth2 import OAuth2

async def main():
    settings = validate(OAuth2.Settings, {"store": "file"}, secrets=Secrets(environ={}), place="x")
    auth = OAuth2(PluginContext("mine", settings, Path(sys.argv[1]), sys.argv[2], "openapi")).create_auth()
    async with httpx2.AsyncClient(auth=auth, timeout=100) as client:
        print("ready", flush=True)
        sys.stdin.readline()
        print(*[answer.status_code for answer in await asyncio.gather(*(client.get(sys.argv[2]) for _ in range(10)))])

asyncio.run(main())
"""


@pytest.mark.slow
async def test_many_processes(home: Doorward, provider: Provider) -> None:
    """Processes that find the token ended at once ask for one: the refresh token, which can be used once, is used
    once."""
    await home.auth().login(LoginPrompt())
    provider.revoke(refresh=False)
    provider.delay = 0.2
    command = [sys.executable, "-c", OTHER, str(home.folder), provider.url]
    others = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for other in others:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
    for other in others:
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
    assert [other.communicate(timeout=100)[0].split() for other in others] == [["200"] * 10] * 3
    assert await refreshes(provider) == 1


@pytest.mark.slow
async def test_a_stuck_process(home: Doorward, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never ends its renewal does not hold up the others for ever."""
    monkeypatch.setattr(vault, "LOCK_SECONDS", 0.2)
    auth = home.auth()
    await auth.login(LoginPrompt())
    async with auth._store().lock(), home.http(home.auth()) as client:
        with pytest.raises(ServerError, match="another process"):
            await client.get("/me")


async def test_other_origins(home: Doorward, provider: Provider) -> None:
    """The token goes to the server's own origin and nowhere else. CONTRACT: AUT-12."""
    auth = home.auth()
    await auth.login(LoginPrompt())
    async with home.http(auth) as client:
        for url in (
            provider.issuer,
            provider.url.replace("127.0.0.1", "localhost"),
            provider.url.replace("http:", "https:"),
        ):
            with pytest.raises(ServerError, match="were not sent to"):
                await client.get(url)
    for url, why in (
        ("http://api.example.com/v1", "over https"),
        ("", "not known"),
        ("ftp://api.example.com", "over https"),
    ):
        with pytest.raises(ConfigError, match=why):
            home.auth(url=url).create_auth()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("told", ["token_url", "issuer"])
async def test_client_credentials(home: Doorward, provider: Provider, method: str, told: str) -> None:
    """A client that needs nobody: one token for thirty calls, another when it ends. CONTRACT: AUT-05, AUT-10."""
    client = provider.client(method)
    where = {"token_url": f"{provider.issuer}/token"} if told == "token_url" else {"issuer": provider.issuer}
    secret = {"client_secret": client.client_secret, "client_auth": method.rpartition("_")[2]}
    auth = home.auth(flow="client_credentials", client_id=client.client_id, scope="read", **where, **secret)
    async with home.http(auth) as http:
        answers = await asyncio.gather(*(http.get("/me") for _ in range(30)))
        assert [answer.status_code for answer in answers] == [200] * 30
        assert len(provider.asked("/token")) == 1
        provider.revoke(refresh=True)
        answers = await asyncio.gather(*(http.get("/me") for _ in range(30)))
        assert [answer.status_code for answer in answers] == [200] * 30
        assert len(provider.asked("/token")) == 2
        assert provider.asked("/token")[0].get("resource") == (None if told == "token_url" else provider.url)
        with pytest.raises(ServerError, match="wants the scope 'write'"):
            await http.get("/admin")
    assert [file for file in home.folder.rglob("*") if file.is_file()] == []
    for secret_value in provider.secrets().values():
        assert home.secrets.scrub(secret_value) == "[secret]"


async def test_a_wrong_secret(home: Doorward, provider: Provider) -> None:
    """It is tried once, not with each call: accounts get locked. CONTRACT: AUT-05."""
    client = provider.client()
    auth = home.auth(
        flow="client_credentials",
        client_id=client.client_id,
        client_secret="wrong-wrong",
        token_url=f"{provider.issuer}/token",
    )
    async with home.http(auth) as http:
        for _ in range(5):
            with pytest.raises(ServerError, match=r'no token for mine: .*/token refused: "invalid_client') as caught:
                await http.get("/me")
            assert "wrong-wrong" not in str(caught.value)
    assert len(provider.asked("/token")) == 1


async def test_a_secret_goes_only_where_it_is_configured_to(home: Doorward, provider: Provider) -> None:
    """An API that names a provider does not get the client's secret sent there, until the configuration names that
    provider too."""
    client = provider.client()
    settings: dict[str, Any] = {"client_id": client.client_id, "client_secret": client.client_secret}
    async with home.http(home.auth(flow="client_credentials", **settings)) as http:
        with pytest.raises(ConfigError, match=r"nothing says that the secret of .* is for that") as caught:
            await http.get("/me")
    assert caught.value.hint == f'If it is, set issuer = "{provider.issuer}" in auth.'
    with pytest.raises(ConfigError, match="nothing says"):
        await home.auth(**settings).login(LoginPrompt())
    with pytest.raises(ServerError, match="not the issuer that is configured"):
        await home.auth(issuer="https://login.example.com", **settings).login(LoginPrompt())
    assert [path for _, path, _ in provider.requests if path != "/.well-known/oauth-authorization-server"] == []


async def test_a_signed_assertion(home: Doorward, provider: Provider) -> None:
    """private_key_jwt: what the provider gets is signed for it, and just now: Keycloak takes no assertion that lives for
    more than a minute, or was issued a minute ago. A key that cannot sign is told without the key. CONTRACT: AUT-05."""
    import jwt

    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    settings: dict[str, Any] = {
        "flow": "client_credentials",
        "client_id": "me",
        "issuer": provider.issuer,
        "signing_algorithm": "ES256",
    }
    async with home.http(home.auth(private_key=pem, **settings)) as http:
        with pytest.raises(ServerError, match='refused: "invalid_client'):  # this provider knows no such clients
            await http.get("/me")
    [form] = provider.asked("/token")
    claims = jwt.decode(form["client_assertion"], key.public_key(), algorithms=["ES256"], audience=provider.issuer)
    assert claims["iss"] == claims["sub"] == "me"
    assert claims["exp"] <= time.time() + 60
    assert claims["exp"] - claims["iat"] == 70
    assert home.secrets.scrub(form["client_assertion"]) == "[secret]"
    async with home.http(home.auth(private_key="no key at all", **settings)) as http:
        with pytest.raises(ConfigError, match="private_key cannot sign with ES256") as caught:
            await http.get("/me")
    assert "no key at all" not in str(caught.value)


async def test_401_without_end(home: Doorward, provider: Provider) -> None:
    """A server that refuses every token is asked twice."""
    auth = home.auth()
    await auth.login(LoginPrompt())
    provider.find = lambda token: None  # type: ignore[method-assign]
    async with home.http(auth) as client:
        with pytest.raises(ServerError):
            await client.get("/me")


def test_where_it_waits() -> None:
    """The times are what the README says."""
    assert (renewal.MARGIN_SECONDS, EXCHANGE_SECONDS, renewal.RETRY_SECONDS, renewal.REFUSED_RETRY_SECONDS) == (
        30,
        15,
        1,
        30,
    )
