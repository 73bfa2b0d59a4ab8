"""Checks that any plugin can be put to."""

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
"""What no plugin may import at its top: configuration is read, and plugins are listed, without paying for it."""


def check_light_import(module: str, *, forbidden: tuple[str, ...] = HEAVY_MODULES) -> None:
    """Assert that importing a module imports nothing heavy, in a fresh interpreter."""
    code = f"import sys, {module}; print(*(m for m in {forbidden!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert not done.stdout.split(), f"importing {module} imports {done.stdout.strip()}"


def check_driver(kind: str, name: str) -> Any:
    """Assert that a driver is installed once under its name, loads, and has all that its protocol asks for; returns
    it."""
    from doorward import Index, Plugins, installed

    return Plugins(Index(installed())).driver(kind, name)
