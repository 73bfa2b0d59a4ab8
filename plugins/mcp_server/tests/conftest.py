from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _helpers(host: Any) -> None:
    """Programs have the helpers that make calls."""
    host.install_real("program_helpers")
