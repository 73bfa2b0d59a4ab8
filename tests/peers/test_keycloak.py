"""Doorward with Keycloak as the identity provider: the served product, an API that verifies the tokens, and a person with a browser.

All tests of Keycloak are in this file: it is started once for it.
"""

from __future__ import annotations

import urllib.request
from pathlib import Path

import anyio
import pytest
from served.product import Project

from .browse import browser
from .guarded import Guarded
from .keycloak import KEY, PASSWORDS, SECRET, Keycloak

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]  # the first one waits for Keycloak

LIFESPAN = 4
"""Seconds that tokens live: enough for the calls of a test, few enough to wait for their end."""
OWN = {"service": 'client_secret = "${SECRET}"', "signed": 'private_key = "${KEY}", signing_algorithm = "ES256"'}
"""How the clients that need nobody say who they are."""


def many(*servers: str) -> str:
    """A program that calls each server ten times at once; its value: by server, the clients that got the tokens."""
    calls = [f"told['{name}'] = sorted({{c['azp'] for c in await asyncio.gather(*({name}.me() for n in range(10)))}})" for name in servers]
    return "\n".join(["import asyncio", f"import {', '.join(servers)}", "told = {}", *calls, "told"])


def auth(keycloak: Keycloak, client: str, more: str) -> str:
    return f'type = "oauth2", issuer = "{keycloak.issuer}", client_id = "{client}", {more}'


async def test_client_credentials(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """One token for many calls, another one when it ends, with a secret and with a signature; a client that is turned off says so."""
    auths = {name: auth(keycloak, name, f'flow = "client_credentials", scope = "read", {own}') for name, own in OWN.items()}
    settings = "".join(keycloak_api.server(own, name) for name, own in auths.items())
    place = Project(tmp_path, settings, {"SECRET": SECRET, "KEY": KEY})
    keycloak.lifespan(LIFESPAN)
    async with place.stdio() as agent:
        for times in (1, 2):
            assert await agent.value(many(*OWN)) == {name: [name] for name in OWN}
            assert len(keycloak.events("CLIENT_LOGIN")) == keycloak_api.tokens() == 2 * times
            await anyio.sleep(LIFESPAN + 0.2)
        assert all("read" in claims["scope"].split() for claims in keycloak_api.accepted)
        assert keycloak_api.refused == []
        keycloak.change("service", enabled=False)
        answer = await agent.run(many("service"))
        assert "refused: invalid_client" in answer["error"]["message"]
        assert SECRET not in str(answer)


async def test_a_person_logs_in(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """`doorward login` with a browser at Keycloak's own page. Tokens are renewed; not while Keycloak is down, and again when it is up,
    until it ends the session."""
    settings = keycloak_api.server(auth(keycloak, "browser", 'scope = "openid read"'))
    place = Project(tmp_path, settings, browser("alice", PASSWORDS["alice"]))
    keycloak.lifespan(LIFESPAN)
    ran = await anyio.to_thread.run_sync(place.run, "login", "mine")
    assert ran.returncode == 0, ran
    assert len(keycloak.events("LOGIN")) == len(keycloak.events("CODE_TO_TOKEN")) == 1
    async with place.stdio() as agent:
        assert await agent.value("import mine\nmine.me()['preferred_username']") == "alice"
        before = len(keycloak.events("REFRESH_TOKEN"))
        with keycloak.down():
            await anyio.sleep(LIFESPAN)
            answer = await agent.run(many("mine"))
            assert "the token of mine cannot be renewed" in answer["error"]["message"]
        assert await agent.value(many("mine")) == {"mine": ["browser"]}
        assert len(keycloak.events("REFRESH_TOKEN")) == before + 1
        keycloak.log_out("alice")
        await anyio.sleep(LIFESPAN + 0.2)
        answer = await agent.run(many("mine"))
        assert "the login to mine has ended" in answer["error"]["message"]
        assert "doorward login mine" in answer["error"]["hint"]


def of_realm(folder: Path, keycloak: Keycloak, api: Guarded, name: str, **more: str) -> str:
    """The API's entry in a configuration, with a client in the words of the type `keycloak`. Its document is a file,
    for which no token is needed."""
    file = folder / "openapi.json"
    with urllib.request.urlopen(api.spec) as answer:
        file.write_bytes(answer.read())
    given = {"type": "keycloak", "base_url": keycloak.url, "realm": "doorward", "client_id": name, "client_secret": "${SECRET}", **more}
    auth = ", ".join(f'{key} = "{value}"' for key, value in given.items())
    return api.server(auth).replace(api.spec, str(file))


async def test_a_service_account_of_a_realm(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """Base URL and realm are enough: one token until it ends; a client that is turned off, one whose secret is another one, and a realm
    that is not there are told in Keycloak's words, and asked for once. CONTRACT: AUT-06, AUT-10."""
    servers = of_realm(tmp_path, keycloak, keycloak_api, "service", scope="read")
    servers += of_realm(tmp_path, keycloak, keycloak_api, "service", realm="nowhere").replace("servers.mine", "servers.lost")
    place = Project(tmp_path, servers, {"SECRET": SECRET})
    keycloak.lifespan(LIFESPAN)
    async with place.stdio() as agent:
        assert len((await agent.value(many("mine")))["mine"]) == 1
        assert keycloak_api.accepted[0]["azp"] == "service"
        await anyio.sleep(LIFESPAN + 0.2)
        await agent.value(many("mine"))
        assert len(keycloak.events("CLIENT_LOGIN")) == keycloak_api.tokens() == 2
        assert keycloak_api.refused == []
        keycloak.change("service", enabled=False)
        await anyio.sleep(LIFESPAN + 0.2)
        for _ in range(3):
            answer = await agent.run(many("mine"))
            assert "Invalid client or Invalid client credentials" in answer["error"]["message"]
        assert len(keycloak.events("CLIENT_LOGIN_ERROR")) == 1
        answer = await agent.run("import lost\nlost.me()")
        assert "/realms/nowhere has no metadata: Realm does not exist" in answer["error"]["message"]
        assert SECRET not in str(agent.received)


async def test_the_password_grant(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """Where an organisation still uses it. A wrong password is tried once, however many calls there are, and a rotated one at once.
    CONTRACT: AUT-06."""
    server = of_realm(tmp_path, keycloak, keycloak_api, "legacy", username="alice", password="${PASSWORD}", scope="openid")
    place = Project(tmp_path, server, {"SECRET": SECRET})
    (tmp_path / ".env").write_text("PASSWORD=not-the-password-of-alice\n")
    async with place.stdio() as agent:
        for _ in range(3):
            answer = await agent.run(many("mine"))
            assert "refused: invalid_grant: Invalid user credentials" in answer["error"]["message"]
        assert len(keycloak.events("LOGIN_ERROR")) == 1
        (tmp_path / ".env").write_text(f"PASSWORD={PASSWORDS['alice']}\n")
        assert await agent.value("import mine\nmine.me()['preferred_username']") == "alice"
        assert len((await agent.value(many("mine")))["mine"]) == 1
        assert len(keycloak.events("LOGIN")) == 1
    received = str(agent.received)
    assert not any(secret in received for secret in (SECRET, PASSWORDS["alice"], "not-the-password-of-alice"))


async def test_an_account_that_is_not_set_up(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """A user who would have to change the password first. CONTRACT: AUT-06."""
    server = of_realm(tmp_path, keycloak, keycloak_api, "legacy", username="bob", password="${PASSWORD}")
    place = Project(tmp_path, server, {"SECRET": SECRET, "PASSWORD": PASSWORDS["bob"]})
    (bob,) = keycloak.admin("GET", "/users", username="bob", exact=True)
    keycloak.admin("PUT", f"/users/{bob['id']}", {**bob, "requiredActions": ["UPDATE_PASSWORD"]})
    try:
        ran = await anyio.to_thread.run_sync(place.run, "call", "mine.me")
    finally:
        keycloak.admin("PUT", f"/users/{bob['id']}", {**bob, "requiredActions": []})
    assert "invalid_grant: Account is not fully set up" in ran.stderr
    assert PASSWORDS["bob"] not in ran.stderr
