"""The executor as every executor is tested: in both of its languages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Any, ClassVar

import pytest
from anyio.lowlevel import checkpoint
from doorward import PluginContext
from doorward_sandbox_deno import DenoExecutor, DenoSettings
from doorward_testing import ExecutorConformance, Host, check_driver, check_light_import

pytestmark = pytest.mark.slow


class TestTypeScript(ExecutorConformance):
    """Programs in TypeScript. CONTRACT: EXE-02"""

    language = "typescript"

    shared: ClassVar[Any]

    @pytest.fixture(scope="class")
    @classmethod
    def anyio_backend(cls) -> str:
        return "asyncio"

    @pytest.fixture(scope="class", autouse=True)
    async def _shared(
        self, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
    ) -> AsyncIterator[None]:
        """One executor for all tests, each of which closes it: its start would take most of a test."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOST_CANARY", "x")  # what a test looks for is there when jails are started
            context = Host(tmp_path_factory.mktemp("host")).context(DenoSettings, {"pool": 1}, name="deno")
            request.cls.shared = executor = DenoExecutor(context)
            patch.setattr(executor, "close", checkpoint)
            yield
        await executor.close()

    def executor(self, host: Any) -> Any:
        return self.shared


class TestJavaScript(TestTypeScript):
    """Programs in JavaScript. What the isolation is probed with is the same in both."""

    language = "javascript"
    test_isolation = None  # type: ignore[assignment]


def test_driver() -> None:
    """It is installed under its name, and its protocol is complete."""
    check_driver("executor", "deno")


def test_light_import() -> None:
    """Importing it imports nothing heavy."""
    check_light_import("doorward_sandbox_deno")


def test_the_modules_that_agents_are_told(host: Host) -> None:
    """What is said to be importable is what the runner lets in."""
    runner = (files("doorward_sandbox_deno") / "inside/main.js").read_text(encoding="utf-8")
    names = re.findall(r'"(\w+)"', runner.partition("const PURE = [")[2].partition("]")[0])
    executor = DenoExecutor(PluginContext("deno", DenoSettings(), host.folder))
    assert executor.capabilities().modules == [f"node:{name}" for name in names]
