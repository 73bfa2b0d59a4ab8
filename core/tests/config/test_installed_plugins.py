"""The index of what is installed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorward.config import installed_plugins as index

ABOUT = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"


def install(site: Path, name: str) -> None:
    about = site / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(ABOUT.format(name=name))
    (about / "entry_points.txt").write_text(f"[doorward.source]\n{name} = {name}:Plugin\n")
    last = site.stat().st_mtime_ns
    os.utime(site, ns=(last + 1_000_000, last + 1_000_000))  # the clock of a file system may be coarse


def test_what_is_installed_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start asks several times; what was installed or removed meanwhile is seen at once."""
    monkeypatch.syspath_prepend(str(tmp_path))
    asked: list[int] = []
    distributions = index.distributions

    def counted() -> Iterator[Any]:
        asked.append(1)
        return iter(distributions())

    monkeypatch.setattr(index, "distributions", counted)
    install(tmp_path, "one")
    for _ in range(5):
        assert "one" in {entry.name for entry in index.installed()}
    assert len(asked) == 1
    install(tmp_path, "two")
    assert {"one", "two"} <= {entry.name for entry in index.installed()}
    assert len(asked) == 2
    index.installed().clear()
    assert index.installed()
