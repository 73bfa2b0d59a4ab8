"""What a plugin author's own pytest knows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_marks_of_the_kit_are_known(tmp_path: Path) -> None:
    """Tests of executors carry `timeout`; an author who allows only known marks need not install pytest-timeout."""
    text = "from doorward_testing import FullPythonConformance as Mine\n\nclass TestMine(Mine):\n    pass\n"
    (tmp_path / "test_mine.py").write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    words = ["-q", "--strict-markers", "--collect-only", "-p", "no:timeout", "-p", "no:cacheprovider"]
    done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
