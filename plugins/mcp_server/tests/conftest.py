from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(request: Any) -> None:
    """Programs have the helpers that make calls; functions are written in the language of who asks."""
    if "doorward_host" in request.fixturenames:
        request.getfixturevalue("host").install_real("kept_programs", "program_helpers", "text", "doorward-mcp-server")
