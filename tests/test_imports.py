"""Who imports whom: no circle in any distribution, types included, and nothing below `doorward` itself imports it."""

from __future__ import annotations

import ast
import graphlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path for pattern in ("core", "libs/*", "plugins/*", "examples/demo") for path in ROOT.glob(f"{pattern}/src/*/"))
CORE = ROOT / "core/src/doorward"


def modules(package: Path) -> dict[str, Path]:
    """The modules of a package by their dotted names."""
    found = {file: file.relative_to(package.parent).with_suffix("").parts for file in package.rglob("*.py")}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): file for file, parts in found.items()}


def imported(file: Path, known: dict[str, Path]) -> set[str]:
    """Which of these modules a file imports, wherever in it, also for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found |= {name.name for name in names}
            case ast.ImportFrom(module=str(module), level=0, names=names):
                found |= {each if (each := f"{module}.{name.name}") in known else module for name in names}
    return found & known.keys()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_no_circle(package: Path) -> None:
    """The modules of a distribution can be put in a row in which each imports only what stands before it."""
    known = modules(package)
    row = graphlib.TopologicalSorter({name: imported(file, known) - {name} for name, file in known.items()})
    try:
        row.prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_no_module_imports_doorward_itself() -> None:
    """`doorward` and `doorward.commands` stand above all rooms: what lies in one imports from the module that has it."""
    known = modules(CORE)
    above = {"doorward", "doorward.commands"}
    assert [name for name, file in known.items() if name not in above and imported(file, known) & above] == []
