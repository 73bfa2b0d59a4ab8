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
from .keycloak import PASSWORDS, SECRET, Keycloak

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]  # the first one waits for Keycloak

LIFESPAN = 4
"""Seconds that tokens live: enough for the calls of a test, few enough to wait for their end."""
MANY = "import asyncio\nimport mine\nresult = [c['sub'] for c in await asyncio.gather(*(mine.me() for n in range(20)))]"


def client(keycloak: Keycloak, name: str, **more: str) -> str:
    """The `auth` of a client at Keycloak."""
    given = {"type": "oauth2", "issuer": keycloak.issuer, "client_id": name, **more}
    return ", ".join(f'{key} = "{value}"' for key, value in given.items())


async def test_client_credentials(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """One token for many calls, another one when it ends; a client that Keycloak has turned off says so."""
    auth = client(keycloak, "service", flow="client_credentials", client_secret="${SECRET}", scope="read")
    place = Project(tmp_path, keycloak_api.server(auth), {"SECRET": SECRET})
    keycloak.lifespan(LIFESPAN)
    async with place.stdio() as agent:
        assert len(set(await agent.value(MANY))) == 1
        assert keycloak_api.accepted[0]["azp"] == "service"
        assert "read" in keycloak_api.accepted[0]["scope"].split()
        assert len(keycloak.events("CLIENT_LOGIN")) == keycloak_api.tokens() == 1
        await anyio.sleep(LIFESPAN + 0.2)
        await agent.value(MANY)
        assert len(keycloak.events("CLIENT_LOGIN")) == keycloak_api.tokens() == 2
        assert keycloak_api.refused == []
        keycloak.change("service", enabled=False)
        await anyio.sleep(LIFESPAN + 0.2)
        answer = await agent.run(MANY)
        assert "refused: invalid_client" in answer["error"]["message"]
        assert SECRET not in str(answer)


async def test_a_person_logs_in(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """`doorward login` with a browser at Keycloak's own page; tokens are renewed, until Keycloak ends the session."""
    auth = client(keycloak, "browser", scope="openid read")
    place = Project(tmp_path, keycloak_api.server(auth), browser("alice", PASSWORDS["alice"]))
    keycloak.lifespan(LIFESPAN)
    ran = await anyio.to_thread.run_sync(place.run, "login", "mine")
    assert ran.returncode == 0, ran
    assert len(keycloak.events("LOGIN")) == len(keycloak.events("CODE_TO_TOKEN")) == 1
    async with place.stdio() as agent:
        assert await agent.value("import mine\nmine.me()['preferred_username']") == "alice"
        await anyio.sleep(LIFESPAN + 0.2)
        assert len(set(await agent.value(MANY))) == 1
        assert len(keycloak.events("REFRESH_TOKEN")) == 1
        assert keycloak_api.refused == []
        keycloak.log_out("alice")
        await anyio.sleep(LIFESPAN + 0.2)
        answer = await agent.run(MANY)
        assert "the login to mine has ended" in answer["error"]["message"]
        assert "doorward login mine" in answer["error"]["hint"]
    assert "revoked" in place.run("login", "mine", "--remove").stdout
