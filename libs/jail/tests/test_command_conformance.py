"""`sandbox` against the conformance class of commands, as any third party's command."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_jail.command import sandbox
from doorward_testing import CommandConformance


@pytest.mark.slow
class TestSandbox(CommandConformance):
    command, name = sandbox, "sandbox"

    def works(self, host: Any) -> list[list[str]]:
        return [["list"], ["list", "--json"]]

    def fails(self, host: Any) -> list[list[str]]:
        return [["probe", "none"], ["build", "none"], ["add", "none", "pandas"], ["add"], ["list", "none", "pandas"]]
