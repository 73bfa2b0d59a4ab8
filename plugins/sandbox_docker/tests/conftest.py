"""The engine of `engine.py`, and what runs programs in it."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from doorward import Program
from doorward_sandbox_docker import DockerExecutor, DockerSettings
from doorward_testing import Door


@pytest.fixture(scope="session")
def engine(docker_engine: Any) -> Any:
    return docker_engine.shared()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def program(code: str, **more: Any) -> Program:
    return Program(code, deadline=time.monotonic() + 30, **more)


@pytest.fixture
def busybox(docker_engine: Any) -> str:
    """Where it is; the plain image then has it as /bin/sh and /bin/cat."""
    return shutil.which("busybox") or docker_engine.absent("busybox")


@pytest.fixture
def executing(host: Any) -> Any:
    """An executor of these settings, as what runs a program in it: how it ended, and what it printed."""

    @contextlib.asynccontextmanager
    async def executing(settings: dict[str, Any]) -> AsyncIterator[Any]:
        executor = DockerExecutor(host.context(DockerSettings, settings))

        async def run(code: str, **more: Any) -> tuple[Any, str]:
            door, asked = Door(), program(code, **more)
            sandbox = await executor.open(asked)
            try:
                return await sandbox.run(asked, door), door.printed
            finally:
                await sandbox.close()

        run.executor = executor  # type: ignore[attr-defined]
        try:
            yield run
        finally:
            await executor.close()

    return executing


@pytest.fixture
async def run(engine: Any, executing: Any) -> AsyncIterator[Any]:
    async with executing(engine.settings(pool=0)) as run:
        yield run
    assert engine.empty()
