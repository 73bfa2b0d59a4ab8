from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .guarded import Guarded, guarded
from .keycloak import Keycloak, keycloak
from .oidc_provider import OidcProvider, oidc_provider


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def started_keycloak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keycloak]:
    with keycloak(tmp_path_factory.mktemp("keycloak")) as server:
        yield server


@pytest.fixture(name="keycloak")
def fresh_keycloak(started_keycloak: Keycloak) -> Keycloak:
    """Keycloak, started once for each process of pytest (some 25 seconds), with its realm as it was made."""
    started_keycloak.reset()
    return started_keycloak


@pytest.fixture
def keycloak_api(keycloak: Keycloak) -> Iterator[Guarded]:
    """An API that wants tokens of Keycloak."""
    with guarded(keycloak.issuer, keycloak.jwks_url) as api:
        yield api


@pytest.fixture(name="oidc_provider")
def started_oidc_provider(tmp_path: Path) -> Iterator[OidcProvider]:
    """oidc-provider, started for one test (half a second)."""
    with oidc_provider(tmp_path) as server:
        yield server


@pytest.fixture
def oidc_provider_api(oidc_provider: OidcProvider) -> Iterator[Guarded]:
    """An API that wants tokens of oidc-provider."""
    with guarded(oidc_provider.issuer, oidc_provider.jwks_url) as api:
        yield api
