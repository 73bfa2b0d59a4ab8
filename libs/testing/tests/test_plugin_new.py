"""`doorward plugin new` writes a package under names that are free, and overwrites nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from doorward.configuration import GROUPS
from doorward.plugins.checks import driver_faults
from doorward_testing import Cli, Host
from doorward_testing.authoring.command import plugin
from doorward_testing.authoring.kinds import kinds

KINDS = sorted(kinds())


@pytest.fixture
def new(cli: Cli, doorward_host: Host) -> Any:
    """`doorward plugin new …` in the host's folder."""
    doorward_host.install("command", "plugin", plugin)
    return lambda *words: cli("plugin", "new", *words)


def test_there_is_a_kind_for_every_group() -> None:
    """Whatever a plugin may be, there is a template of it, which says what it is about. What a plugin owns in the
    configuration is no plugin, and an engine of catalogs comes with a store."""
    none = {"doorward.table", "doorward.server_key", "doorward.catalog", "doorward.configuration"}
    assert {kind.group for kind in kinds().values()} == set(GROUPS.values()) - none
    assert all(kind.about for kind in kinds().values())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written(new: Any, doorward_host: Host, kind: str) -> None:
    """A package with all that a package has, its entry point where core looks, and no word of a template left."""
    about = new(kind, "office-hours", "--prefix", "acme", "--license", "MIT", "--json").json
    folder = doorward_host.folder / about["folder"]
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    package = f"src/{about['package']}"
    usual = {
        "README.md",
        ".gitignore",
        "doorward.toml",
        "pyproject.toml",
        f"{package}/__init__.py",
        f"{package}/py.typed",
    }
    assert files == set(about["files"])
    assert files >= usual | {"tests/test_office_hours.py"}
    texts = "".join((folder / file).read_text(encoding="utf-8") for file in files)
    assert re.findall(r"@\w+@", texts) == []
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (project["name"], project["license"]) == (about["distribution"], "MIT")
    assert "acme" in project["name"] or kind == "distribution"
    ((group, points),) = project["entry-points"].items()
    assert group == kinds()[kind].group
    point = EntryPoint("office_hours", points["office_hours"], group)
    assert point.module == about["package"]
    assert any(requirement.startswith("doorward>=") for requirement in project["dependencies"])
    tomllib.loads((folder / "doorward.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_is_tried_with_comes_along(new: Any, doorward_host: Host, kind: str) -> None:
    """`pip install '.[test]'` brings what `doorward.toml` names: the executor, and the source of its server."""
    assert new(kind, "mine", "--folder", "made").code == 0
    project, config = (
        tomllib.loads((doorward_host.folder / "made" / file).read_text(encoding="utf-8"))
        for file in ("pyproject.toml", "doorward.toml")
    )
    required = str(project["project"]["dependencies"] + project["project"]["optional-dependencies"]["test"])
    assert ("doorward-sandbox-monty" in required) >= (config.get("executor") == "monty")
    sources = {server["source"] for server in config.get("servers", {}).values()} - {"mine"}
    assert [source for source in sources if f"doorward-{source}" not in required] == []


def tool(name: str) -> list[str]:
    if not find_spec(name):
        pytest.skip(f"there is no {name} here")
    return [sys.executable, "-m", name]


def ran(folder: Path, *words: str) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kind", ["auth", "cache", "executor", "source", "store"])
def test_a_driver_has_the_methods_of_its_kind(
    new: Any, doorward_host: Host, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """With their arguments: a template that is behind its protocol would be refused when it is first used."""
    about = new(kind, f"fits-{kind}", "--json").json
    folder = doorward_host.folder / about["folder"]
    monkeypatch.syspath_prepend(folder / "src")
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ((group, points),) = project["entry-points"].items()
    ((name, point),) = points.items()
    assert driver_faults(kind, EntryPoint(name, point, group).load()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ab", "office_hours", "a" * 24])
def test_it_is_well_formatted(new: Any, doorward_host: Host, name: str) -> None:
    """ruff has nothing to say of any kind, by the rules that each package brings, whatever the length of its name."""
    for kind in KINDS:
        assert new(kind, name, "--folder", kind).code == 0
    for words in (["check"], ["format", "--diff"]):
        ran(doorward_host.folder, *tool("ruff"), *words, *KINDS)


@pytest.mark.slow
def test_it_is_typed(new: Any, doorward_host: Host) -> None:
    """mypy has nothing to say of any kind, strict as each package asks for it: of the code, and of the tests."""
    asked = set()
    for kind in KINDS:
        assert new(kind, f"my_{kind}", "--folder", kind).code == 0
        project = tomllib.loads((doorward_host.folder / kind / "pyproject.toml").read_text(encoding="utf-8"))
        asked.add(json.dumps(project["tool"]["mypy"]))
    assert len(asked) == 1  # so that one run does for all
    config = f"{KINDS[0]}/pyproject.toml"
    ran(
        doorward_host.folder,
        *tool("mypy"),
        f"--cache-dir={os.devnull}",  # to write it takes as long as to check a tenth of what there is
        "--config-file",
        config,
        *(f"{kind}/{of}" for kind in KINDS for of in ("src", "tests")),
    )


NAMES = {
    "Office Hours": "'Office Hours' is no name for a plugin\nhint: .*: office_hours",
    "1st": "'1st' is no name .*: st",
    "_x": "is no name .*: x",
    "x__y": "is no name .*: x_y",
    "näme": "is no name",
    "": "'' is no name for a plugin",
    "a" * 25: "24 characters at most",
    "../x": "is no name .*: x",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none(new: Any, doorward_host: Host, name: str) -> None:
    """What cannot stand in a configuration, and name a class, is refused; the message says which name could."""
    ended = new("source", "--", name)
    assert ended.code == 2
    assert re.search(NAMES[name], ended.err, re.DOTALL), ended.err
    assert [file.name for file in doorward_host.folder.iterdir()] == []


TAKEN = {
    ("source", "json", "--package", "json"): "there is a package 'json' on this machine",
    ("source", "notes", "--package", "pytest"): "there is a package 'pytest' on this machine",
    ("source", "notes", "--package", "class"): "'class' is no name for a package",
    ("source", "notes", "--package", "a-b"): "'a-b' is no name for a package",
    ("source", "notes", "--package", "a.b"): "'a.b' is no name for a package",
    ("source", "notes", "--distribution", "a b"): "'a b' is no name for a distribution",
    ("source", "notes", "--distribution", "../x"): "'../x' is no name for a distribution",
    ("source", "notes", "--distribution", "Doorward.Testing"): "doorward-testing .* is installed|there is a package",
    ("source", "notes", "--prefix", "A-1"): "'A-1' is no prefix",
    ("cache", "none"): "'none' is a name of Doorward's own for a cache",
    ("secrets", "file"): "'file' is a name of Doorward's own for a secrets",
    ("command", "list"): "'list' is a name of Doorward's own for a command",
    ("command", "serve"): "'serve' is a name of Doorward's own for a command",
}


@pytest.mark.parametrize("words", TAKEN, ids=" ".join)
def test_names_that_are_taken(new: Any, doorward_host: Host, words: tuple[str, ...]) -> None:
    """By Python, by what is installed, or by Doorward: nothing is written."""
    ended = new(*words)
    assert ended.code == 2
    assert re.search(TAKEN[words], ended.err), ended.err
    assert [file.name for file in doorward_host.folder.iterdir()] == []


def test_a_plugin_that_is_installed(new: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of one kind and name could not be used together; of different kinds they can."""
    from doorward.configuration import Entry

    found = [Entry("source", "notes", EntryPoint("notes", "x:X", "doorward.source"), "acme-notes", "1.0")]
    monkeypatch.setattr("doorward_testing.authoring.package.installed", lambda: found)
    ended = new("source", "notes")
    assert (ended.code, "given by acme-notes 1.0, which is installed" in ended.err) == (2, True), ended.err
    assert new("auth", "notes").code == 0


@pytest.mark.parametrize("what", ["a folder", "an empty folder", "a file", "a link that leads nowhere"])
def test_nothing_is_overwritten(new: Any, doorward_host: Host, what: str) -> None:
    """Whatever is in the place of the folder stays as it is."""
    place = doorward_host.folder / "mine"
    match what:
        case "a folder":
            place.mkdir()
            (place / "pyproject.toml").write_text("mine")
        case "an empty folder":
            place.mkdir()
        case "a file":
            place.write_text("mine")
        case _:
            place.symlink_to(doorward_host.folder / "nowhere")
    before = sorted((file, file.is_symlink() or file.is_dir() or file.read_text()) for file in place.parent.rglob("*"))
    ended = new("source", "notes", "--folder", "mine")
    assert (ended.code, "mine is there already" in ended.err) == (2, True), ended.err
    after = sorted((file, file.is_symlink() or file.is_dir() or file.read_text()) for file in place.parent.rglob("*"))
    assert after == before


def test_a_folder_that_cannot_be_made(new: Any) -> None:
    """The error names it."""
    ended = new("source", "notes", "--folder", "no/such/folder")
    assert (ended.code, "no/such/folder cannot be made" in ended.err) == (2, True), ended.err


def test_an_unknown_kind(new: Any) -> None:
    """The message names those that there are."""
    ended = new("sorce", "notes")
    assert ended.code == 2
    assert all(kind in ended.err for kind in KINDS), ended.err
    listed = new("--help").out
    assert all(re.search(rf"^ +{kind} ", listed, re.MULTILINE) for kind in KINDS), listed


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said(new: Any, kind: str) -> None:
    """What was written, with its own names; help has none of a template either."""
    said, listed = new(kind, "mine").out, new("--help").out
    assert re.findall(r"@\w+@", said + listed) == []
    assert "${NAME:machine}" in listed
    assert kind != "secrets" or "${mine:machine}" in said


def test_quiet_says_no_more_than_the_files(new: Any) -> None:
    """For a script that goes on by itself."""
    said = new("source", "notes", "--quiet").out
    assert "pyproject.toml" in said
    assert "Next:" not in said


def test_without_the_distribution(cli: Cli) -> None:
    """Who has core alone is told what to install."""
    ended = cli("plugin", "new", "source", "notes")
    assert (ended.code, "pip install doorward-testing" in ended.err) == (2, True), ended.err


def test_the_answer_in_json(new: Any) -> None:
    """Names and files, for a program that goes on with them."""
    ended = new("source", "notes", "--json")
    assert json.loads(ended.out)["package"] == "my_doorward_notes"
    assert json.loads(new("search-engine", "words", "--json").out)["kind"] == "search_engine"


def test_an_auth_says_where_it_goes(new: Any, doorward_host: Host) -> None:
    """Credentials go to the `base_url` of the configuration alone, so the one that is written has it."""
    folder = doorward_host.folder / new("auth", "signed", "--json").json["folder"]
    config = tomllib.loads((folder / "doorward.toml").read_text(encoding="utf-8"))
    assert config["servers"]["api"]["base_url"].startswith("http://127.0.0.1")
