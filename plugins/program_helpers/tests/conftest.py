from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _installed(host: Any) -> None:
    host.install_real("program_helpers", "text")
