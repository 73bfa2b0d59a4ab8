"""Doorward with Keycloak as the identity provider: the served product, an API that verifies the tokens, and a person
with a browser.

All tests of Keycloak are in this file: it is started once for it.
"""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync
from mcp.client.auth import OAuthClientProvider
from served.forked import Forked
from served.product import Agent, Api
from served.test_canary import ECHO, RAISE, leaks, written
from served.test_http_auth import connected, post

from .browse import browser
from .guarded import AUDIENCE, Guarded, guarded
from .keycloak import KEY, LIFESPAN, PASSWORDS, SECRET, Keycloak
from .visitor import in_person

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

BRIEF = 2
"""Seconds that tokens live whose end is waited for. Those after them live long: what is counted depends on no time."""
OWN = {"service": 'client_secret = "${SECRET}"', "signed": 'private_key = "${KEY}", signing_algorithm = "ES256"'}
"""How the clients that need nobody say who they are."""
LIMITS = "[limits]\nrate = 100000\ntimeout = 60\n"
OAUTH = '[http.oauth]\nissuer = "{issuer}"\nprincipal = "preferred_username"\nscopes = ["read"]\n'


def many(*servers: str, calls: int = 100) -> str:
    """A program that calls each server so often at once; its value: by server, who got the tokens for whom."""
    gathered = f"await asyncio.gather(*(SERVER.me() for n in range({calls})))"
    told = "sorted({c['azp'] + ' for ' + c['preferred_username'] for c in GATHERED})".replace("GATHERED", gathered)
    lines = [f"told['{name}'] = {told.replace('SERVER', name)}" for name in servers]
    return "\n".join(["import asyncio", f"import {', '.join(servers)}", "told = {}", *lines, "told"])


def auth(keycloak: Keycloak, client: str, more: str) -> str:
    return f'type = "oauth2", issuer = "{keycloak.issuer}", client_id = "{client}", {more}'


def entry(keycloak: Keycloak, client: str, spec: str, url: str, name: str, own: bool, **more: str) -> str:
    """An API's entry in a configuration, with a client in the words of the type `keycloak`; with `own`, each principal
    has their own credentials."""
    secret = {} if client in ("browser", "device") else {"client_secret": "${SECRET}"}
    given = {"type": "keycloak", "base_url": keycloak.url, "realm": "doorward", "client_id": client, **secret, **more}
    words = ", ".join(f'{key} = "{value}"' for key, value in given.items())
    head = f'[servers.{name}]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{url}"\n'
    return f"{head}auth = {{ {words} }}\nper_principal = {str(own).lower()}\n"


def of_realm(
    folder: Path, keycloak: Keycloak, api: Guarded, client: str, name: str = "mine", own: bool = False, **more: str
) -> str:
    """The same of ours. Its document is a file, for which no token is needed."""
    return entry(keycloak, client, str(api.save(folder / "openapi.json")), api.url, name, own, **more)


def granted(keycloak: Keycloak, user: str, scope: str = "openid read") -> dict[str, Any]:
    """The tokens that a client gets for a user, without Doorward."""
    answer = keycloak.grant("legacy", "password", username=user, password=PASSWORDS[user], scope=scope)
    assert "access_token" in answer, answer
    return dict(answer)


async def ended() -> None:
    await anyio.sleep(BRIEF + 0.2)


@pytest.fixture(scope="module", autouse=True)
def brief(started_keycloak: Keycloak) -> tuple[str, float]:
    """A token that lives for a second from the start on, and that moment: our endpoint allows clocks to differ by a
    minute."""
    started_keycloak.lifespan(1)
    return granted(started_keycloak, "alice")["access_token"], time.time()


# Credentials for a server


async def test_client_credentials(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """A secret or a signature is enough. 100 calls across the end of a token make one request for another, and none of
    them fails.
    CONTRACT: AUT-05, AUT-10."""
    auths = {
        name: auth(keycloak, name, f'flow = "client_credentials", scope = "read", {own}') for name, own in OWN.items()
    }
    settings = "".join(keycloak_api.server(own, name) for name, own in auths.items())
    place = Forked(tmp_path, LIMITS + settings, {"SECRET": SECRET, "KEY": KEY})
    keycloak.lifespan(BRIEF)
    async with place.stdio() as agent:
        told = {name: [f"{name} for service-account-{name}"] for name in OWN}
        assert await agent.value(many(*OWN, calls=1)) == told
        before = len(keycloak.events("CLIENT_LOGIN"))
        keycloak.lifespan(LIFESPAN)
        await ended()
        assert await agent.value(many(*OWN)) == told
        assert len(keycloak.events("CLIENT_LOGIN")) == before + len(OWN)
        assert all("read" in claims["scope"].split() for claims in keycloak_api.accepted)
        assert keycloak_api.refused == []
        assert SECRET not in str(agent.received)


async def test_a_person_logs_in(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """`doorward login` with a browser at Keycloak's own page. Tokens are renewed, by one request for 100 calls, until
    Keycloak ends the session. CONTRACT: AUT-10."""
    settings = keycloak_api.server(auth(keycloak, "browser", 'scope = "openid read"'))
    place = Forked(tmp_path, LIMITS + settings, browser("alice", PASSWORDS["alice"]))
    keycloak.lifespan(BRIEF)
    ran = await run_sync(place.run, "login", "mine")
    assert ran.returncode == 0, ran
    assert len(keycloak.events("LOGIN")) == len(keycloak.events("CODE_TO_TOKEN")) == 1
    async with place.stdio() as agent:
        assert await agent.value(many("mine", calls=1)) == {"mine": ["browser for alice"]}
        before = len(keycloak.events("REFRESH_TOKEN"))
        keycloak.lifespan(LIFESPAN)
        await ended()
        assert await agent.value(many("mine")) == {"mine": ["browser for alice"]}
        assert len(keycloak.events("REFRESH_TOKEN")) == before + 1
        assert keycloak.events("REFRESH_TOKEN_ERROR") == [], "each refresh token was used once"
        keycloak.log_out("alice")
        keycloak_api.end()
        answer = await agent.run(many("mine"))
        assert "the login to mine has ended" in answer["error"]["message"]
        assert "doorward login mine" in answer["error"]["hint"]


async def test_a_service_account_of_a_realm(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """Base URL and realm are enough: one token until it ends; a client whose secret is another one, and a realm that is
    not there, are told in Keycloak's words, and asked for once. CONTRACT: AUT-06, AUT-10."""
    servers = of_realm(tmp_path, keycloak, keycloak_api, "service", scope="read")
    servers += of_realm(tmp_path, keycloak, keycloak_api, "service", "lost", realm="nowhere")
    servers += of_realm(tmp_path, keycloak, keycloak_api, "exchange", "wrong", client_secret="${WRONG}")
    place = Forked(tmp_path, LIMITS + servers, {"SECRET": SECRET, "WRONG": "not-the-secret-of-exchange"})
    keycloak.lifespan(BRIEF)
    async with place.stdio() as agent:
        told = {"mine": ["service for service-account-service"]}
        assert await agent.value(many("mine", calls=1)) == told
        keycloak.lifespan(LIFESPAN)
        before = len(keycloak.events("CLIENT_LOGIN"))
        await ended()
        assert await agent.value(many("mine")) == told
        assert len(keycloak.events("CLIENT_LOGIN")) == before + 1
        assert keycloak_api.refused == []
        for _ in range(3):
            answer = await agent.run(many("wrong"))
            assert "Invalid client or Invalid client credentials" in answer["error"]["message"]
        assert len(keycloak.events("CLIENT_LOGIN_ERROR")) == 1
        answer = await agent.run("import lost\nlost.me()")
        assert '/realms/nowhere has no metadata: "Realm does not exist' in answer["error"]["message"]
    assert leaks({"secret": SECRET, "wrong": place.env["WRONG"]}, written(place, agent)) == []


async def test_the_password_grant(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """Where an organisation still uses it. A wrong password is tried once, however many calls there are, and locks no
    account, where two would; a rotated one is tried at once. CONTRACT: AUT-06."""
    server = of_realm(
        tmp_path, keycloak, keycloak_api, "legacy", username="alice", password="${PASSWORD}", scope="openid"
    )
    place = Forked(tmp_path, LIMITS + server, {"SECRET": SECRET})
    (tmp_path / ".env").write_text("PASSWORD=not-the-password-of-alice\n")
    async with place.stdio() as agent:
        for _ in range(3):
            answer = await agent.run(many("mine"))
            assert 'refused: "invalid_grant: Invalid user credentials' in answer["error"]["message"]
        assert len(keycloak.events("LOGIN_ERROR")) == 1
        (tmp_path / ".env").write_text(f"PASSWORD={PASSWORDS['alice']}\n")
        assert await agent.value(many("mine")) == {"mine": ["legacy for alice"]}
        assert len(keycloak.events("LOGIN")) == 1
    known = {"secret": SECRET, "password": PASSWORDS["alice"], "wrong": "not-the-password-of-alice"}
    assert leaks(known, written(place, agent)) == []


async def test_an_account_that_is_not_set_up(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """A user who would have to change the password first. CONTRACT: AUT-06."""
    server = of_realm(tmp_path, keycloak, keycloak_api, "legacy", username="bob", password="${PASSWORD}")
    place = Forked(tmp_path, server, {"SECRET": SECRET, "PASSWORD": PASSWORDS["bob"]})
    (bob,) = keycloak.admin("GET", "/users", username="bob", exact=True)
    keycloak.admin("PUT", f"/users/{bob['id']}", {**bob, "requiredActions": ["UPDATE_PASSWORD"]})
    try:
        ran = await run_sync(place.run, "call", "mine.me")
    finally:
        keycloak.admin("PUT", f"/users/{bob['id']}", {**bob, "requiredActions": []})
    assert "invalid_grant: Account is not fully set up" in ran.stderr
    assert PASSWORDS["bob"] not in ran.stderr


async def test_a_client_is_turned_off_and_keycloak_is_down(
    tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded
) -> None:
    """Both fail clearly, and within seconds; who is at our endpoint stays there; and all recovers without a restart:
    after 10 seconds when Keycloak is back, and after 30 when it had refused a client. CONTRACT: AUT-10."""
    oauth = OAUTH.format(issuer=keycloak.issuer) + f'audience = "{AUDIENCE}"\n'
    flows = {
        "revoked": ("service", "client_credentials"),
        "fresh": ("exchange", "client_credentials"),
        "kept": ("legacy", "refresh_token"),
    }
    servers = "".join(
        keycloak_api.server(
            auth(keycloak, client, f'flow = "{flow}", client_secret = "${{SECRET}}"')
            + (', refresh_token = "${REFRESH}"' if flow == "refresh_token" else ""),
            name,
        )
        for name, (client, flow) in flows.items()
    )
    brought = granted(keycloak, "bob")
    place = Forked(
        tmp_path, LIMITS + oauth + servers, {"SECRET": SECRET, "REFRESH": granted(keycloak, "alice")["refresh_token"]}
    )
    keycloak.lifespan(BRIEF)
    told = {"fresh": ["exchange for service-account-exchange"], "kept": ["legacy for alice"]}
    with place.http() as (url, _):
        async with connected(url, brought["access_token"], "auto") as agent:
            assert await agent.value(many(*told, calls=1)) == told
            keycloak.lifespan(LIFESPAN)
            keycloak.change("service", enabled=False)
            await ended()  # it had a token, with which its document was fetched
            answer = await agent.run(many("revoked"))
            assert 'refused: "invalid_client' in answer["error"]["message"]
            refused = time.monotonic()
            keycloak.change("service", enabled=True)
            with keycloak.down():
                down = time.monotonic()
                await ended()
                while time.monotonic() < down + 10:
                    for name in told:
                        began = time.monotonic()
                        answer = await agent.run(many(name))
                        assert time.monotonic() - began < 20
                        assert answer["error"]["kind"] == "server", answer
                        assert "127.0.0.1" in answer["error"]["message"], answer
                    await anyio.sleep(3)
            for name in told:
                answer = {}
                end = time.monotonic() + 15
                while not answer.get("ok") and time.monotonic() < end:
                    answer = await agent.run(many(name))
                    await anyio.sleep(0.2)
                assert answer["value"] == {name: told[name]}
            assert "invalid_client" in str(await agent.run(many("revoked"))) or time.monotonic() > refused + 30
            await anyio.sleep(max(0.0, refused + 30.5 - time.monotonic()))
            assert await agent.value(many("revoked")) == {"revoked": ["service for service-account-service"]}
        assert (
            leaks({"secret": SECRET, "brought": brought["access_token"].rpartition(".")[2]}, written(place, agent))
            == []
        )


# Our endpoint


async def test_access_tokens_of_keycloak(tmp_path: Path, keycloak: Keycloak) -> None:
    """Two users come in, by a client of each era, each to what is theirs. Nothing else that Keycloak signs does, and no token that lacks a
    scope, or is for others, or of another realm. CONTRACT: SEC-11, CLI-02."""
    place = Forked(tmp_path, OAUTH.format(issuer=keycloak.issuer) + f'audience = "{AUDIENCE}"\n')
    tokens = {user: granted(keycloak, user) for user in PASSWORDS}
    with place.http() as (url, _):
        async with (
            connected(url, tokens["alice"]["access_token"], "auto") as alice,
            connected(url, tokens["bob"]["access_token"], "legacy") as bob,
        ):
            made = await alice.run("mine = 41\nmine", session_id="new")
            assert not (await bob.run("mine", session_id=made["session_id"]))["ok"]
            assert await alice.value("mine + 1", session_id=made["session_id"]) == 42
        for kind in ("id_token", "refresh_token"):
            assert post(url, tokens["alice"][kind])[0] == 401, kind
        assert post(url, granted(keycloak, "alice", "openid")["access_token"])[0] == 403
        keycloak.audience("legacy", "https://other.example")
        assert post(url, granted(keycloak, "alice")["access_token"])[0] == 401
        assert post(url, keycloak.administrator())[0] == 401, "of another realm"
        assert tokens["alice"]["access_token"] not in place.said()


async def test_a_client_finds_its_way(tmp_path: Path, keycloak: Keycloak) -> None:
    """From the refusal of our endpoint to Keycloak's page and back, with nothing configured but the URL: another
    Doorward is the client.
    CONTRACT: CLI-02."""
    served = Forked(tmp_path / "served", OAUTH.format(issuer=keycloak.issuer))
    with served.http() as (url, _):
        keycloak.audience("browser", url)
        auth = '{ type = "oauth2", client_id = "browser", scope = "openid read" }'
        agent = f'\n[servers.inner]\nsource = "mcp"\nallow_self = true\nurl = "{url}"\nauth = {auth}\n'
        place = Forked(tmp_path / "agent", agent, browser("alice", PASSWORDS["alice"]))
        ran = await run_sync(place.run, "login", "inner")
        assert ran.returncode == 0, ran
        assert len(keycloak.events("CODE_TO_TOKEN")) == 1
        async with place.stdio() as client:
            assert await client.value("import inner\ninner.execute_code(code='6 * 7')['value']") == 42


async def test_the_sdks_client_finds_its_way(tmp_path: Path, keycloak: Keycloak) -> None:
    """The SDK's own OAuth, with a client that is registered at Keycloak, by our metadata (RFC 9728) alone. CONTRACT:
    SEC-11, CLI-02."""
    place = Forked(tmp_path, OAUTH.format(issuer=keycloak.issuer) + f'audience = "{AUDIENCE}"\n')
    with place.http() as (url, _), in_person("browser", "alice", PASSWORDS["alice"]) as person:
        oauth = OAuthClientProvider(url, person.metadata, person, person.visit, person.answer)
        async with connected(url, "", "auto", auth=oauth) as agent:
            assert await agent.value("6 * 7") == 42
        assert person.tokens is not None
        assert person.tokens.access_token not in place.said()
    assert len(keycloak.events("LOGIN")) == 1


# Whose credentials


async def at_once(program: str, **agents: Agent) -> dict[str, Any]:
    """By agent, what a program comes to that all of them run at the same time."""
    told: dict[str, Any] = {}

    async def ask(name: str, agent: Agent) -> None:
        told[name] = await agent.run(program)

    async with anyio.create_task_group() as group:
        for name, agent in agents.items():
            group.start_soon(ask, name, agent)
    return told


async def test_the_token_of_each_becomes_one_for_the_api(
    tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded
) -> None:
    """Token exchange, in the words of both types, and secrets of the principals: 50 calls of each at once are never
    mixed. When alice's session ends, hers fail, and bob's go on with one exchange for all that wait. CONTRACT: AUT-06,
    AUT-10, AUT-17."""
    brought = {user: granted(keycloak, user)["access_token"] for user in PASSWORDS}
    with guarded(keycloak.issuer, keycloak.jwks_url, "target") as api:
        exchange = {"flow": "token_exchange", "audience": "target"}
        more = 'client_secret = "${SECRET}", flow = "token_exchange", audience = "target"'
        typed = {"username": "${principal:name}", "password": "${principal:password}"}
        servers = of_realm(tmp_path, keycloak, api, "exchange", "exchanged", True, **exchange)
        servers += api.server(auth(keycloak, "exchange", more), "also", "per_principal = true\n").replace(
            api.spec, "openapi.json"
        )
        servers += of_realm(tmp_path, keycloak, keycloak_api, "legacy", "typed", **typed)
        secrets = "".join(f'[principals.{user}.secrets]\npassword = "${{{user.upper()}}}"\n' for user in PASSWORDS)
        config = LIMITS + OAUTH.format(issuer=keycloak.issuer) + f'audience = "{AUDIENCE}"\n' + secrets + servers
        passwords = {user.upper(): password for user, password in PASSWORDS.items()}
        place = Forked(tmp_path, config, {"SECRET": SECRET, **passwords})
        clients = {"exchanged": "exchange", "also": "exchange", "typed": "legacy"}
        with place.http() as (url, _):
            async with (
                connected(url, brought["alice"], "auto") as alice,
                connected(url, brought["bob"], "legacy") as bob,
            ):
                for user, answer in (await at_once(many(*clients, calls=50), alice=alice, bob=bob)).items():
                    assert answer.get("value") == {
                        name: [f"{client} for {user}"] for name, client in clients.items()
                    }, answer
                keycloak.log_out("alice")
                api.end()
                before = len(keycloak.events("TOKEN_EXCHANGE"))
                for name in ("exchanged", "also"):
                    told = await at_once(many(name, calls=50), alice=alice, bob=bob)
                    assert told["bob"].get("value") == {name: ["exchange for bob"]}, told
                    assert 'refused: "invalid' in told["alice"]["error"]["message"], told
                assert len(keycloak.events("TOKEN_EXCHANGE")) == before + 2
                assert len(keycloak.events("TOKEN_EXCHANGE_ERROR")) == 2
                assert await alice.value(many("typed", calls=1)) == {"typed": ["legacy for alice"]}
        assert (api.refused, keycloak_api.refused) == ([], [])
        known = {**brought, **PASSWORDS, "secret": SECRET}
        assert leaks(known, written(place, alice) | {"to bob": "".join(bob.received).encode()}) == []


async def test_each_principal_logs_in(tmp_path: Path, keycloak: Keycloak, keycloak_api: Guarded) -> None:
    """`doorward login --principal`, on a page and with the code of a device: each one's calls have their own token, and
    who has not logged in is told how. CONTRACT: AUT-06, AUT-17."""
    flows = {"browser": "authorization_code", "device": "device_code"}
    servers = "".join(
        of_realm(tmp_path, keycloak, keycloak_api, client, client, True, flow=flow, scope="openid read")
        for client, flow in flows.items()
    )
    place = Forked(tmp_path, LIMITS + OAUTH.format(issuer=keycloak.issuer) + f'audience = "{AUDIENCE}"\n' + servers)
    for server, user in (("browser", "alice"), ("browser", "bob"), ("device", "bob")):
        place.env |= browser(user, PASSWORDS[user], *["Device Login Successful"] * (server == "device"))
        ran = await run_sync(place.run, "login", server, "--principal", user)
        assert ran.returncode == 0, ran
    with place.http() as (url, _):
        brought = {user: granted(keycloak, user)["access_token"] for user in PASSWORDS}
        async with connected(url, brought["alice"], "auto") as alice, connected(url, brought["bob"], "auto") as bob:
            told = await at_once(many("browser", calls=50), alice=alice, bob=bob)
            assert {user: answer["value"] for user, answer in told.items()} == {
                u: {"browser": [f"browser for {u}"]} for u in PASSWORDS
            }
            assert await bob.value(many("device")) == {"device": ["device for bob"]}
            refused = await alice.run(many("device"))
            assert "nobody is logged in to device" in refused["error"]["message"]
            assert "doorward login device --principal alice" in refused["error"]["hint"]
            ran = await run_sync(place.run, "login", "browser", "--principal", "alice", "--remove")
            assert ran.returncode == 0, ran
            refused = await alice.run(many("browser", calls=1))
            assert "doorward login browser --principal alice" in refused["error"]["hint"]
            assert await bob.value(many("browser", calls=1)) == {"browser": ["browser for bob"]}


async def test_no_token_comes_out(tmp_path: Path, keycloak: Keycloak) -> None:
    """Of those of each flow, from an API that gives them back in every way: not in an answer, on the wire, standard
    error at level debug, the audit log or the catalog; and a redirect takes them nowhere. CONTRACT: AUT-06, AUT-12."""
    with Api() as api:
        flows: dict[str, dict[str, str]] = {
            "service": {},
            "exchange": {"flow": "token_exchange", "subject_token": "${SUBJECT}", "audience": "target"},
            "legacy": {"username": "alice", "password": "${PASSWORD}"},
            "browser": {"flow": "authorization_code"},
        }
        (tmp_path / "openapi.json").write_text(json.dumps(api.get("/openapi.json")))
        servers = "".join(
            entry(keycloak, client, "openapi.json", api.url, client, False, **more) for client, more in flows.items()
        )
        known = {
            "SECRET": SECRET,
            "PASSWORD": PASSWORDS["alice"],
            "SUBJECT": granted(keycloak, "alice")["access_token"],
        }
        place = Forked(
            tmp_path, 'log_level = "debug"\n' + LIMITS + servers, {**known, **browser("alice", PASSWORDS["alice"])}
        )
        ran = await run_sync(place.run, "login", "browser")
        assert ran.returncode == 0, ran
        wire = ["sh", "-c", f"{shlex.join(place.command('serve'))} | tee wire"]
        async with place.stdio(command=wire) as agent:
            for name in flows:
                program = ECHO.replace("SERVER", name).replace("forms = ", "forms = ['plain', 'base64', 'json'] or ")
                assert "[secret]" in str(await agent.value(program))
                await agent.run(RAISE.replace("SERVER", name).replace("FORM", "plain").replace("PLACE", "error"))
        seen = [one for one in api.seen() if one["credentials"]]
    assert {one["origin"] for one in seen} == {0}
    tokens = {told.split()[-1] for one in seen for told in one["credentials"]}
    assert len(tokens) >= len(flows), "a refusal makes one more"
    out = {
        file: content for file, content in written(place, agent).items() if not file.startswith("state/credentials/")
    }
    assert leaks(known | {f"token {n}": token for n, token in enumerate(tokens)}, out) == []


async def test_a_token_that_has_ended(tmp_path: Path, keycloak: Keycloak, brief: tuple[str, float]) -> None:
    """It opens nothing, once the difference that clocks may have is over. CONTRACT: SEC-11."""
    place = Forked(
        tmp_path, 'log_level = "info"\n' + OAUTH.format(issuer=keycloak.issuer) + f'audience = "{AUDIENCE}"\n'
    )
    token, got = brief
    await anyio.sleep(max(0.0, got + 62 - time.time()))
    with place.http() as (url, _):
        assert post(url, token)[0] == 401
        assert "ExpiredSignatureError" in place.said()
        assert post(url, granted(keycloak, "alice")["access_token"])[0] == 200
