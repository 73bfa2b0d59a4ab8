"""Where the executor is tried, and how a test runs a program in it."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from doorward import Limits, Program, ProgramResult
from doorward_sandbox_deno import DenoExecutor, DenoSettings
from doorward_testing import Door

collect_ignore_glob = [] if sys.platform == "linux" else ["test_deno_*"]

Run = Callable[..., Awaitable[ProgramResult]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["auto", "off"])
def cgroup(request: pytest.FixtureRequest) -> str:
    """With control groups, where there are any, and without."""
    return str(request.param)


@pytest.fixture
async def executor(host: Any, request: pytest.FixtureRequest) -> AsyncIterator[DenoExecutor]:
    settings = {"pool": 1}
    if "cgroup" in request.fixturenames:
        settings["cgroup"] = request.getfixturevalue("cgroup")
    made = DenoExecutor(host.context(DenoSettings, settings, name="deno"))
    yield made
    await made.close()


@pytest.fixture
def run(executor: DenoExecutor) -> Run:
    """Runs a program in a sandbox of its own."""

    async def run(code: str, *, door: Door | None = None, language: str = "typescript", **more: Any) -> ProgramResult:
        limits = Limits(**{"memory_bytes": 128 * 2**20, "processes": 32, **more.pop("limits", {})})
        program = Program(code, limits=limits, deadline=time.monotonic() + 30, language=language, **more)
        door = door or Door()
        door.language = language
        sandbox = await executor.open(program)
        try:
            return await sandbox.run(program, door)
        finally:
            await sandbox.close()

    return run
