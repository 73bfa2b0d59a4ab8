"""Who imports whom, types included. `make lint` checks the same of core's rooms with `lint-imports`."""

from __future__ import annotations

import ast
import functools
import graphlib
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(
    path for pattern in ("core", "libs/*", "plugins/*", "examples/demo") for path in ROOT.glob(f"{pattern}/src/*/")
)
CORE = ROOT / "core/src/doorward"


def toml(file: Path) -> Any:
    return tomllib.loads(file.read_text(encoding="utf-8"))


LINTED = toml(ROOT / "pyproject.toml")["tool"]["importlinter"]


def modules(package: Path) -> dict[str, Path]:
    """The modules of a package by their dotted names."""
    found = {file: file.relative_to(package.parent).with_suffix("").parts for file in package.rglob("*.py")}
    return {".".join(parts[:-1] if parts[-1] == "__init__" else parts): file for file, parts in found.items()}


@functools.cache
def named(file: Path) -> set[str]:
    """What a file imports, wherever in it, also for types alone: modules, and what it takes of them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found |= {name.name for name in names}
            case ast.ImportFrom(module=str(module), level=0, names=names):
                found |= {f"{module}.{name.name}" for name in names}
            case ast.ImportFrom():
                pytest.fail(f"{file}: a relative import")
    return found


def imported(file: Path, known: dict[str, Path]) -> set[str]:
    """Which of these modules a file imports."""
    return {each if each in known else each.rpartition(".")[0] for each in named(file)} & known.keys()


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_no_circle(package: Path) -> None:
    """The modules of a distribution can be put in a row in which each imports only what stands before it."""
    known = modules(package)
    row = graphlib.TopologicalSorter({name: imported(file, known) - {name} for name, file in known.items()})
    try:
        row.prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.slow
def test_no_module_imports_doorward_itself() -> None:
    """`doorward` and `doorward.administration` stand above all rooms: what lies in one imports from the module that has
    it."""
    known = modules(CORE)
    above = {"doorward", "doorward.administration"}
    assert [name for name, file in known.items() if name not in above and imported(file, known) & above] == []


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_what_is_imported_of_ours_is_declared(package: Path) -> None:
    """A distribution depends on every other one of ours that it imports."""
    about = toml(package.parent.parent / "pyproject.toml")["project"]
    extras = [text for extra in about.get("optional-dependencies", {}).values() for text in extra]
    declared = {Requirement(text).name.replace("-", "_") for text in (*about["dependencies"], *extras)}
    ours = {each.partition(".")[0] for file in modules(package).values() for each in named(file)} & {
        p.name for p in PACKAGES
    }
    assert ours - {package.name} <= declared


def test_the_linter_knows_every_package() -> None:
    """Each distribution's package is analysed, and has its layer."""
    packages = [package.name for package in PACKAGES]
    assert LINTED["root_packages"] == sorted(packages)
    rows = [contract["layers"] for contract in LINTED["contracts"] if "doorward" in contract.get("layers", ())]
    assert [sorted(name.strip() for layer in layers for name in layer.split("|")) for layers in rows] == [
        sorted(packages)
    ]


def test_the_linter_ignores_nothing() -> None:
    """`make lint` runs it, with no import left out: neither those for types nor any that is listed."""
    assert (
        "lint-imports" in (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nlint:")[2].partition("\n\n")[0]
    )
    assert not LINTED.get("exclude_type_checking_imports")
    assert [contract["name"] for contract in LINTED["contracts"] if "ignore_imports" in contract] == []
