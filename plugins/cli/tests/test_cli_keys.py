"""Keys that commands write into a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from doorward import ConfigError
from doorward_cli import Project, put_keys

VALUES = {"executor": ["a", "b"], "executors": {"b": {"packages": ["x"]}}, "limits": {"timeout": 60}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'executor = ["a", "b"]\n'),
        ("# mine\n\n[servers]\n", "# mine\n"),
        ('executor = "monty"  # why\n[limits]\ncalls = 5 # few\n', "calls = 5 # few\n"),
        ("executors.b.pool = 1\n", "executors.b.pool = 1\n"),
        ("\ufeff[executors.b]\npackages = []\n", "\ufeff"),
    ],
)
def test_the_rest_stays(tmp_path: Path, before: str, after: str) -> None:
    """Keys are put where they belong, and what else the file has is there as it was."""
    project = Project(tmp_path / "doorward.toml", None, False)
    project.config.write_text(before)
    put_keys(project, VALUES)
    text = project.config.read_text()
    assert after in text
    loaded = project.load().config
    assert (loaded.executor, loaded.executors["b"]["packages"], loaded.limits.timeout) == (["a", "b"], ["x"], 60)
    put_keys(project, VALUES)
    assert project.config.read_text() == text


@pytest.mark.parametrize("before", ["executors = 1\n", "[limits\n", "[limits]\ncalls = -1\n"])
def test_what_cannot_be_written_leaves_the_file(tmp_path: Path, before: str) -> None:
    """A file that Doorward would not start with stays as it was."""
    project = Project(tmp_path / "doorward.toml", None, False)
    project.config.write_text(before)
    with pytest.raises(ConfigError):
        put_keys(project, VALUES)
    assert project.config.read_text() == before
