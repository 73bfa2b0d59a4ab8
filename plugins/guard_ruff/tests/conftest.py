"""A guard at work."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from doorward import Finding, PluginContext, Program
from doorward_guard_ruff import RuffGuard

Opened = Callable[..., AbstractAsyncContextManager[RuffGuard]]


@contextlib.asynccontextmanager
async def opened(**options: Any) -> AsyncIterator[RuffGuard]:
    """A guard with these settings."""
    guard = RuffGuard(PluginContext("ruff", RuffGuard.Settings.model_validate(options), Path("unused")))
    await guard.open()
    try:
        yield guard
    finally:
        await guard.close()


@pytest.fixture
def guarded() -> Opened:
    return opened


@pytest.fixture
def check() -> Callable[..., Any]:
    """What a guard with these settings finds in one program."""

    async def found(code: str | Program, **options: Any) -> list[Finding]:
        async with opened(**options) as guard:
            return [*await guard.guard_program(code if isinstance(code, Program) else Program(code))]

    return found
