"""The plugin against the conformance classes of deciders and of guards, as any third party's plugin that decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward_policy_cedar import CedarPolicies
from doorward_testing import DeciderConformance, GuardConformance, call_of

TEXT = 'permit(principal, action, resource); @reason("no") forbid(principal, action, resource == Function::"a.b");'


class Cedar:
    """What both are told of it."""

    plugin = CedarPolicies

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "policies.cedar"
        self.file.write_text(TEXT)

    def settings(self, host: Any) -> dict[str, Any]:
        return {"policies": str(self.file)}

    def refused(self) -> list[Any]:
        return [call_of("a.b"), call_of("a.c", n=2**70), call_of("a.c", n=[None]), call_of("a.c", n={"__entity": 1})]

    def passed(self) -> list[Any]:
        return [call_of("a.c"), call_of("a.c", n=[1, {"x": None}], y=1.5, z="b")]


class TestDeciderConformance(Cedar, DeciderConformance):
    """It decides calls."""


class TestGuardConformance(Cedar, GuardConformance):
    """What it denies is refused like what a guard refuses."""
