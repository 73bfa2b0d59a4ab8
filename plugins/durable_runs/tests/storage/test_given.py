"""What a run was given."""

from __future__ import annotations

import pytest
from doorward_durable_runs import Given


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import github\nfrom doorward import items\n\ntry:\n    rows = github.list()", "rows = github.list()"),
        ('"""Close stale issues."""\nimport github', "Close stale issues."),
        ("import github\n# Close stale issues\nx = 1", "Close stale issues"),
        ("import * as github from 'github'\n// Close them\n", "Close them"),
        ("import github", "import github"),
        ("", ""),
        ("x" * 300, "x" * 200),
    ],
)
def test_the_line_that_tells(code: str, line: str) -> None:
    """What a program is about stands in its first line that is no import."""
    assert Given("run", "alice", code).about == line
    assert Given("run", "alice", code, description="what it does").about == "what it does"
