from __future__ import annotations

from typing import Any

import pytest
from doorward_skills import Skills


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("skills", "text")


def plugin_of(gate: Any) -> Skills:
    """The plugin of this distribution in a gateway."""
    found: Skills = gate.plugins.manager.get_plugin("skills")
    return found
