"""Doorward with oidc-provider: the served product, an API that verifies the tokens, and a person with a browser."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from served.product import Project
from served.test_canary import leaks, written
from served.test_http_auth import connected, post

from .browse import browser
from .guarded import AUDIENCE, Guarded, guarded
from .oidc_provider import DEVICE, EXCHANGE, KEY, SECRET, OidcProvider

pytestmark = pytest.mark.anyio

BRIEF, LONG = 2, 300
"""Seconds that tokens live whose end is waited for, and those after them: what is counted depends on no time."""
LIMITS = "[limits]\nrate = 100000\ntimeout = 60\n"
OWN = {
    "service": 'client_secret = "${SECRET}"',
    "posting": 'client_secret = "${SECRET}", client_auth = "post"',
    "signed": 'private_key = "${KEY}", signing_algorithm = "ES256"',
}
"""How the clients that need nobody say who they are."""


def many(*servers: str, calls: int = 100) -> str:
    """A program that calls each server so often at once; its value: by server, whom the tokens were for."""
    lines = "\n".join(
        f"told['{name}'] = sorted({{c['sub'] for c in await asyncio.gather(*({name}.me() for n in range({calls})))}})"
        for name in servers
    )
    return f"import asyncio\nimport {', '.join(servers)}\ntold = {{}}\n{lines}\ntold"


def servers(api: Guarded, provider: OidcProvider, auths: dict[str, str], more: str = "") -> str:
    return "".join(
        api.server(f'type = "oauth2", issuer = "{provider.issuer}", {auth}', name, more) for name, auth in auths.items()
    )


async def test_client_credentials(tmp_path: Path, oidc_provider: OidcProvider, oidc_provider_api: Guarded) -> None:
    """However a client says who it is: in a header, in the body, by a signature. 100 calls across the end of a token
    make one request for another, and none of them fails. CONTRACT: AUT-05, AUT-10."""
    auths = {
        name: f'flow = "client_credentials", client_id = "{name}", scope = "read", {own}' for name, own in OWN.items()
    }
    place = Project(
        tmp_path / "project", LIMITS + servers(oidc_provider_api, oidc_provider, auths), {"SECRET": SECRET, "KEY": KEY}
    )
    oidc_provider.lifespan(BRIEF)
    async with place.stdio() as agent:
        assert await agent.value(many(*OWN, calls=1)) == {name: [name] for name in OWN}
        before = len(oidc_provider.granted())
        oidc_provider.lifespan(LONG)
        await anyio.sleep(BRIEF + 0.2)
        assert await agent.value(many(*OWN)) == {name: [name] for name in OWN}
        assert oidc_provider.granted()[before:] == ["client_credentials"] * len(OWN)
    assert {claims["scope"] for claims in oidc_provider_api.accepted} == {"read"}
    assert oidc_provider_api.refused == []
    assert leaks({"secret": SECRET, "key": KEY}, written(place, agent)) == []


async def test_a_person_logs_in(tmp_path: Path, oidc_provider: OidcProvider, oidc_provider_api: Guarded) -> None:
    """`doorward login` with a browser that logs in and agrees, for a client that is known, for one that registers
    itself, and for a device; refresh tokens are used once each; a provider that has forgotten the login wants another
    one. CONTRACT: AUT-10."""
    scope = 'scope = "openid offline_access read"'
    auths = {"known": f'client_id = "browser", {scope}', "registered": scope}
    auths["device"] = f'flow = "device_code", client_id = "device", {scope}'
    person = browser("alice", "any", "Sign-in Success")
    place = Project(tmp_path / "project", LIMITS + servers(oidc_provider_api, oidc_provider, auths), person)
    oidc_provider.lifespan(BRIEF)
    for name in auths:
        ran = await anyio.to_thread.run_sync(place.run, "login", name)
        assert ran.returncode == 0, ran
    assert [grant for grant in oidc_provider.granted() if grant != "refresh_token"] == ["authorization_code"] * 2 + [
        DEVICE
    ]
    async with place.stdio() as agent:
        told = {name: ["alice"] for name in auths}
        assert await agent.value(many(*auths, calls=1)) == told
        oidc_provider.lifespan(LONG)
        await anyio.sleep(BRIEF + 0.2)
        before = oidc_provider.granted().count("refresh_token")
        assert await agent.value(many(*auths)) == told
        assert oidc_provider.granted().count("refresh_token") == before + len(auths)
        assert {refusal for refusal in oidc_provider.refused() if "authorization_pending" not in refusal} == set()
        with oidc_provider.down():
            oidc_provider_api.end()
        for name in auths:
            answer = await agent.run(f"import {name}\n{name}.me()")
            assert f"the login to {name} has ended" in answer["error"]["message"]
            assert f"doorward login {name}" in answer["error"]["hint"]


async def test_a_resource(tmp_path: Path, oidc_provider: OidcProvider) -> None:
    """Tokens are for the resource that the configuration names (RFC 8707); one that there is not is told. CONTRACT:
    AUT-05."""
    own = 'flow = "client_credentials", client_id = "service", client_secret = "${SECRET}"'
    auths = {
        "mine": f'{own}, resource = "https://stock.example"',
        "lost": f'{own}, resource = "https://refused.example"',
    }
    with guarded(oidc_provider.issuer, oidc_provider.jwks_url, "https://stock.example") as api:
        place = Project(tmp_path / "project", LIMITS + servers(api, oidc_provider, auths), {"SECRET": SECRET})
        async with place.stdio() as agent:
            assert await agent.value(many("mine")) == {"mine": ["service"]}
            answer = await agent.run(many("lost"))
            assert 'refused: "invalid_target' in answer["error"]["message"]
        assert [claims["aud"] for claims in api.accepted[:1]] == ["https://stock.example"]
        assert api.refused == []


async def test_our_endpoint_and_what_is_behind_it(tmp_path: Path, oidc_provider: OidcProvider) -> None:
    """Its tokens open our endpoint, to whom they are for, and become tokens for the API: one exchange for each
    principal.
    CONTRACT: SEC-11, AUT-17, CLI-02."""
    exchange = 'flow = "token_exchange", client_id = "exchange", client_secret = "${SECRET}", audience = "https://stock.example"'
    oauth = f'[http.oauth]\nissuer = "{oidc_provider.issuer}"\naudience = "{AUDIENCE}"\nscopes = ["read"]\n'

    def token(client: str, scope: str = "read", **more: str) -> str:
        answer = oidc_provider.ask("token", client, grant_type="client_credentials", scope=scope, **more)
        return str(answer.json()["access_token"])

    with guarded(oidc_provider.issuer, oidc_provider.jwks_url, "https://stock.example") as api:
        behind = servers(api, oidc_provider, {"stock": exchange}, "per_principal = true\n").replace(
            api.spec, "openapi.json"
        )
        place = Project(tmp_path / "project", LIMITS + oauth + behind, {"SECRET": SECRET})
        api.save(place.folder / "openapi.json")
        brought = {name: token(name) for name in ("service", "other")}
        with place.http() as (url, _):
            async with (
                connected(url, brought["service"], "auto") as one,
                connected(url, brought["other"], "legacy") as other,
            ):
                for name, agent in (("service", one), ("other", other)):
                    assert await agent.value(many("stock", calls=50)) == {"stock": [name]}
            assert oidc_provider.granted().count(EXCHANGE) == 2
            assert {claims["act"]["sub"] for claims in api.accepted} == {"exchange"}
            assert post(url, token("service", "write"))[0] == 403
            assert post(url, token("service", resource="https://other.example"))[0] == 401
            assert post(url)[0] == 401
            places = written(place, one) | {"to the other": "".join(other.received).encode()}
        assert leaks({"secret": SECRET, **brought}, places) == []
        assert api.refused == []
