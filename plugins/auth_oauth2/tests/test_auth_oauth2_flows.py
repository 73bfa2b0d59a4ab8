"""Flows in which nobody visits a page, and the device code: against Authlib's grants."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from doorward import ConfigError, MissingSecret, PluginContext, Secret, ServerError, Settings, Template
from doorward.config.config import validate
from doorward_auth_kit import renewal
from doorward_auth_oauth2 import OAuth2, OAuth2Settings, device

from .conftest import Doorward, LoginPrompt
from .provider import Client, Provider

pytestmark = pytest.mark.anyio
KEY = ec.generate_private_key(ec.SECP256R1())
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
PUBLIC = (
    KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
)


def prepared(provider: Provider, method: str) -> tuple[Client, dict[str, Any]]:
    """A client, and what the configuration says of it."""
    client = provider.client(method)
    if method == "none":
        client.client_secret = ""
    if method == "private_key_jwt":
        client.client_secret, client.key = "", PUBLIC
    proof: dict[str, Any] = {
        "none": {},
        "private_key_jwt": {"private_key": PEM, "signing_algorithm": "ES256"},
        "client_secret_basic": {"client_secret": client.client_secret},
        "client_secret_post": {"client_secret": client.client_secret, "client_auth": "post"},
    }[method]
    return client, {"client_id": client.client_id, **proof}


METHODS = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]


async def works(home: Doorward, provider: Provider, auth: Any, user: str, calls: int = 5) -> None:
    """Many calls are one request for a token; another when it is refused."""
    async with home.http(auth) as http:
        answers = await asyncio.gather(*(http.get("/me") for _ in range(calls)))
        assert {answer.json()["user"] for answer in answers} == {user}
        assert len(provider.asked("/token")) == 1
        for token in provider.tokens:
            token.revoked = token.client_id != "elsewhere"
        answers = await asyncio.gather(*(http.get("/me") for _ in range(calls)))
        assert {answer.json()["user"] for answer in answers} == {user}
        assert len(provider.asked("/token")) == 2
    for name, value in provider.secrets().items():
        if "access" in name and provider.tokens[int(name.split()[1])].client_id != "elsewhere":
            assert home.secrets.scrub(value) == "[secret]", name


@pytest.mark.slow
@pytest.mark.parametrize("told", ["token_url", "issuer"])
@pytest.mark.parametrize("method", METHODS)
async def test_password(home: Doorward, provider: Provider, method: str, told: str) -> None:
    """RFC 6749 section 4.3, with each way for a client to prove itself. CONTRACT: AUT-10."""
    _, settings = prepared(provider, method)
    where = {"token_url": f"{provider.issuer}/token"} if told == "token_url" else {"issuer": provider.issuer}
    account = {"username": "bob", "password": "password of bob", "scope": "read"}
    await works(
        home,
        provider,
        home.auth(flow="password", **account, **settings, **where),
        "bob",
        calls=30 if method == "none" else 5,
    )
    assert home.secrets.scrub("it is password of bob") == "it is [secret]"
    assert [file for file in home.folder.rglob("*") if file.is_file()] == []


async def test_a_wrong_password(home: Doorward, provider: Provider) -> None:
    """It is tried once, told without itself, and another one is tried at once."""
    _, settings = prepared(provider, "none")
    home.environ["PASSWORD"] = "wrong-wrong"
    account = {"username": "bob", "password": "${PASSWORD}", "scope": "read", "token_url": f"{provider.issuer}/token"}
    async with home.http(home.auth(flow="password", **account, **settings)) as http:
        for _ in range(5):
            with pytest.raises(
                ServerError, match=r'no token for mine: .*/token refused: "invalid_request: Invalid .username'
            ) as caught:
                await http.get("/me")
            assert "wrong-wrong" not in str(caught.value)
        assert len(provider.asked("/token")) == 1
        home.environ["PASSWORD"] = "password of bob"
        assert (await http.get("/me")).json()["user"] == "bob"
        del home.environ["PASSWORD"]
        provider.revoke(refresh=True)
        with pytest.raises(MissingSecret):
            await http.get("/me")


SLOW: dict[str, dict[str, Any]] = {
    "password": {
        "username": "${slow:USER}",
        "password": "${slow:PASSWORD}",
        "client_secret": "${slow:SECRET}",
        "params": {"a": "${slow:A}"},
    },
    "client_credentials": {"private_key": "${slow:KEY}", "signing_algorithm": "ES256"},
    "token_exchange": {"client_secret": "${slow:SECRET}", "subject_token": "${slow:SUBJECT}"},
    "refresh_token": {"client_secret": "${slow:SECRET}", "refresh_token": "${slow:REFRESH}"},
}


@pytest.mark.parametrize("flow", SLOW)
async def test_secrets_that_take_time(home: Doorward, provider: Provider, flow: str) -> None:
    """A command or a keyring keeps no other call waiting: no secret is asked for in the event loop's thread."""
    client, _ = prepared(provider, "private_key_jwt" if "private_key" in SLOW[flow] else "client_secret_basic")
    first = provider.issue("bob")
    first.client_id = client.client_id
    values = {"USER": "bob", "PASSWORD": "password of bob", "SECRET": client.client_secret, "KEY": PEM, "A": "b"}
    values |= {"SUBJECT": first.access_token, "REFRESH": first.refresh_token}
    threads = set()

    def resolve(scheme: str, name: str) -> str:
        threads.add(threading.current_thread())
        return values[name]

    home.secrets.resolve = resolve
    async with home.http(
        home.auth(flow=flow, client_id=client.client_id, scope="read", issuer=provider.issuer, **SLOW[flow])
    ) as http:
        assert (await http.get("/me")).status_code == 200
    assert threads
    assert threading.current_thread() not in threads


@pytest.mark.slow
async def test_jwt_bearer(home: Doorward, provider: Provider) -> None:
    """RFC 7523 section 2.1: the claims, the key's name, no client but the signer."""
    client, _ = prepared(provider, "private_key_jwt")
    settings = {
        "private_key": PEM,
        "signing_algorithm": "ES256",
        "key_id": "key 1",
        "token_url": f"{provider.issuer}/token",
    }
    more = {
        "assertion_issuer": client.client_id,
        "subject": "carol",
        "claims": {"scope": "in the claims"},
        "scope": "read",
    }
    await works(home, provider, home.auth(flow="jwt_bearer", **settings, **more), "carol")
    form = provider.asked("/token")[0]
    claims = jwt.decode(form["assertion"], KEY.public_key(), algorithms=["ES256"], audience=settings["token_url"])
    assert claims["scope"] == "in the claims"
    assert claims["exp"] - claims["iat"] == 70
    assert jwt.get_unverified_header(form["assertion"])["kid"] == "key 1"
    assert "client_id" not in form
    assert home.secrets.scrub(form["assertion"]) == "[secret]"
    provider.requests.clear()
    async with home.http(
        home.auth(flow="jwt_bearer", audience="https://other.example.com", **settings, **more)
    ) as http:
        with pytest.raises(ServerError, match='refused: "invalid_grant'):
            await http.get("/me")


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
async def test_token_exchange(home: Doorward, provider: Provider, method: str) -> None:
    """RFC 8693: what the principal brought becomes a token of their own; never anybody else's."""
    _, settings = prepared(provider, method)
    settings |= {"flow": "token_exchange", "issuer": provider.issuer, "scope": "read", "audience": "the-api"}
    home.presented = {name: provider.issue(name).access_token for name in ("alice", "bob")}
    alice, bob = (home.auth(principal=name, **settings) for name in ("alice", "bob"))
    await works(home, provider, alice, "alice")
    provider.requests.clear()
    await works(home, provider, bob, "bob")
    form = provider.asked("/token")[0]
    assert form["subject_token"] == home.presented["bob"]
    assert form["subject_token_type"] == "urn:ietf:params:oauth:token-type:access_token"
    assert (form["audience"], form["resource"]) == ("the-api", provider.url)
    assert "requested_token_type" not in form


@pytest.mark.slow
async def test_a_token_that_was_brought_anew(home: Doorward, provider: Provider) -> None:
    """It is exchanged when the exchanged one is refused; a refusal is told without it, and does not stop the next."""
    _, settings = prepared(provider, "client_secret_basic")
    settings |= {"flow": "token_exchange", "issuer": provider.issuer, "scope": "read"}
    first = provider.issue("alice")
    home.presented["alice"] = first.access_token
    async with home.http(home.auth(principal="alice", **settings)) as http:
        assert (await http.get("/me")).status_code == 200
        home.presented["alice"] = provider.issue("alice").access_token
        assert (await http.get("/me")).status_code == 200
        assert len(provider.asked("/token")) == 1
        provider.revoke(refresh=True)
        for _ in range(3):
            with pytest.raises(
                ServerError, match=r'no token for mine: .* refused: "invalid_grant: the subject token'
            ) as caught:
                await http.get("/me")
            home.secrets.scrub_error(caught.value)
            assert home.presented["alice"] not in str(caught.value)
        assert len(provider.asked("/token")) == 2
        home.presented["alice"] = provider.issue("alice").access_token
        assert (await http.get("/me")).status_code == 200


@pytest.mark.slow
async def test_nothing_to_exchange(home: Doorward, provider: Provider) -> None:
    """Who brought no token is told what it takes; a server that is the same for all cannot exchange anybody's."""
    _, settings = prepared(provider, "client_secret_basic")
    settings |= {"flow": "token_exchange", "issuer": provider.issuer}
    async with home.http(home.auth(principal="alice", **settings)) as http:
        with pytest.raises(ServerError, match="alice brought no token that can be exchanged") as caught:
            await http.get("/me")
        assert "over HTTP" in str(caught.value.hint)
    with pytest.raises(ConfigError, match="is the same for all") as refused:
        home.auth(**settings).create_auth()
    assert "per_principal = true" in str(refused.value.hint)
    home.environ["SUBJECT"] = provider.issue("service").access_token
    await works(home, provider, home.auth(subject_token="${SUBJECT}", scope="read", **settings), "service")


@pytest.mark.slow
async def test_refresh_token(home: Doorward, provider: Provider) -> None:
    """Successors of a configured refresh token are kept and win, until another one is configured; each is used once."""
    client, settings = prepared(provider, "client_secret_basic")
    settings |= {"flow": "refresh_token", "refresh_token": "${FIRST}", "issuer": provider.issuer}

    def begin(user: str) -> None:
        token = provider.issue(user)
        token.client_id, home.environ["FIRST"] = client.client_id, token.refresh_token

    begin("alice")
    for number in range(3):  # as many processes, one after the other
        async with home.http(home.auth(**settings)) as http:
            answers = await asyncio.gather(*(http.get("/me") for _ in range(20)))
            assert {answer.json()["user"] for answer in answers} == {"alice"}
            for token in provider.tokens:
                token.revoked = True
            assert (await http.get("/me")).json()["user"] == "alice"
        assert len(provider.asked("/token")) == number + 2
    forms = provider.asked("/token")
    assert len({form["refresh_token"] for form in forms}) == len(forms) == 4
    begin("bob")
    async with home.http(home.auth(**settings)) as http:
        assert (await http.get("/me")).json()["user"] == "bob"
        provider.revoke(refresh=True)
        with pytest.raises(ServerError, match=r'no token for mine: .* refused: "invalid_grant'):
            await http.get("/me")
    [file] = home.files()
    assert home.environ["FIRST"] not in file.read_text()


def begun(home: Doorward, provider: Provider, **more: Any) -> dict[str, Any]:
    """The settings of a refresh token that was not used yet."""
    client, settings = prepared(provider, "client_secret_basic")
    token = provider.issue("alice")
    token.client_id, home.environ["FIRST"] = client.client_id, token.refresh_token
    home.environ["CLIENT"] = settings.pop("client_secret")
    settings |= {"flow": "refresh_token", "refresh_token": "${FIRST}", "client_secret": "${CLIENT}"}
    return settings | {"token_url": f"{provider.issuer}/token", **more}


@pytest.mark.slow
async def test_stored_tokens_that_cannot_be_read(home: Doorward, provider: Provider) -> None:
    """With another `vault_key`, without one, or when the file is damaged, calls and `doctor` say so and nothing is
    sent: the configured refresh token has been replaced. With the right key all goes on."""
    settings = begun(home, provider)
    right = home.auth(key="the key", **settings)
    assert await right.check() == "gets its tokens by itself"
    async with home.http(right) as http:
        assert (await http.get("/me")).status_code == 200
    [file] = home.files()
    whole = file.read_text()
    for key, text in (("another", whole), ("", whole), *(("the key", whole[:n]) for n in (0, 5, 20, len(whole) - 9))):
        file.write_text(text)
        auth = home.auth(key=key, **settings)
        async with home.http(auth) as http:
            for _ in range(2):
                with pytest.raises(ConfigError, match=r"\.json: cannot be read: .* another `vault_key`, or is damaged"):
                    await http.get("/me")
        with pytest.raises(ConfigError, match="cannot be read"):
            await auth.check()
    assert len(provider.asked("/token")) == 1
    file.write_text(whole)
    async with home.http(home.auth(key="the key", **settings)) as http:
        assert (await http.get("/me")).status_code == 200


async def test_a_refresh_token_that_was_replaced_is_not_sent_again(home: Doorward, provider: Provider) -> None:
    """Not when its successor is gone or belongs to other settings; another one is sent."""
    settings = begun(home, provider)
    async with home.http(home.auth(**settings)) as http:
        assert (await http.get("/me")).status_code == 200
    for lost in (False, True):
        if lost:
            home.files()[0].unlink()
        async with home.http(home.auth(**settings | ({} if lost else {"scope": "read write"}))) as http:
            with pytest.raises(ConfigError, match="the configured refresh token was used, and its successor is not"):
                await http.get("/me")
    assert len(provider.asked("/token")) == 1
    async with home.http(home.auth(**begun(home, provider))) as http:
        assert (await http.get("/me")).status_code == 200


async def test_a_client_secret_that_changes_keeps_the_successor(home: Doorward, provider: Provider) -> None:
    """The configured refresh token is used up: its successor goes on with the new secret."""
    settings = begun(home, provider)
    async with home.http(home.auth(**settings)) as http:
        assert (await http.get("/me")).status_code == 200
    home.environ["CLIENT"] = provider.clients[settings["client_id"]].client_secret = "the-new-secret-of-the-client"
    for token in provider.tokens:
        token.revoked = True
    async with home.http(home.auth(**settings)) as http:
        assert (await http.get("/me")).status_code == 200
    assert provider.asked("/token")[1]["refresh_token"] != home.environ["FIRST"]


async def test_a_provider_that_replaces_no_refresh_token(home: Doorward, provider: Provider) -> None:
    """The configured one is sent each time."""
    settings = begun(home, provider)
    provider.rotates = False
    for number in (1, 2):
        async with home.http(home.auth(**settings)) as http:
            assert (await http.get("/me")).status_code == 200
        assert len(provider.asked("/token")) == number
        for token in provider.tokens:
            token.revoked = True
    assert {form["refresh_token"] for form in provider.asked("/token")} == {home.environ["FIRST"]}


@pytest.mark.slow
async def test_device_code(home: Doorward, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 8628: a code, a page, polls that slow down when told to; then a login like any other."""
    monkeypatch.setattr(device, "MIN_INTERVAL_SECONDS", 0.05)
    monkeypatch.setattr(device, "INTERVAL_SECONDS", 0.05)
    _, settings = prepared(provider, "client_secret_basic")
    settings |= {"flow": "device_code", "issuer": provider.issuer, "scope": "read"}
    provider.slow_down = 1
    person = LoginPrompt()
    said = await home.auth(**settings, principal="alice").login(person)
    assert "logged in" in said
    assert any(
        provider.devices[form["device_code"]]["user_code"] in " ".join(person.told) for form in provider.asked("/token")
    )
    assert person.pages[0].startswith(f"{provider.issuer}/enter?user_code=")
    assert len(provider.asked("/token")) == 2
    async with home.http(home.auth(**settings, principal="alice")) as http:
        assert (await http.get("/me")).json()["user"] == "alice"
        provider.revoke(refresh=False)
        assert (await http.get("/me")).json()["user"] == "alice"
    async with home.http(home.auth(**settings, principal="bob")) as http:
        with pytest.raises(ServerError, match="nobody is logged in to mine") as caught:
            await http.get("/me")
        assert caught.value.hint == "Log in: doorward login mine --principal bob"
    assert "revoked" in await home.auth(**settings, principal="alice").logout()
    provider.deny = True
    with pytest.raises(ServerError, match='refused: "access_denied'):
        await home.auth(**settings).login(LoginPrompt())


async def test_logins_of_principals(home: Doorward, provider: Provider) -> None:
    """A login is its principal's; the others, and the machine's, know nothing of it."""
    await home.auth(principal="alice").login(LoginPrompt())
    assert await home.auth(principal="alice").check() == "logged in"
    for other in ("bob", "local", "alice\n"):
        with pytest.raises(ServerError, match="nobody is logged in") as caught:
            await home.auth(principal=other).check()
        assert str(caught.value) == "nobody is logged in"
    assert len(home.files()) == 1
    assert "alice" not in home.files()[0].name


@pytest.mark.slow
async def test_kept_when_encrypted(home: Doorward, provider: Provider) -> None:
    """What can be fetched again is kept only if it is encrypted; then other processes use it, with the same key and
    secrets only."""
    client, settings = prepared(provider, "client_secret_basic")
    settings |= {"flow": "client_credentials", "token_url": f"{provider.issuer}/token", "scope": "read"}
    for key, requests in (("the key", 1), ("the key", 1), ("another key", 2), ("", 3)):
        async with home.http(home.auth(key=key, **settings)) as http:
            assert (await http.get("/me")).status_code == 200
        assert len(provider.asked("/token")) == requests
    [file] = home.files()
    assert provider.tokens[-2].access_token not in file.read_text()
    assert set(json.loads(file.read_text())) == {"salt", "box"}
    fresh = Doorward(home.folder, home.url)
    async with fresh.http(fresh.auth(key="another key", **settings)) as http:
        assert (await http.get("/me")).status_code == 200
    assert len(provider.asked("/token")) == 3
    assert fresh.secrets.scrub(provider.tokens[1].access_token) == "[secret]"
    client.client_secret = settings["client_secret"] = "a-rotated-secret"
    async with home.http(home.auth(key="another key", **settings)) as http:
        assert (await http.get("/me")).status_code == 200
    assert len(provider.asked("/token")) == 4


@pytest.mark.slow
async def test_what_is_kept_is_for_what_was_asked(home: Doorward, provider: Provider) -> None:
    """A token of one subject, or for one audience, is none for another that is configured later."""
    client, _ = prepared(provider, "private_key_jwt")
    settings = {
        "flow": "jwt_bearer",
        "private_key": PEM,
        "signing_algorithm": "ES256",
        "token_url": f"{provider.issuer}/token",
    }
    for subject in ("carol", "carol", "dave"):
        auth = home.auth(key="the key", assertion_issuer=client.client_id, subject=subject, scope="read", **settings)
        async with home.http(auth) as http:
            assert (await http.get("/me")).json()["user"] == subject
    assert len(provider.asked("/token")) == 2
    one, other = ({"scope": scope, "resource": resource} for scope, resource in ((["a"], ["b"]), (["a", "b"], [])))
    assert home.auth(client_id="x", **one)._store()._name != home.auth(client_id="x", **other)._store()._name


async def test_params_and_resources(home: Doorward, provider: Provider) -> None:
    """Further fields go with each request for tokens, and to the login page; resources can be named, also several (RFC
    8707)."""
    _, settings = prepared(provider, "client_secret_basic")
    home.environ["AUDIENCE"] = "https://api.example.com"
    settings |= {"params": {"audience": "${AUDIENCE}", "grant_type": "no"}, "scope": "read"}
    machine = home.auth(
        flow="client_credentials", token_url=f"{provider.issuer}/token", resource="urn:a urn:b", **settings
    )
    async with home.http(machine) as http:
        assert (await http.get("/me")).status_code == 200
    form = provider.asked("/token")[0]
    assert (form["audience"], form["grant_type"], form["resource"]) == (
        "https://api.example.com",
        "client_credentials",
        "urn:a",
    )
    person = LoginPrompt()
    login = home.auth(params={"audience": "one"}, resource="urn:a")
    await login.login(person)
    assert "audience=one" in person.pages[0]
    assert "resource=urn%3Aa" in person.pages[0]
    assert [provider.asked("/token")[1][name] for name in ("audience", "resource")] == ["one", "urn:a"]
    provider.revoke(refresh=False)
    async with home.http(login) as http:
        assert (await http.get("/me")).status_code == 200
    assert [provider.asked("/token")[2][name] for name in ("audience", "resource")] == ["one", "urn:a"]


@pytest.mark.parametrize("flow", ["password", "client_credentials"])
async def test_the_provider_is_away(home: Doorward, provider: Provider, later: Any, flow: str) -> None:
    """Calls fail and say why; they work again soon after it does."""
    _, settings = prepared(provider, "client_secret_basic")
    account = {"username": "bob", "password": "password of bob"} if flow == "password" else {}
    auth = home.auth(flow=flow, token_url=f"{provider.issuer}/token", scope="read", **account, **settings)
    provider.stop("provider")
    async with home.http(auth) as http:
        failed = await asyncio.gather(*(http.get("/me") for _ in range(30)), return_exceptions=True)
        assert {str(error).partition(":")[0] for error in failed} == {"no token for mine"}
        assert all(isinstance(error, ServerError) and "cannot be reached" in str(error) for error in failed)
        provider.start()
        later(renewal.MAX_RETRY_SECONDS)
        assert (await http.get("/me")).status_code == 200


class RealmSettings(Settings):
    """Of an auth that is built on this one."""

    realm: str
    username: Template
    password: Secret


class Realm(OAuth2):
    Settings = RealmSettings

    def __init__(self, context: PluginContext) -> None:
        own = context.settings
        account = {"username": own.username, "password": own.password, "client_id": "c", "scope": "read"}
        super().__init__(
            replace(context, settings=OAuth2Settings(flow="password", token_url=f"{own.realm}/token", **account))
        )


async def test_an_auth_that_is_built_on_it(home: Doorward, provider: Provider) -> None:
    """Settings of its own become these, and secrets remain references: what is rotated is picked up."""
    provider.clients["c"] = Client("c", "", [], "none")
    home.environ["PASSWORD"] = "password of alice"
    given = {"realm": provider.issuer, "username": "alice", "password": "${PASSWORD}"}
    settings = validate(Realm.Settings, given, secrets=home.secrets, place="[servers.mine] auth")
    auth = Realm(PluginContext("mine", settings, home.folder, home.url, redact=home.secrets.redaction()))
    async with home.http(auth) as http:
        assert (await http.get("/me")).json()["user"] == "alice"
        provider.users["alice"] = home.environ["PASSWORD"] = "the next password"
        provider.revoke(refresh=True)
        assert (await http.get("/me")).json()["user"] == "alice"
    assert home.secrets.scrub("the next password") == "[secret]"


async def test_a_token_in_use_is_scrubbed(home: Doorward, provider: Provider) -> None:
    """However many values came since it was fetched, as those of attempts that failed: only the latest are kept in
    mind."""
    _, settings = prepared(provider, "client_secret_basic")
    auth = home.auth(flow="client_credentials", token_url=f"{provider.issuer}/token", scope="read", **settings)
    async with home.http(auth) as http:
        assert (await http.get("/me")).status_code == 200
        for number in range(40):
            auth._context.redact(f"an assertion that came to nothing {number}")
        assert (await http.get("/me")).status_code == 200
    assert home.secrets.scrub(provider.tokens[0].access_token) == "[secret]"


@pytest.mark.slow
async def test_who_acts_for_whom_is_in_the_token(home: Doorward, provider: Provider) -> None:
    """RFC 8693 section 4.1: with the client's own token as `actor_token`, the new one is the person's and says who acts
    for them. A client that cannot prove itself has no such token."""
    client, settings = prepared(provider, "client_secret_basic")
    settings |= {"flow": "token_exchange", "issuer": provider.issuer, "scope": "read"}
    home.presented["alice"] = provider.issue("alice").access_token
    async with home.http(home.auth(principal="alice", delegation=True, **settings)) as http:
        told = (await http.get("/me")).json()
    assert (told["user"], told["act"]) == ("alice", {"sub": client.client_id})
    own, exchanged = provider.asked("/token")
    assert own["grant_type"] == "client_credentials"
    assert exchanged["actor_token_type"] == "urn:ietf:params:oauth:token-type:access_token"
    assert home.secrets.scrub(exchanged["actor_token"]) == "[secret]"
    async with home.http(home.auth(principal="alice", **settings)) as http:
        assert "act" not in (await http.get("/me")).json()
    with pytest.raises(ConfigError, match="delegation needs a client_secret"):
        home.auth(flow="token_exchange", client_id="x", issuer=provider.issuer, delegation=True)


@pytest.mark.slow
async def test_identity_assertion(home: Doorward, provider: Provider) -> None:
    """SEP-990: the organisation's identity provider signs an assertion for whom the principal's token is of, and the
    server's provider takes it, each by its own client: no person logs in, nobody gets another's, each is used once."""
    client, settings = prepared(provider, "client_secret_basic")
    at_home = provider.client()
    provider.here = client.client_id
    settings |= {
        "flow": "identity_assertion",
        "issuer": provider.issuer,
        "identity_token_url": f"{provider.issuer}/token",
    }
    settings |= {"identity_client_id": at_home.client_id, "identity_client_secret": at_home.client_secret}
    home.presented = {name: provider.issue(name).access_token for name in ("alice", "bob")}
    for name in home.presented:
        async with home.http(home.auth(principal=name, **settings)) as http:
            for _ in range(2):
                assert (await http.get("/me")).json()["user"] == name
                provider.tokens[-1].revoked = True  # another one needs another assertion
    exchanged, assertion = provider.asked("/token")[:2]
    assert exchanged["requested_token_type"] == "urn:ietf:params:oauth:token-type:id-jag"
    assert (exchanged["audience"], exchanged["resource"]) == (provider.issuer, provider.url)
    assert assertion["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    assert home.secrets.scrub(assertion["assertion"]) == "[secret]"
    async with home.http(home.auth(principal="carol", **settings)) as http:
        with pytest.raises(ServerError, match="carol brought no token that can be exchanged"):
            await http.get("/me")
    provider.here = "another client"
    async with home.http(home.auth(principal="alice", **settings)) as http:
        with pytest.raises(ServerError, match="for another client or resource"):
            await http.get("/me")
    provider.opaque, home.presented["bob"] = True, provider.issue("bob").access_token
    async with home.http(home.auth(principal="bob", **settings)) as http:
        with pytest.raises(ServerError, match="gave no identity assertion"):
            await http.get("/me")
    with pytest.raises(ConfigError, match="needs an issuer, or a token_url and an audience"):
        home.auth(**{**settings, "issuer": ""})


@pytest.mark.slow
async def test_more_scopes_without_a_person(home: Doorward, provider: Provider) -> None:
    """A server that wants another scope (403 `insufficient_scope`) gets a token with it, at once and once; one that goes
    on refusing, or whose scopes the operator has set, gets no other."""
    _, settings = prepared(provider, "client_secret_basic")
    settings |= {"flow": "token_exchange", "issuer": provider.issuer}
    home.presented["alice"] = provider.issue("alice").access_token
    async with home.http(home.auth(principal="alice", **settings)) as http:
        assert (await http.get("/me")).json()["scope"] == "read"
        assert (await http.get("/admin")).json() == {"ok": True}
        assert (await http.get("/me")).json()["scope"].split() == ["read", "write"]
        asked = len(provider.asked("/token"))
        assert asked == 2
        for _ in range(3):
            with pytest.raises(ServerError, match="wants the scope 'read', which its token has"):
                await http.get("/owner")
        with pytest.raises(ServerError, match='wants a stronger or a newer login: acr_values = "gold", max_age = "60"'):
            await http.get("/bank")
        assert len(provider.asked("/token")) == asked
    async with home.http(home.auth(principal="alice", scope="read", **settings)) as http:
        with pytest.raises(ServerError, match="wants the scope 'write'") as refused:
            await http.get("/admin")
        assert refused.value.hint == "Set scope in the auth of mine."
