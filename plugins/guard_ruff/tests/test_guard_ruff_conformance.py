"""The guard against the conformance class of guards, as any third party's guard."""

from __future__ import annotations

import pytest
from doorward_guard_ruff import RuffGuard
from doorward_testing import GuardConformance

pytestmark = pytest.mark.slow


class TestRuffConformance(GuardConformance):
    plugin = RuffGuard

    def refused(self) -> list[str]:
        return [
            "print(undefned)",
            "return 1",
            "for i in range(3): pass\nbreak",
            "# ruff: noqa\ntotal = nothing  # noqa",
        ]

    def passed(self) -> list[str]:
        return ["1 + 1", "import json\njson.dumps({})", "def f(a=[]):\n    return a is 'x'\nresult = await f()"]
