from __future__ import annotations

from collections.abc import Iterator

import pytest

from .guarded import Guarded, guarded
from .keycloak import AUDIENCE, Keycloak, keycloak


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
    with guarded(keycloak.issuer, keycloak.jwks_url, AUDIENCE) as api:
        yield api
