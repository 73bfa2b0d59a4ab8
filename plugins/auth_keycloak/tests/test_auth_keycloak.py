"""`keycloak` against a realm on loopback: what is sent where, and what is told when it is refused."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doorward import ConfigError, DoorwardError, LoginRefused, PluginContext
from doorward.config.config import validate
from doorward.secrets.store import Secrets
from doorward.values import quoted
from doorward_auth_keycloak import Keycloak
from doorward_testing import AuthConformance, Request, check_driver, check_light_import

from .realm import Realm, running

pytestmark = pytest.mark.anyio

SSO: dict[str, Any] = {"base_url": "https://sso.example.com", "realm": "main", "client_id": "service"}
ENVIRON = {"SECRET": "secret-of-the-service", "PASSWORD": "pass-word-of-alice"}


@pytest.mark.slow
class TestAuthConformance(AuthConformance):
    """CONTRACT: AUT-01, AUT-18."""

    driver = Keycloak
    renews = True

    def settings(self, host: Any) -> dict[str, Any]:
        return {**SSO, "base_url": self.server.url, "client_secret": "${CANARY}"}

    def answer(self, request: Request) -> Any:
        issuer = f"{self.server.url}/realms/main"
        metadata = {"issuer": issuer, "token_endpoint": f"{issuer}/token", "authorization_endpoint": f"{issuer}/auth"}
        token = {"access_token": secrets.token_urlsafe(18), "token_type": "Bearer", "expires_in": 300}
        known = {"/realms/main/.well-known/openid-configuration": metadata, "/realms/main/token": token}
        return (200, {}, known[request.path]) if request.path in known else None

    def test_is_installed(self) -> None:
        """The driver is found under its word in the configuration."""
        assert check_driver("auth", "keycloak") is Keycloak


@pytest.mark.slow
def test_is_light() -> None:
    check_light_import("doorward_auth_keycloak")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def realm() -> Iterator[Realm]:
    with running() as realm:
        yield realm


class Doorward:
    """What core does for the plugin."""

    def __init__(self, folder: Path, realm: Realm) -> None:
        self.folder, self.realm = folder, realm
        self.environ = dict(ENVIRON)
        self.secrets = Secrets(environ=self.environ)

    def http(self, **settings: Any) -> httpx2.AsyncClient:
        prefix = self.realm.path.partition("/realms/")[0]
        given = {"base_url": f"{self.realm.url}{prefix}", "realm": "the main one", "client_id": "service", **settings}
        checked = validate(Keycloak.Settings, given, secrets=self.secrets, place="[servers.mine] auth")
        context = PluginContext(
            "mine", checked, self.folder, f"{self.realm.url}/api", "openapi", self.secrets.redaction()
        )
        return httpx2.AsyncClient(auth=Keycloak(context).create_auth(), base_url=self.realm.url, timeout=100)


@pytest.fixture
def home(tmp_path: Path, realm: Realm) -> Doorward:
    return Doorward(tmp_path, realm)


@pytest.mark.slow
async def test_a_service_account(home: Doorward, realm: Realm) -> None:
    """Client credentials at the endpoint that the realm's metadata names: one token for 100 calls. CONTRACT: AUT-06,
    AUT-10."""
    async with home.http(client_secret="${SECRET}", scope="read write") as http:
        answers = await asyncio.gather(*(http.get("/api/me") for _ in range(100)))
    assert {answer.status_code for answer in answers} == {200}
    assert realm.asked == [{"grant_type": "client_credentials", "scope": "read write"}]
    shown = home.secrets.scrub(answers[0].text)
    assert not any(token in shown for token in realm.tokens)


async def test_post_in_place_of_basic(home: Doorward, realm: Realm) -> None:
    """The secret in the body, for clients that have it so. CONTRACT: AUT-06."""
    async with home.http(client_secret="${SECRET}", client_auth="post") as http:
        assert (await http.get("/api/me")).status_code == 200
    assert realm.asked == [
        {"grant_type": "client_credentials", "client_id": "service", "client_secret": ENVIRON["SECRET"]}
    ]


@pytest.mark.slow
async def test_the_password_grant(home: Doorward, realm: Realm) -> None:
    """A username and a password are enough to say so; a public client has no secret. CONTRACT: AUT-06."""
    realm.clients["cli"] = ""
    for client in ({"client_secret": "${SECRET}"}, {"client_id": "cli"}):
        async with home.http(username="alice", password="${PASSWORD}", **client) as http:
            assert (await http.get("/api/me")).status_code == 200
    assert [told["grant_type"] for told in realm.asked] == ["password", "password"]
    assert realm.asked[1]["username"] == "alice"


async def test_before_version_17(tmp_path: Path) -> None:
    """Keycloak was below `/auth` then: so is `base_url`."""
    with running("/auth") as realm:
        async with Doorward(tmp_path, realm).http(client_secret="${SECRET}") as http:
            assert (await http.get("/api/me")).status_code == 200
        assert "/auth/realms/the%20main%20one/protocol/openid-connect/token" in realm.paths


@pytest.mark.slow
async def test_a_token_that_is_revoked(home: Doorward, realm: Realm) -> None:
    """Another one, and the request again; a client that is turned off meanwhile is told of in Keycloak's words."""
    async with home.http(client_secret="${SECRET}") as http:
        await http.get("/api/me")
        realm.tokens.clear()
        assert (await http.get("/api/me")).status_code == 200
        assert len(realm.asked) == 2
        realm.tokens.clear()
        realm.fails = (401, "invalid_client", "Invalid client or Invalid client credentials")
        with pytest.raises(LoginRefused, match="invalid_client: Invalid client or Invalid client credentials"):
            await http.get("/api/me")


@pytest.mark.slow
async def test_a_wrong_password(home: Doorward, realm: Realm) -> None:
    """Tried once; one that is rotated is tried at once. CONTRACT: AUT-06."""
    home.environ["PASSWORD"] = "not-the-password"
    async with home.http(username="alice", password="${PASSWORD}", client_secret="${SECRET}") as http:
        for _ in range(3):
            with pytest.raises(
                LoginRefused, match=r'no token for mine: .* refused: "invalid_grant: Invalid user credentials'
            ):
                await http.get("/api/me")
        assert len(realm.asked) == 1
        home.environ["PASSWORD"] = "pass-word-of-alice"
        assert (await http.get("/api/me")).status_code == 200


@pytest.mark.parametrize(
    "error",
    [
        (400, "invalid_grant", "Account is not fully set up"),
        (400, "invalid_grant", "Account disabled"),
        (401, "unauthorized_client", "Client not enabled to retrieve service account"),
        (400, "unauthorized_client", "Client not allowed for direct access grants"),
        (400, "invalid_scope", "Invalid scopes: nonsense"),
    ],
)
async def test_keycloaks_own_words(home: Doorward, realm: Realm, error: tuple[int, str, str]) -> None:
    """What an administrator of the realm has to know."""
    realm.fails = error
    async with home.http(client_secret="${SECRET}") as http:
        with pytest.raises(LoginRefused) as caught:
            await http.get("/api/me")
    assert (
        f"/realms/the%20main%20one/protocol/openid-connect/token refused: {quoted(f'{error[1]}: {error[2]}')}"
        in str(caught.value)
    )


@pytest.mark.parametrize("metadata", [(404, {"error": "not found"}), (403, "<html>"), (200, {})])
async def test_a_realm_without_metadata(home: Doorward, realm: Realm, metadata: tuple[int, Any]) -> None:
    """Its token endpoint is where each realm has it, below `base_url`: metadata that a proxy does not let through, or that
    are those of another address, are not needed. CONTRACT: AUT-06."""
    status, told = metadata
    realm.says = status, {**realm.metadata, "issuer": "https://elsewhere.example"} if status == 200 else told
    async with home.http(client_secret="${SECRET}", scope="read") as http:
        assert (await http.get("/api/me")).status_code == 200
    assert realm.asked == [{"grant_type": "client_credentials", "scope": "read"}]
    assert realm.paths.count(f"{realm.path}/protocol/openid-connect/token") == 1


async def test_a_realm_that_is_not_there(home: Doorward, realm: Realm) -> None:
    """Its name is told, and nothing secret is sent anywhere."""
    async with home.http(realm="other", client_secret="${SECRET}") as http:
        with pytest.raises(DoorwardError, match=r"/realms/other has no metadata: \"Realm does not exist: "):
            await http.get("/api/me")
    assert realm.asked == []


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({}, "needs a client_secret or a private_key"),
        ({"base_url": "sso.example.com"}, "base_url"),
        ({"base_url": "https://me:pw@sso.example.com"}, "base_url"),
        ({"realm": ""}, "realm"),
        ({"client_id": ""}, "client_id"),
        ({"username": "alice"}, "username and password belong together"),
        ({"flow": "password", "client_secret": "hunter2-hunter2"}, "needs username"),
        (
            {"flow": "client_credentials", "client_secret": "x", "username": "a", "password": "hunter2-hunter2"},
            "for the flow password only",
        ),
        ({"flow": "implicit"}, "flow"),
        ({"client_secret": "hunter2-hunter2", "private_key": "y"}, "cannot both be given"),
        ({"client_secret": "hunter2-hunter2", "audience": "a"}, "audience is for the flow"),
        ({"client_secret": "hunter2-hunter2", "signing_algorithm": "none"}, "signing_algorithm"),
        ({"client_secret": "hunter2-hunter2", "issuer": "https://sso.example.com"}, "issuer"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], why: str) -> None:
    """Each says what is wrong, and none shows a secret."""
    with pytest.raises(ConfigError) as caught:
        validate(Keycloak.Settings, {**SSO, **settings}, secrets=Secrets(environ={}), place="[servers.mine] auth")
    assert why in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_flows() -> None:
    """Those of a person and of an exchange are those of `oauth2`."""
    for flow in ("authorization_code", "device_code", "token_exchange"):
        settings = validate(Keycloak.Settings, {**SSO, "flow": flow}, secrets=Secrets(environ={}), place="x").oauth2
        assert (settings.flow, settings.issuer) == (flow, "https://sso.example.com/realms/main")
