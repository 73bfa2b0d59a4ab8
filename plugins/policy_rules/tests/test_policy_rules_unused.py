"""Which policy a configuration gets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_without_rules_nothing_of_them_is_imported(tmp_path: Path) -> None:
    """A gateway whose configuration has lists alone starts without what rules, and conditions, need."""
    (tmp_path / "doorward.toml").write_text('state = "state"\ncache = "none"\nplugins = []\n[policy]\ndeny = ["x.y"]\n')
    code = (
        "import anyio, sys\nfrom doorward import Gateway\nfrom doorward.config.config import load\n"
        "async def main():\n    async with Gateway.open(load('doorward.toml')):\n        pass\n"
        "anyio.run(main)\nprint(*sorted(name for name in sys.modules if name.startswith('doorward_policy_rules')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr
