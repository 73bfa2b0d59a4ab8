"""Modules by subject load each name when it is first used."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import doorward
import pytest
from doorward.exports import Exports

SUBJECTS = [
    importlib.import_module(f"doorward.{file.stem}")
    for file in sorted(Path(doorward.__file__).parent.glob("[a-z]*.py"))
    if "_EXPORTS =" in file.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", [doorward, *SUBJECTS], ids=lambda module: str(module.__name__))
def test_each_name_is_there(module: object) -> None:
    assert SUBJECTS
    for name in module.__all__:  # type: ignore[attr-defined]
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_nothing_is_exported_twice() -> None:
    """What a plugin imports has one name, in one place."""
    tables = [module._EXPORTS.places for module in (doorward, *SUBJECTS) if hasattr(module, "_EXPORTS")]
    found = Counter(place for table in tables for place in table.values())
    assert [place for place, times in found.items() if times > 1] == []


def test_a_name_may_be_called_otherwise_where_it_lies() -> None:
    exports = Exports("doorward.values", {"data.json_writing": "dump_json=dump exceeds"})
    assert exports.places == {
        "dump_json": ("doorward.data.json_writing", "dump"),
        "exceeds": ("doorward.data.json_writing", "exceeds"),
    }


def test_no_name_is_that_of_a_module_beside_it() -> None:
    """The module would be found in its place, once somebody has imported it."""
    folder = Path(doorward.__file__).parent
    assert not {name for name in doorward.__all__ if (folder / name).exists() or (folder / f"{name}.py").exists()}


@pytest.mark.slow
def test_what_nobody_uses_is_not_loaded() -> None:
    code = "import sys, doorward.engines, doorward.texts; print(*sorted(n for n in sys.modules if 'doorward' in n))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["doorward", "doorward.engines", "doorward.exports", "doorward.texts"]
