"""The static auth types against core's conformance class, as any third party's auth."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_auth_static import ApiKeyAuth, BasicAuth, JwtAuth, StaticAuth
from doorward_testing import AuthConformance, check_driver, check_light_import

TYPES = {
    "static": (StaticAuth, {"value": "${CANARY}"}),
    "bearer": (JwtAuth, {"token": "${CANARY}"}),
    "jwt": (JwtAuth, {"token": "${CANARY}"}),
    "basic": (BasicAuth, {"username": "u", "password": "${CANARY}"}),
    "api_key": (ApiKeyAuth, {"name": "X-Key", "value": "${CANARY}", "in": "header"}),
}


@pytest.mark.parametrize("kind", TYPES, scope="class")
class TestAuthConformance(AuthConformance):
    """CONTRACT: AUT-01, AUT-18. Each type is made without its secret."""

    @pytest.fixture(autouse=True)
    def _kind(self, kind: str) -> None:
        self.kind = kind

    def auth(self, host: Any, environ: dict[str, str]) -> Any:
        driver, settings = TYPES[self.kind]
        return driver(host.context(driver.Settings, settings, environ=environ))

    def test_is_installed(self) -> None:
        """The driver is found under its word in the configuration."""
        assert check_driver("auth", self.kind) is TYPES[self.kind][0]


def test_is_light() -> None:
    """Importing the module imports no HTTP client."""
    check_light_import("doorward_auth_static")
