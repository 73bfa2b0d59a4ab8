"""The executor as every executor is tested: in both of its languages."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_sandbox_deno import DenoExecutor, DenoSettings
from doorward_testing import ExecutorConformance, check_driver, check_light_import

pytestmark = pytest.mark.slow


class TestTypeScript(ExecutorConformance):
    """Programs in TypeScript. CONTRACT: EXE-02"""

    language = "typescript"

    def executor(self, host: Any) -> DenoExecutor:
        return DenoExecutor(host.context(DenoSettings, {"pool": 1}, name="deno"))


class TestJavaScript(TestTypeScript):
    """Programs in JavaScript."""

    language = "javascript"


def test_driver() -> None:
    """It is installed under its name, and its protocol is complete."""
    check_driver("executor", "deno")


def test_light_import() -> None:
    """Importing it imports nothing heavy."""
    check_light_import("doorward_sandbox_deno")
