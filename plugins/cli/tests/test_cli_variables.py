"""The `.env` beside the configuration holds secrets: it is written where nothing is but a file of ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from doorward import ConfigError
from doorward_cli import write_env

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")


def link(file: Path) -> None:
    (file.parent / "other").write_text("theirs")
    file.symlink_to(file.parent / "other")


def link_to_nothing(file: Path) -> None:
    file.symlink_to(file.parent / "nothing")


def hard_link(file: Path) -> None:
    (file.parent / "other").write_text("theirs")
    file.hardlink_to(file.parent / "other")


@pytest.mark.parametrize("made", [link, link_to_nothing, hard_link, os.mkfifo, Path.mkdir])
def test_no_secret_is_written_elsewhere(tmp_path: Path, made: Callable[[Path], None]) -> None:
    """Neither through a link nor into what is no file; what is there stays as it is."""
    file = tmp_path / ".env"
    made(file)
    before = [(each.name, each.lstat()) for each in sorted(tmp_path.iterdir())]
    with pytest.raises(ConfigError, match=r"is a link|not a regular file|a hard link"):
        write_env(file, {"TOKEN": "secret"})
    assert [(each.name, each.lstat()) for each in sorted(tmp_path.iterdir())] == before
