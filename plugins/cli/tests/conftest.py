"""The command line beside a configuration."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_testing import Cli, CommandEnded
from doorward_testing.samples import CONFIG, InProcess, MemoryCache, Weather

__all__ = ["CONFIG", "Cli", "CommandEnded", "InProcess", "MemoryCache", "Weather"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(request: Any) -> None:
    """Functions are written in the language of who asks."""
    if "doorward_host" in request.fixturenames:
        request.getfixturevalue("doorward_host").install_real("observed", "text")


@pytest.fixture
def project(cli: Cli, doorward_host: Any) -> Cli:
    """The command line beside a configuration with the server `weather`."""
    doorward_host.write(CONFIG)
    return cli
