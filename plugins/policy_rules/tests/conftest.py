"""Rules as a configuration, and an organisation's distribution, have them."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_testing import Cli
from doorward_testing.samples import CONFIG


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("doorward-policy-rules")


@pytest.fixture
def project(cli: Cli, doorward_host: Any) -> Cli:
    """The command line beside a configuration with the server `weather`."""
    doorward_host.write(CONFIG)
    return cli
