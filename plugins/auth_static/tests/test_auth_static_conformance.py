"""The static auth types against core's conformance class, as any third party's auth."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_auth_static import ApiKeyAuth, BasicAuth, JwtAuth, StaticAuth
from doorward_testing import AuthConformance, check_driver, check_light_import

TYPES = {"static": StaticAuth, "bearer": JwtAuth, "jwt": JwtAuth, "basic": BasicAuth, "api_key": ApiKeyAuth}


@pytest.mark.slow
class TestStatic(AuthConformance):
    """CONTRACT: AUT-01, AUT-18. `static`."""

    driver = StaticAuth

    def settings(self, host: Any) -> dict[str, Any]:
        return {"value": "Door ${CANARY}"}


@pytest.mark.slow
class TestJwt(AuthConformance):
    """CONTRACT: AUT-01, AUT-18. `jwt`, and `bearer`, which is the same."""

    driver = JwtAuth

    def settings(self, host: Any) -> dict[str, Any]:
        return {"token": "${CANARY}"}


@pytest.mark.slow
class TestBasic(AuthConformance):
    """CONTRACT: AUT-01, AUT-18. `basic`."""

    driver = BasicAuth

    def settings(self, host: Any) -> dict[str, Any]:
        return {"username": "u", "password": "${CANARY}"}


@pytest.mark.slow
class TestApiKeyInHeader(AuthConformance):
    """CONTRACT: AUT-01, AUT-18. `api_key`, in a header."""

    driver = ApiKeyAuth

    def settings(self, host: Any) -> dict[str, Any]:
        return {"name": "X-Key", "value": "${CANARY}", "in": "header"}


@pytest.mark.slow
class TestApiKeyInQuery(TestApiKeyInHeader):
    """The same in the query."""

    def settings(self, host: Any) -> dict[str, Any]:
        return {**super().settings(host), "name": "key", "in": "query"}


@pytest.mark.slow
class TestApiKeyInCookie(TestApiKeyInHeader):
    """The same in a cookie."""

    def settings(self, host: Any) -> dict[str, Any]:
        return {**super().settings(host), "name": "key", "in": "cookie"}


@pytest.mark.parametrize("kind", TYPES)
def test_is_installed(kind: str) -> None:
    """Each driver is found under its word in the configuration."""
    assert check_driver("auth", kind) is TYPES[kind]


@pytest.mark.slow
def test_is_light() -> None:
    """Importing the module imports no HTTP client."""
    check_light_import("doorward_auth_static")
