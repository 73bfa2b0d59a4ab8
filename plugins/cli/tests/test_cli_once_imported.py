"""What is done once a module is imported."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from doorward_cli.once_imported import once_imported


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What happened; a module `awaited` can be imported, and adds its own."""
    (tmp_path / "awaited.py").write_text("import sys\nsys.told.append('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found: list[str] = []
    monkeypatch.setattr(sys, "told", found, raising=False)
    finders = [*sys.meta_path]
    yield found
    sys.meta_path[:] = finders
    sys.modules.pop("awaited", None)


def test_it_is_done_when_somebody_imports_it(told: list[str]) -> None:
    """Once, after the import, which goes on within the block; the earlier of two calls is forgotten."""

    @contextlib.contextmanager
    def within() -> Iterator[None]:
        told.append("begun")
        yield
        told.append("over")

    finders = [*sys.meta_path]
    once_imported("awaited", lambda: told.append("never"), within)
    once_imported("awaited", lambda: told.append("then"), within)
    assert importlib.util.find_spec("awaited")  # whoever only looks imports nothing
    assert told == []
    importlib.import_module("awaited")
    assert told == ["begun", "imported", "over", "then"]
    assert sys.meta_path == finders
    once_imported("awaited", lambda: told.append("now"), within)
    assert told[4:] == ["now"]


def test_what_is_not_there_is_not_found(told: list[str]) -> None:
    """Whoever imports a module that is not installed is told so, as ever."""
    once_imported("awaited_in_vain", lambda: told.append("then"), contextlib.nullcontext)
    with pytest.raises(ModuleNotFoundError, match="awaited_in_vain"):
        importlib.import_module("awaited_in_vain")
    assert told == []
