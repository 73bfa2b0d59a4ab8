"""Where the executor is tried, and how a test runs a program in it."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from doorward import Limits, Program, ProgramResult
from doorward_sandbox_deno import DenoExecutor, DenoSettings
from doorward_testing import Door, Host

collect_ignore_glob = [] if sys.platform == "linux" else ["test_deno_*"]

Run = Callable[..., Awaitable[ProgramResult]]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["auto", "off"])
def cgroup(request: pytest.FixtureRequest) -> str:
    """With control groups, where there are any, and without."""
    return str(request.param)


@pytest.fixture(scope="module")
async def executors(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Callable[[str], DenoExecutor]]:
    """The executors of a file's tests, one for each way to have control groups: to start one would take most of a test."""
    made: dict[str, DenoExecutor] = {}

    def executor(cgroup: str) -> DenoExecutor:
        if cgroup not in made:
            context = Host(tmp_path_factory.mktemp("host")).context(
                DenoSettings, {"pool": 1, "cgroup": cgroup}, name="deno"
            )
            made[cgroup] = DenoExecutor(context)
        return made[cgroup]

    yield executor
    for each in made.values():
        await each.close()


@pytest.fixture
def executor(executors: Callable[[str], DenoExecutor], request: pytest.FixtureRequest) -> DenoExecutor:
    return executors(request.getfixturevalue("cgroup") if "cgroup" in request.fixturenames else "auto")


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
