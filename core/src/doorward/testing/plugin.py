"""The pytest plugin. It imports nothing of Doorward until a fixture is used, or coverage would miss import lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A `doorward.testing.Host` in a folder of its own: nothing is installed in it but what the test installs."""
    import os

    from doorward.testing.host import Host

    for name in [n for n in os.environ if n.startswith("DOORWARD_") and n != "DOORWARD_SPECS"]:
        monkeypatch.delenv(name)
    return Host(tmp_path)
