"""`session` against core's conformance class, as any third party's auth; and settings that cannot work."""

from __future__ import annotations

import secrets
from typing import Any

import pytest
from doorward import ConfigError
from doorward.config.config import validate
from doorward.secrets.store import Secrets
from doorward_auth_session import Session
from doorward_testing import AuthConformance, Request, check_driver, check_light_import

from .conftest import Doorward

pytestmark = pytest.mark.anyio

API = "https://api.example.com/v1"


@pytest.mark.slow
class TestAuthConformance(AuthConformance):
    """CONTRACT: AUT-01, AUT-18."""

    driver = Session
    renews = True

    def settings(self, host: Any) -> dict[str, Any]:
        return {"login_url": "/login", "username": "me", "password": "${CANARY}"}

    def answer(self, request: Request) -> Any:
        cookie = {"Set-Cookie": f"sid={secrets.token_urlsafe(18)}; Path=/; HttpOnly"}
        return (200, cookie, {}) if request.path == "/login" else None

    def test_is_installed(self) -> None:
        """The driver is found under its word in the configuration."""
        assert check_driver("auth", "session") is Session


@pytest.mark.slow
def test_is_light() -> None:
    check_light_import("doorward_auth_session")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"login_url": ""}, "login_url"),
        ({"login_url": "//evil.example.com/login"}, "login_url"),
        ({"login_url": "https://me:pw@example.com/login"}, "login_url"),
        ({"login_url": "ftp://example.com/login"}, "login_url"),
        ({"login_url": "/login#part"}, "login_url"),
        ({"content_type": "xml"}, "content_type"),
        ({"cookie_name": "a b"}, "cookie_name"),
        ({"token_header": "X Y"}, "token_header"),
        ({"token_prefix": "a\r\nX-Evil: b"}, "token_prefix"),
        ({"expires_seconds": 0}, "expires_seconds"),
        ({"expired": []}, "expired"),
        ({"fields": {"a": [1]}}, "fields"),
        ({"loginurl": "/login"}, "did you mean 'login_url'"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], why: str) -> None:
    """Each says what is wrong, and none shows a secret."""
    with pytest.raises(ConfigError) as caught:
        validate(
            Session.Settings,
            {"login_url": "/login", "password": "hunter2-hunter2", **settings},
            secrets=Secrets(environ={}),
            place="[servers.mine] auth",
        )
    assert why in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "at", "why"),
    [
        ({}, "", "it is not known where"),
        ({}, "http://api.example.com", "go over https only"),
        ({"login_url": "http://login.example.com/login"}, API, "go over https only"),
        ({"csrf_url": "https://other.example.com/"}, API, "csrf_url is neither at the server nor where the login is"),
        (
            {"logout_url": "https://other.example.com/out"},
            API,
            "logout_url is neither at the server nor where the login is",
        ),
    ],
)
def test_places_where_nothing_may_go(home: Doorward, settings: dict[str, Any], at: str, why: str) -> None:
    """Nothing over plain HTTP but on loopback, and no session but at the server and where the login is."""
    with pytest.raises(ConfigError, match=why):
        home.auth(at=at, **settings).create_auth()
    assert home.app.seen == []


@pytest.mark.parametrize(
    ("login_url", "where"),
    [
        ("/login", "https://api.example.com/login"),
        ("login", "https://api.example.com/v1/login"),
        ("auth/login?realm=a", "https://api.example.com/v1/auth/login?realm=a"),
        ("https://login.example.com/login", "https://login.example.com/login"),
    ],
)
async def test_where_the_login_is(home: Doorward, login_url: str, where: str) -> None:
    """Below base_url, at its host, or anywhere that the operator names."""
    assert await home.auth(at=API, login_url=login_url).check() == f"logs in by itself, at {where.partition('?')[0]}"
