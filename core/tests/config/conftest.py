"""Fixtures of tests of the configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from doorward.config.config import Loaded, load

Loader = Callable[..., Loaded]


@pytest.fixture
def loaded(tmp_path: Path) -> Loader:
    """Loads a configuration given as text, with the variables given as keywords."""

    def load_text(text: str, **environ: str) -> Loaded:
        (tmp_path / "doorward.toml").write_text(text, encoding="utf-8")
        return load(tmp_path / "doorward.toml", environ=environ)

    return load_text
