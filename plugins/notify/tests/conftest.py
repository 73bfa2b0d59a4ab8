from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real(
        "notify", "approvals", "runs", "plans", "doorward-policy-rules", "doorward-store-sqlite", "text"
    )
