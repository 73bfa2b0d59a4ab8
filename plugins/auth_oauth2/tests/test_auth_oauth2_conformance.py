"""`oauth2` against core's conformance class, as any third party's auth; and settings that cannot work."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from doorward import ConfigError
from doorward.config.config import validate
from doorward.secrets.store import Secrets
from doorward_auth_oauth2 import OAuth2
from doorward_testing import AuthConformance, Request, check_driver, check_light_import

TOKEN = "https://login.example.com/token"


@pytest.mark.slow
class TestAuthConformance(AuthConformance):
    """CONTRACT: AUT-01, AUT-18."""

    driver = OAuth2
    renews = True

    def settings(self, host: Any) -> dict[str, Any]:
        client = {"client_id": "me", "client_secret": "${CANARY}"}
        return {"flow": "client_credentials", "token_url": f"{self.server.url}/token", **client}

    def answer(self, request: Request) -> Any:
        token = {"access_token": secrets.token_urlsafe(18), "token_type": "Bearer", "expires_in": 3600}
        return (200, {}, token) if request.path == "/token" else None

    def test_is_installed(self) -> None:
        """The driver is found under its word in the configuration."""
        assert check_driver("auth", "oauth2") is OAuth2


@pytest.mark.slow
def test_is_light() -> None:
    check_light_import("doorward_auth_oauth2")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"flow": "client_credentials"}, "needs client_id"),
        ({"flow": "client_credentials", "client_id": "a"}, "needs a client_secret or a private_key"),
        ({"flow": "implicit"}, "flow"),
        ({"client_secret": "x"}, "belong to a client_id"),
        ({"client_id": "a", "client_secret": "x", "private_key": "y"}, "cannot both be given"),
        ({"flow": "password", "username": "a"}, "the flow password needs password"),
        ({"flow": "refresh_token"}, "needs refresh_token"),
        ({"flow": "device_code"}, "needs client_id"),
        ({"flow": "jwt_bearer", "client_id": "a"}, "needs private_key"),
        ({"flow": "jwt_bearer", "private_key": "y"}, "needs an assertion_issuer, or a client_id"),
        ({"flow": "token_exchange", "username": "a"}, "username is for the flow password only"),
        (
            {"client_id": "a", "audience": "b"},
            "for the flow jwt_bearer and token_exchange and identity_assertion only; a provider's own field",
        ),
        ({"client_id": "a", "client_auth": "private_key_jwt"}, "needs a private_key and a client_id"),
        (
            {"flow": "device_code", "client_id": "a", "token_url": TOKEN},
            "device_authorization_url and token_url belong together",
        ),
        ({"token_url": TOKEN}, "belong together"),
        ({"authorization_url": TOKEN}, "belong together"),
        ({"authorization_url": TOKEN, "token_url": TOKEN}, "needs a client_id"),
        ({"issuer": "https://login.example.com", "token_url": TOKEN}, "an issuer tells its token_url"),
        ({"issuer": "login.example.com"}, "must be an https URL"),
        ({"issuer": "https://me:pw@login.example.com"}, "must be an https URL"),
        ({"issuer": "https://login.example.com/a b"}, "must be an https URL"),
        ({"client_metadata_url": "http://me.example.com/client.json"}, "client_metadata_url"),
        ({"client_metadata_url": "https://me.example.com/"}, "client_metadata_url"),
        ({"redirect_port": 70000}, "redirect_port"),
        ({"signing_algorithm": "none"}, "signing_algorithm"),
        ({"signing_algorithm": "HS256"}, "signing_algorithm"),
        ({"scopes": ["a"]}, "did you mean 'scope'"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], why: str) -> None:
    """Each says what is wrong, and none shows a secret."""
    with pytest.raises(ConfigError) as caught:
        validate(OAuth2.Settings, settings, secrets=Secrets(environ={}), place="[servers.mine] auth")
    assert why in str(caught.value)


def test_scopes() -> None:
    """A text with spaces or a list."""
    for scope in ("a  b", ["a", "b"]):
        assert validate(OAuth2.Settings, {"scope": scope}, secrets=Secrets(environ={}), place="x").scopes == ["a", "b"]
