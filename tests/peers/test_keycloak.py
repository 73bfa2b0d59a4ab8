"""Doorward with Keycloak as the identity provider: the served product, an API that verifies the tokens, and a person with a browser.

All tests of Keycloak are in this file: it is started once for it.
"""

from __future__ import annotations

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
