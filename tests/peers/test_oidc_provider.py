"""Doorward with oidc-provider: the served product, an API that verifies the tokens, and a person with a browser."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from served.product import Project

from .browse import browser
from .guarded import Guarded
from .oidc_provider import KEY, SECRET, OidcProvider

pytestmark = pytest.mark.anyio

LIFESPAN = 4
"""Seconds that tokens live: enough for the calls of a test, few enough to wait for their end."""
OWN = {
    "service": 'client_secret = "${SECRET}"',
    "posting": 'client_secret = "${SECRET}", client_auth = "post"',
    "signed": 'private_key = "${KEY}", signing_algorithm = "ES256"',
}
"""How the clients that need nobody say who they are."""


def many(*servers: str) -> str:
    """A program that calls each server ten times at once; its value: by server, whom the tokens were for."""
    calls = "\n".join(
        f"told['{name}'] = sorted({{c['sub'] for c in await asyncio.gather(*({name}.me() for n in range(10)))}})" for name in servers
    )
    return f"import asyncio\nimport {', '.join(servers)}\ntold = {{}}\n{calls}\ntold"


def servers(api: Guarded, provider: OidcProvider, auths: dict[str, str]) -> str:
    return "".join(api.server(f'type = "oauth2", issuer = "{provider.issuer}", {auth}', name) for name, auth in auths.items())


async def test_client_credentials(tmp_path: Path, oidc_provider: OidcProvider, oidc_provider_api: Guarded) -> None:
    """One token for many calls, another one when it ends, however a client says who it is: in a header, in the body, by a signature."""
    auths = {name: f'flow = "client_credentials", client_id = "{name}", scope = "read", {own}' for name, own in OWN.items()}
    settings = servers(oidc_provider_api, oidc_provider, auths)
    place = Project(tmp_path, settings, {"SECRET": SECRET, "KEY": KEY})
    oidc_provider.lifespan(LIFESPAN)
    async with place.stdio() as agent:
        for times in (1, 2):
            assert await agent.value(many(*OWN)) == {name: [name] for name in OWN}
            assert oidc_provider.granted() == ["client_credentials"] * 3 * times
            await anyio.sleep(LIFESPAN + 0.2)
    assert {claims["scope"] for claims in oidc_provider_api.accepted} == {"read"}
    assert (oidc_provider_api.tokens(), oidc_provider_api.refused) == (6, [])


async def test_a_person_logs_in(tmp_path: Path, oidc_provider: OidcProvider, oidc_provider_api: Guarded) -> None:
    """`doorward login` with a browser that logs in and agrees, for a client that is known and for one that registers itself; refresh
    tokens are used once each; a provider that has forgotten the login wants another one."""
    scope = 'scope = "openid offline_access read"'
    auths = {"known": f'client_id = "browser", {scope}', "registered": scope}
    place = Project(tmp_path, servers(oidc_provider_api, oidc_provider, auths), browser("alice", "any"))
    oidc_provider.lifespan(LIFESPAN)
    for name in auths:
        ran = await anyio.to_thread.run_sync(place.run, "login", name)
        assert ran.returncode == 0, ran
    assert oidc_provider.granted() == ["authorization_code"] * 2
    async with place.stdio() as agent:
        counts = []
        for _ in range(2):
            assert await agent.value(many(*auths)) == {"known": ["alice"], "registered": ["alice"]}
            counts.append(oidc_provider.granted().count("refresh_token"))
            await anyio.sleep(LIFESPAN + 0.2)
        assert counts[1] - counts[0] == len(auths)
        assert oidc_provider.refused() == []
        with oidc_provider.down():
            pass
        for name in auths:
            answer = await agent.run(f"import {name}\n{name}.me()")
            assert f"the login to {name} has ended" in answer["error"]["message"]
            assert f"doorward login {name}" in answer["error"]["hint"]
