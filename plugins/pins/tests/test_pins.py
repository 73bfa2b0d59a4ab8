"""Functions are served as a person last reviewed them, by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from doorward_pins import Pins, PinsSettings
from doorward_testing import HookConformance, check_light_import

from .conftest import ADD, IMPORTANT, NOTE, NOTES, Project, takes

Made = Callable[..., Project]
pytestmark = pytest.mark.slow


def kinds(project: Project, *words: str) -> dict[str, set[str]]:
    found = project("pins", "--json", *words).json["differences"]
    return {each["function"]: {change["kind"] for change in each["changes"]} for each in found}


def test_definitions_are_held_too(project: Made) -> None:
    """Of each function that refers to them; those that were accepted alone have their own."""
    crm = project()
    crm.upstream(
        NOTES, ADD, Note={"type": "object", "properties": {"text": {"type": "string", "description": IMPORTANT}}}
    )
    assert kinds(crm) == {each: {"instructions", "text"} for each in ("crm.add_note", "crm.get_notes")}
    assert "IMPORTANT" not in str(crm.served())
    assert crm("pins", "crm.add_note", "--accept").code == 0
    served = crm.served()
    assert "IMPORTANT" in str(served["add_note"])
    assert "IMPORTANT" not in str(served["get_notes"])
    assert kinds(crm) == {"crm.get_notes": {"instructions", "text"}}


@pytest.mark.parametrize(("allow", "seen"), [("[]", set()), ('["added"]', {"more"})])
def test_a_function_that_is_new(project: Made, allow: str, seen: set[str]) -> None:
    """Agents do not see it before somebody has reviewed it; with a rule they do, unless it addresses a model."""
    crm = project(f"allow = {allow}")
    crm.upstream(NOTES, ADD, replace(NOTES, name="more"), replace(NOTES, name="bad", description=IMPORTANT))
    assert {*crm.served()} == {"get_notes", "add_note", *seen}


def test_a_function_that_comes_back(project: Made) -> None:
    """As what it was reviewed: to go away for a while gets nothing past a review."""
    crm = project('allow = ["removed", "added", "text"]')
    crm.upstream(ADD)
    assert [*crm.served()] == ["add_note"]
    crm.changes(description=IMPORTANT)
    assert crm.served()["get_notes"].description == NOTES.description
    crm.upstream(ADD)
    assert crm("pins", "--accept", "crm.get_notes").code == 0
    assert "get_notes" not in crm.lock.read_text()


def test_what_a_rule_allows_is_served(project: Made) -> None:
    """Other words, where they address nobody; each change is compared with what was reviewed, not with the last one."""
    crm = project('allow = ["text"]')
    crm.changes(description="Every note.")
    assert crm.served()["get_notes"].description == "Every note."
    assert crm("pins", "--check").code == 0
    crm.changes(description="Every note.", summary=IMPORTANT)
    served = crm.served()["get_notes"]
    assert (served.summary, served.description) == (NOTES.summary, NOTES.description)
    assert crm("pins", "--check").code == 1
    with pytest.raises(Exception, match="allow"):
        PinsSettings.model_validate({"allow": ["instructions"]})


def test_nothing_is_pinned_but_by_the_command(project: Made) -> None:
    """A server that nobody has reviewed is served with a warning, and a check fails."""
    crm = project(pinned=False)
    assert "none of its functions are pinned" in crm("compile").out
    assert {*crm.served()} == {"get_notes", "add_note"}
    assert not crm.lock.exists()
    assert crm("pins", "--check").code == 1
    assert crm("pins", "--accept").code == 0
    assert crm("pins", "--check").out.splitlines() == ["nothing differs from what was reviewed"]


def test_what_is_shown(project: Made) -> None:
    """The functions, and a line for each class; those that were asked for."""
    crm = project()
    crm.changes(parameters=takes(sidenote={"type": "string"}), read_only=False)
    assert crm("pins").out.splitlines() == [
        "waits crm.get_notes", "  effect: read → write", "  widened: sidenote is new",
    ]  # fmt: skip
    assert crm("pins", "crm.add_note").out.splitlines() == ["nothing differs from what was reviewed"]
    assert "(1)" in crm("compile").out


def test_one_line_a_function(project: Made) -> None:
    """Version control shows which functions a change is of; the same functions make the same file."""
    crm = project()
    before = crm.lock.read_text().splitlines()
    crm.changes(description="Other words.")
    crm("pins", "--accept")
    after = crm.lock.read_text().splitlines()
    assert [n for n, (old, new) in enumerate(zip(before, after, strict=True)) if old != new] == [
        next(n for n, line in enumerate(before) if line.startswith('"get_notes"'))
    ]
    assert json.loads(crm.lock.read_text())["servers"]["crm"]["definitions"] == {"Note": NOTE}


def test_a_damaged_file_stops_the_compile(project: Made) -> None:
    """Nothing gets past a review because its record cannot be read."""
    crm = project()
    crm.lock.write_text("{")
    crm.changes(description=IMPORTANT)
    told = crm("compile")
    assert "doorward.lock: cannot be used" in told.out + told.err
    assert "IMPORTANT" not in crm("show", "crm.get_notes").out
    assert "refused pins: " in (upgrade := crm("upgrade")).out.replace(str(crm.lock), "")
    assert upgrade.code == 1


def test_nothing_without_the_table() -> None:
    """A function's words are looked at by nobody; loading it imports little."""
    check_light_import("doorward_pins")


class TestConformance(HookConformance):
    """What holds for every plugin with hooks."""

    hooks = ("source_compiled", "compile_warnings")
    plugin = Pins

    def owned(self) -> Mapping[str, tuple[Any, Any]]:
        return {"pins": (PinsSettings, {"allow": ["text"]})}
