"""The guard against the conformance class of guards, as any third party's guard."""

from __future__ import annotations

from doorward_guard_ast import AstGuard
from doorward_testing import GuardConformance


class TestAstConformance(GuardConformance):
    plugin = AstGuard

    def refused(self) -> list[str]:
        return ["import requests", "import os\nos.system('ls')", "x = = 1", "eval('1')"]

    def passed(self) -> list[str]:
        return ["1 + 1", "import json\njson.dumps({})", "def main():\n    return 1\nresult = main()"]
