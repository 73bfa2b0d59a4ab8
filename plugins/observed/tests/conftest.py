from __future__ import annotations

from typing import Any

import pytest
from doorward_observed import Observed
from doorward_testing.samples import Anything


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("observed", "text", "doorward-store-sqlite")


@pytest.fixture
def source(doorward_host: Any) -> type[Anything]:
    class Source(Anything):
        functions, answers, calls = {}, {}, []

    doorward_host.install("source", "any", Source)
    return Source


def plugin_of(gate: Any) -> Observed:
    """The plugin of this distribution in a gateway."""
    found: Observed = gate.plugins.manager.get_plugin("observed")
    return found
