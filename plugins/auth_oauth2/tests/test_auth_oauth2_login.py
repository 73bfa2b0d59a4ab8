"""Logging in and out, at a provider by Authlib."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from doorward import ConfigError, LoginRefused, ServerError
from doorward_testing import reserve_port

from .conftest import Doorward, LoginPrompt
from .provider import Provider

pytestmark = pytest.mark.anyio


@pytest.mark.slow
async def test_log_in_and_call(home: Doorward, provider: Provider) -> None:
    """From nothing but the API's URL: discovery, registration, PKCE, the browser, the token, a call. CONTRACT:
    AUT-01."""
    auth, person = home.auth(), LoginPrompt()
    said = await auth.login(person)
    assert "logged in" in said
    async with home.http(auth) as client:
        answers = [(await client.get("/me")).json() for _ in range(3)]
    assert answers == [{"user": "alice", "scope": "read offline_access"}] * 3
    sent = {name: values[0] for name, values in parse_qs(urlsplit(person.pages[0]).query).items()}
    assert sent["code_challenge_method"] == "S256"
    assert sent["resource"] == provider.url
    assert len(sent["state"]) >= 32
    [form] = provider.asked("/token")
    assert form["resource"] == provider.url
    assert len(form["code_verifier"]) >= 43
    assert person.seen[0][0] == 200
    assert "close this page" in person.seen[0][1]


async def test_what_is_kept(home: Doorward, provider: Provider) -> None:
    """One file, of its owner alone, in a folder of its owner alone; nothing else is written."""
    await home.auth().login(LoginPrompt())
    [file] = home.files()
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert json.loads(file.read_text())["tokens"]["access_token"] == provider.tokens[0].access_token
    assert [
        f.name for f in home.folder.rglob("*") if f.is_file() and f.suffix not in (".json", ".lock", ".changed")
    ] == []


async def test_all_is_concealed(home: Doorward, provider: Provider) -> None:
    """Tokens, codes, verifiers and the registered secret are scrubbed from the moment at which they are there."""
    auth = home.auth()
    await auth.login(LoginPrompt())
    for name, secret in provider.secrets().items():
        assert home.secrets.scrub(f"<{secret}>") == "<[secret]>", name
    other = Doorward(home.folder, home.url)  # another process, that only reads what is kept
    async with other.http(other.auth()) as client:
        await client.get("/me")
    for name in ("access 0", "refresh 0", "secret 0"):
        assert other.secrets.scrub(provider.secrets()[name]) == "[secret]", name


@pytest.mark.slow
@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
async def test_a_registered_client(home: Doorward, provider: Provider, method: str) -> None:
    """A client of the provider's own, with a fixed redirect port, and a secret in the place that it wants."""
    provider.register = False
    client = provider.client(method, f"http://127.0.0.1:{(port := reserve_port())}/callback")
    if method == "none":
        client.client_secret = ""
    settings = (
        {} if method == "none" else {"client_secret": client.client_secret, "client_auth": method.rpartition("_")[2]}
    )
    auth = home.auth(client_id=client.client_id, redirect_port=port, issuer=provider.issuer, **settings)
    await auth.login(LoginPrompt())
    async with home.http(auth) as http:
        assert (await http.get("/me")).status_code == 200
        provider.revoke(refresh=False)
        assert (await http.get("/me")).status_code == 200
    assert [file for file in home.files() if client.client_secret and client.client_secret in file.read_text()] == []


@pytest.mark.parametrize("published", [True, False])
async def test_a_login_page_with_a_query(home: Doorward, provider: Provider, published: bool) -> None:
    """RFC 6749 section 3.1: it stays, as providers have it that serve several policies; what we send wins."""
    provider.query = "?policy=sign%20in&state=theirs"
    settings: dict[str, Any] = {"params": {"audience": "us"}}
    if not published:
        client = provider.client("none", f"http://127.0.0.1:{(port := reserve_port())}/callback")
        client.client_secret, provider.publish = "", False
        settings |= {"authorization_url": f"{provider.issuer}/authorize{provider.query}", "redirect_port": port}
        settings |= {"token_url": f"{provider.issuer}/token", "client_id": client.client_id, "scope": "read"}
    auth, person = home.auth(**settings), LoginPrompt()
    await auth.login(person)
    query = parse_qs(urlsplit(person.pages[0]).query)
    assert (query["policy"], query["audience"], query["response_type"]) == (["sign in"], ["us"], ["code"])
    assert (len(query["state"]), "theirs" in query["state"]) == (1, False)
    async with home.http(auth) as client:
        assert (await client.get("/me")).status_code == 200


async def test_a_provider_that_tells_nothing(home: Doorward, provider: Provider) -> None:
    """Without discovery the URLs are configured, and nothing else is asked."""
    provider.publish = provider.register = False
    client = provider.client("client_secret_basic", f"http://127.0.0.1:{(port := reserve_port())}/callback")
    auth = home.auth(
        authorization_url=f"{provider.issuer}/authorize",
        token_url=f"{provider.issuer}/token",
        client_id=client.client_id,
        client_secret=client.client_secret,
        redirect_port=port,
        scope=["read"],
    )
    await auth.login(LoginPrompt())
    async with home.http(auth) as http:
        assert (await http.get("/me")).json() == {"user": "alice", "scope": "read"}
    assert {path for _, path, _ in provider.requests} == {"/authorize", "/token"}
    assert len(provider.calls) == 1


@pytest.mark.slow
async def test_an_api_that_publishes_nothing(home: Doorward, provider: Provider) -> None:
    """An issuer is enough where the API says nothing of it; then no resource is named, which some providers refuse."""
    provider.publish = False
    auth = home.auth(issuer=provider.issuer, scope="read")
    await auth.login(LoginPrompt())
    assert "resource" not in provider.asked("/token")[0]
    with pytest.raises(ServerError, match="refused"):
        await home.auth().login(LoginPrompt())  # the default places of 2025-03-26 are the API's own, which has none
    provider.register = False
    with pytest.raises(ConfigError, match="registers no clients") as caught:
        await auth.login(LoginPrompt())
    assert "client_id" in str(caught.value.hint)


@pytest.mark.slow
async def test_pasted(home: Doorward, provider: Provider) -> None:
    """A person whose browser is on another machine pastes the address."""
    await home.auth().login(LoginPrompt(paste=True))
    assert len(provider.tokens) == 1
    for wrong in (
        "",
        "nonsense",
        "http://127.0.0.1/callback?code=x",
        "http://127.0.0.1/callback?code=x&state=y",
        "http://[",
        "?state=&code=x",
    ):
        with pytest.raises(ServerError, match="not the address"):
            await home.auth().login(LoginPrompt(paste=True, change=lambda _, wrong=wrong: wrong))
    assert len(provider.tokens) == 1


async def test_refused_by_the_person(home: Doorward, provider: Provider) -> None:
    """What the provider says of it is told, to the terminal and on the page."""
    provider.deny = True
    person = LoginPrompt()
    with pytest.raises(ServerError, match='the login was refused: "access_denied'):
        await home.auth().login(person)
    assert home.files() == []


async def test_out(home: Doorward, provider: Provider) -> None:
    """Logging out forgets the tokens and has the provider end them; then calls say what to do."""
    auth = home.auth()
    await auth.login(LoginPrompt())
    assert await auth.check() == "logged in"
    assert "revoked" in await auth.logout()
    assert all(token.revoked for token in provider.tokens)
    assert home.files() == []
    assert await auth.logout() == "nobody was logged in"
    with pytest.raises(ServerError, match="nobody is logged in"):
        await auth.check()
    async with home.http(auth) as client:
        # By its kind a source knows that the credentials are missing, not the server: it may ask without, for a
        # document.
        with pytest.raises(LoginRefused, match="nobody is logged in to mine") as caught:
            await client.get("/me")
    assert caught.value.hint == "Log in: doorward login mine"
    assert provider.calls == [""]  # how the login asked where to log in


async def test_out_while_the_provider_is_down(home: Doorward, provider: Provider) -> None:
    auth = home.auth()
    await auth.login(LoginPrompt())
    provider.stop("provider")
    assert "could not be revoked" in await auth.logout()
    assert home.files() == []


async def test_one_login_for_one_place(home: Doorward, provider: Provider) -> None:
    """Tokens of one URL, provider or client are nobody else's."""
    await home.auth().login(LoginPrompt())
    for other in (
        home.auth(url="http://127.0.0.1:1/api"),
        home.auth(issuer=provider.issuer),
        home.auth(client_id="other"),
    ):
        with pytest.raises(ServerError, match="nobody is logged in"):
            await other.check()


async def test_no_place_for_tokens(home: Doorward) -> None:
    """An API without `base_url`: `doctor` says what is missing, rather than to log in, which would say so then."""
    for flow in (
        {},
        {"flow": "client_credentials", "token_url": "http://127.0.0.1:1/token", "client_id": "c", "client_secret": "s"},
    ):
        with pytest.raises(ConfigError, match="not known where its credentials may go") as caught:
            await home.auth(url="", **flow).check()
        assert "base_url" in str(caught.value.hint)


@pytest.mark.slow
async def test_more_scopes(home: Doorward, provider: Provider) -> None:
    """A call that needs more says so, and the next login asks for all of it together."""
    auth = home.auth()
    await auth.login(LoginPrompt())
    async with home.http(auth) as client:
        for _ in range(2):
            with pytest.raises(ServerError, match="wants the scope 'write'") as caught:
                await client.get("/admin")
        assert "doorward login mine" in str(caught.value.hint)
        person = LoginPrompt()
        await home.auth().login(person)
        assert parse_qs(urlsplit(person.pages[0]).query)["scope"] == ["read offline_access write"]
        assert (await client.get("/admin")).json() == {"ok": True}
    configured = home.auth(scope="read", issuer=provider.issuer)
    await configured.login(LoginPrompt())
    async with home.http(configured) as client:
        with pytest.raises(ServerError) as caught:
            await client.get("/admin")
    assert "Set scope" in str(caught.value.hint)


@pytest.mark.slow
async def test_another_login_that_would_not_help(home: Doorward, provider: Provider) -> None:
    """A server that refuses a token for lack of what it has: nobody is sent to log in again and again."""
    auth = home.auth()
    await auth.login(LoginPrompt())
    async with home.http(auth) as client:
        with pytest.raises(ServerError, match="wants the scope 'read', which its token has") as caught:
            await client.get("/owner")
    assert "doorward login" not in str(caught.value.hint)


async def test_the_port_is_taken(home: Doorward, provider: Provider) -> None:
    port = int(provider.issuer.rpartition(":")[2])
    with pytest.raises(ConfigError, match=f"127.0.0.1:{port} cannot be listened at"):
        await home.auth(redirect_port=port).login(LoginPrompt())


async def test_a_person_is_not_needed(home: Doorward, provider: Provider) -> None:
    client = provider.client()
    auth = home.auth(flow="client_credentials", client_id=client.client_id, client_secret=client.client_secret)
    for work in (auth.login(LoginPrompt()), auth.logout()):
        with pytest.raises(ConfigError, match="needs no login"):
            await work


def test_folder(tmp_path: Path) -> None:
    """Making the auth writes nothing and needs nothing."""
    Doorward(tmp_path, "https://api.example.com").auth().create_auth()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
async def test_what_holds_a_token_sees_a_login_and_its_end(home: Doorward, provider: Provider) -> None:
    """A gateway that serves uses another login with its next call, and none after `--remove`, though its token would
    still be taken."""
    await home.auth().login(LoginPrompt())
    async with home.http(home.auth()) as http:
        assert (await http.get("/me")).status_code == 200
        first = provider.calls[-1]
        await home.auth().login(LoginPrompt())
        assert (await http.get("/me")).status_code == 200
        assert provider.calls[-1] != first
        await home.auth().logout()
        for token in provider.tokens:  # as one that proves itself, which nobody can call back
            token.revoked = False
        with pytest.raises(ServerError, match="nobody is logged in"):
            await http.get("/me")
