"""The engine of `engine.py`."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def docker_engine() -> Any:
    if "docker_engine" not in sys.modules:
        spec = spec_from_file_location("docker_engine", Path(__file__).with_name("engine.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules["docker_engine"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["docker_engine"]


@pytest.fixture(scope="session")
def engine(docker_engine: Any) -> Any:
    return docker_engine.shared()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
