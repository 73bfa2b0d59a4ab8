"""Our HTTP endpoint, protected by Keycloak's tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from served.product import Project
from served.test_http_auth import connected, post

from .browse import browser
from .guarded import AUDIENCE
from .keycloak import PASSWORDS, Keycloak

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]  # the first one waits for Keycloak
OAUTH = """
[limits]
rate = 100000

[http.oauth]
issuer = "{issuer}"
principal = "preferred_username"
scopes = ["read"]
"""


def granted(keycloak: Keycloak, user: str, scope: str = "openid read") -> dict[str, Any]:
    """The tokens that a client gets for a user."""
    answer = keycloak.grant("legacy", "password", username=user, password=PASSWORDS[user], scope=scope)
    assert "access_token" in answer, answer
    return dict(answer)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_access_tokens_of_keycloak(tmp_path: Path, keycloak: Keycloak, era: str) -> None:
    """Two users come in, each to what is theirs. Nothing else that Keycloak signs does, and no token that lacks a scope or is for others.
    CONTRACT: SEC-11."""
    place = Project(tmp_path, OAUTH.format(issuer=keycloak.issuer) + f'audience = "{AUDIENCE}"\n')
    tokens = {user: granted(keycloak, user) for user in PASSWORDS}
    with place.http() as (url, _):
        async with (
            connected(url, tokens["alice"]["access_token"], era) as alice,
            connected(url, tokens["bob"]["access_token"], era) as bob,
        ):
            made = await alice.run("mine = 41\nmine", session_id="new")
            assert not (await bob.run("mine", session_id=made["session_id"]))["ok"]
            assert await alice.value("mine + 1", session_id=made["session_id"]) == 42
        for kind in ("id_token", "refresh_token"):
            assert post(url, tokens["alice"][kind])[0] == 401, kind
        assert post(url, granted(keycloak, "alice", "openid")["access_token"])[0] == 403
        keycloak.audience("legacy", "https://other.example")
        assert post(url, granted(keycloak, "alice")["access_token"])[0] == 401
        assert tokens["alice"]["access_token"] not in place.said()


async def test_a_client_finds_its_way(tmp_path: Path, keycloak: Keycloak) -> None:
    """From the refusal of our endpoint to Keycloak's page and back, with nothing configured but the URL: another Doorward is the client.
    Without Keycloak, tokens that there are go on working."""
    served = Project(tmp_path / "served", OAUTH.format(issuer=keycloak.issuer))
    with served.http() as (url, _):
        keycloak.audience("browser", url)
        auth = '{ type = "oauth2", client_id = "browser", scope = "openid read" }'
        agent = f'\n[servers.inner]\nsource = "mcp"\nallow_self = true\nurl = "{url}"\nauth = {auth}\n'
        place = Project(tmp_path / "agent", agent, browser("alice", PASSWORDS["alice"]))
        ran = await anyio.to_thread.run_sync(place.run, "login", "inner")
        assert ran.returncode == 0, ran
        assert len(keycloak.events("CODE_TO_TOKEN")) == 1
        async with place.stdio() as client:
            program = "import inner\ninner.execute_code(code='6 * 7')['value']"
            assert await client.value(program) == 42
            with keycloak.down():
                assert await client.value(program) == 42
