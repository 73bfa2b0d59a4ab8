"""The guard `ruff`, as an agent meets it, and over every program that this repository has."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest
from doorward import PluginContext, Program
from doorward_demo.programs import BLUNT, OVERDUE, SLY
from doorward_guard_ruff import RuffGuard
from escape import attacks
from test_shown_programs import PROGRAMS

from .forked import project, shelf
from .product import Agent, Project
from .test_main_job import SUM

__all__ = ["project", "shelf"]

pytestmark = pytest.mark.anyio


@pytest.fixture
def guarded(project: Project) -> Project:
    project.change('"ast", ', '"ast", "ruff", ')
    return project


async def test_an_agent_learns_what_is_wrong_before_anything_is_called(guarded: Project) -> None:
    """CONTRACT: SEC-03. Line, text, rule and what to do; no call was made; mended, the program runs."""
    code = "import shelf\n\nitems = shelf.list_items(page=1)\nresult = len(itms['items'])"
    async with guarded.stdio() as agent:
        refused = await agent.run(code)
        assert (refused["error"]["type"], refused["error"]["line"]) == ("NameError", 4)
        assert "name 'itms' is not defined (ruff F821): result = len(itms['items'])" in agent.text
        assert "did you mean `items`?" in agent.text
        assert "calls" not in refused
        assert await agent.value(code.replace("itms", "items")) == 10
        assert (await agent.run("shelf.list_items(page=1)"))["error"]["hint"] == "Write `import shelf` first."


async def test_all_that_is_wrong_is_told_at_once(guarded: Project) -> None:
    """CONTRACT: SEC-03. Advice does not stop a program; with a refusal, an agent reads the rest as notes."""
    advice = "def f(rows=[]):\n    return len(rows)\nf()"
    async with guarded.stdio() as agent:
        answer = await agent.run(advice)
        assert (answer["ok"], answer["value"]) == (True, 0)
        assert "note: line 1: " in agent.text
        assert "(ruff B006): def f(rows=[]):. use None as the default" in agent.text
        await agent.run(f"print(one)\nprint(two)\n{advice}")
        assert all(word in agent.text for word in ("'one' is not defined", "line 2: name 'two'", "line 3: ", "B006"))


async def test_names_of_a_session_and_of_parameters(guarded: Project) -> None:
    """What earlier runs left, and what the caller gives, is there; what nobody defines is not."""
    async with guarded.stdio() as agent:
        session = (await agent.run("import shelf\nfirst = 1", session_id="new"))["session_id"]
        assert await agent.value("first + len(dir(shelf)) * 0", session_id=session) == 1
        assert await agent.value("city", params={"city": "Oslo"}) == "Oslo"
        assert (await agent.run("city"))["error"]["type"] == "NameError"


async def test_it_is_off_unless_it_is_named(stdio: Agent) -> None:
    """CONTRACT: SEC-03. By default, nobody says anything of advice."""
    assert "notes" not in await stdio.run("def f(rows=[]):\n    return len(rows)\nf()")


async def test_no_program_of_this_repository_is_refused(tmp_path: Path) -> None:
    """Programs of pages, of the demo, of these tests, and all attacks: ruff finds in them what may be better, and
    nothing that would stop what runs today."""
    found = {
        name: importlib.import_module(f"{attacks.__name__}.{name}")
        for _, name, _ in pkgutil.iter_modules(attacks.__path__)
    }
    programs = [attack.program("{}") for module in found.values() for attack in getattr(module, "ATTACKS", ())]
    programs += [snippet.text for snippet in PROGRAMS] + [OVERDUE, BLUNT, SLY, SUM]
    guard = RuffGuard(PluginContext("ruff", RuffGuard.Settings(), tmp_path))
    await guard.open()
    refused = [one for code in programs for one in await guard.guard_program(Program(code)) if one.refuse]
    await guard.close()
    assert len(programs) > 300
    assert refused == []
