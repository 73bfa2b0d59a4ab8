"""The guard `secrets`, as an agent meets it, and over every program that this repository shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from doorward import PluginContext, Program
from doorward_demo.programs import BLUNT, OVERDUE, SLY
from doorward_guard_secrets import SecretsGuard
from test_shown_programs import PROGRAMS

from .forked import Forked, project
from .product import Answering, Project, web
from .test_main_job import SUM

__all__ = ["project"]

pytestmark = pytest.mark.anyio

TOKEN = "ghp_" + "1234567890abcdefABCD1234567890abcdef"


async def test_an_agent_that_carries_a_key_is_refused(project: Project) -> None:
    """In the program, and in arguments that only the program makes; nothing is called."""
    project.change('"ast", ', '"ast", "secrets", ')
    async with project.stdio() as agent:
        refused = await agent.run(f"import shelf\nshelf.list_items(page='{TOKEN}')")
        assert (refused["error"]["type"], refused["error"]["line"]) == ("GuardRefused", 2)
        assert "what looks like a token" in agent.text
        made = await agent.run(f"import shelf\nshelf.mark(name='ghp_' + '{TOKEN[4:]}')")
        assert made["error"]["type"] == "GuardRefused"
        assert TOKEN not in "".join(agent.received)


class People(Answering):
    """An API that tells of people."""

    def do_GET(self) -> None:
        if self.path == "/openapi.json":
            operation = {"operationId": "list", "responses": {"200": {"description": "people"}}}
            self.answer(
                {
                    "openapi": "3.1.0",
                    "info": {"title": "People", "version": "1"},
                    "paths": {"/people": {"get": operation}},
                }
            )
        else:
            self.answer([{"name": "Ann", "mail": "ann@example.com", "call": "+44 20 7183 8750"}])


async def test_an_agent_gets_no_personal_data(tmp_path: Path) -> None:
    """What a function answers comes redacted to the program already, in the kinds that the operator names."""
    with web(People) as url:
        project = Forked(tmp_path, f'[servers.people]\nsource = "openapi"\nspec = "{url}/openapi.json"\n')
        project.change('"ast", ', '"ast", "secrets", ', last='[hooks.secrets]\nredact = ["email"]\n')
        async with project.stdio() as agent:
            code = "import people\nfound = people.list()[0]\nprint('example' in found['mail'])\nresult = found"
            answer = await agent.run(code)
        assert answer["value"] == {"name": "Ann", "mail": "[email]", "call": "+44 20 7183 8750"}
        assert answer["printed"].strip() == "False"
        assert "ann@example.com" not in "".join(agent.received)


def test_no_program_of_this_repository_is_refused() -> None:
    """There is no false alarm on what our pages and tests have."""
    guard = SecretsGuard(PluginContext("secrets", SecretsGuard.Settings(), Path("unused")))
    programs = [snippet.text for snippet in PROGRAMS] + [OVERDUE, BLUNT, SLY, SUM]
    assert [one for code in programs for one in guard.guard_program(Program(code))] == []
