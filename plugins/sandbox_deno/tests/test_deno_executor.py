"""The executor as every executor is tested: in both of its languages."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest
from doorward import PluginContext
from doorward_sandbox_deno import DenoExecutor, DenoSettings
from doorward_testing import ExecutorConformance, Host, SharedExecutor, check_driver, check_light_import

pytestmark = pytest.mark.slow


class TestTypeScript(SharedExecutor, ExecutorConformance):
    """Programs in TypeScript. CONTRACT: EXE-02"""

    language = "typescript"

    def started(self, host: Any, request: pytest.FixtureRequest) -> Any:
        return DenoExecutor(host.context(DenoSettings, {"pool": 1}, name="deno"))


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
