"""What tests of several folders use. (Not in `tests/`: `core/tests` is a package of that name.)"""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def docker_engine() -> Any:
    """The module `plugins/sandbox_docker/tests/engine.py`: real container engines."""
    if "docker_engine" not in sys.modules:
        file = Path(__file__).resolve().parent / "plugins/sandbox_docker/tests/engine.py"
        spec = spec_from_file_location("docker_engine", file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["docker_engine"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["docker_engine"]
