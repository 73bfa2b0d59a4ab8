"""The guard against the conformance class of guards, as any third party's guard."""

from __future__ import annotations

import pytest
from doorward_guard_secrets import SecretsGuard
from doorward_testing import GuardConformance, call_of

TOKEN = "ghp_" + "1234567890abcdefABCD1234567890abcdef"


@pytest.mark.slow
class TestSecretsConformance(GuardConformance):
    plugin = SecretsGuard

    def refused(self) -> list[object]:
        return [f"key = '{TOKEN}'", call_of("notes.add", text=f"see {TOKEN}")]

    def passed(self) -> list[object]:
        return ["1 + 1", "import json\njson.dumps({'token': page.next})", call_of("notes.add", text="ghp_ is a prefix")]
