"""Checks for any plugin."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

HEAVY_MODULES = (
    "mcp",
    "httpx2",
    "docker",
    "rich",
    "pandas",
    "numpy",
    "pydantic_monty",
    "starlette",
    "uvicorn",
    "jsonschema_rs",
)
"""Modules that no plugin may import at its top: to read the configuration or list plugins must not cost as much."""


def check_light_import(module: str, *, forbidden: tuple[str, ...] = HEAVY_MODULES) -> None:
    """Assert that a module imports no heavy one, in a fresh interpreter."""
    code = f"import sys, {module}; print(*(m for m in {forbidden!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, f"{module} cannot be imported: {done.stderr.strip().rpartition(chr(10))[2]}"
    heavy = ", ".join(done.stdout.split())
    assert not heavy, f"importing {module} imports {heavy}: import it where it is used, in a function"


def check_driver(kind: str, name: str) -> Any:
    """Assert that one driver of this name is installed, loads, and has all that its protocol asks for. Returns: the
    driver."""
    from doorward.administration import Plugins
    from doorward.configuration import Index, installed

    return Plugins(Index(installed())).driver(kind, name)
