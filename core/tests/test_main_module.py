"""`python -m doorward` where no command line is installed."""

from __future__ import annotations

import importlib.metadata
import runpy

import pytest


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **wanted: ())
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("doorward", run_name="__main__")
    assert str(ended.value.code) == (
        "error: the command line is not installed\nhint: `pip install doorward-cli` brings it."
    )
