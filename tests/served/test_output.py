"""`output`: the form of answers' text, for each client by its name, with and without the library for TOON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import Implementation

from .conftest import LIMITS, SHELF
from .forked import Forked, project
from .product import Api, Project, connected

__all__ = ["project"]

pytest.importorskip("toon_format", reason="toon-format is absent: pip install toon-format")
pytestmark = pytest.mark.anyio

OUTPUT = '[clients.program]\noutput = "json"\n[clients."plain (*)"]\noutput = "text"\n'
CODE = "import shelf\nprint('note: seen')\nresult = [{'id': i['id'], 'name': i['itemName']} for i in (shelf.get_item(id=n) for n in range(4))]"
ROWS = [{"id": n, "name": f"item {n}"} for n in range(4)]
TABLE = "```toon\n[4]{id,name}:\n  0,item 0\n  1,item 1\n  2,item 2\n  3,item 3\n```\nprinted:\n> note: seen\ncalls: shelf.get_item ×4"


def named(name: str) -> dict[str, Any]:
    return {"client_info": Implementation(name=name, version="1")}


@pytest.fixture(scope="module")
def forms(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Forked(tmp_path_factory.mktemp("forms"), LIMITS + SHELF.format(url=api.url) + OUTPUT)


@pytest.fixture(scope="module")
def url(forms: Project) -> Iterator[str]:
    with forms.http() as (url, _):
        yield url


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_client_gets_its_form(forms: Project, url: str, transport: str, era: str) -> None:
    """A table is TOON for a model, JSON for a program that reads the text, and plain where that is wished; what is
    structured is the same for all. CONTRACT: OUT-02."""
    told = {}
    for name in ("claude", "program", "plain (via a proxy)"):
        way = forms.stdio(era, **named(name)) if transport == "stdio" else connected(url, era, **named(name))
        async with way as agent:
            answer = await agent.run(CODE)
            assert (answer["value"], answer["printed"]) == (ROWS, "note: seen\n")
            told[name] = agent.text
            if name == "program":
                assert json.loads(agent.text) == answer
    assert told["claude"].startswith(TABLE)
    assert told["plain (via a proxy)"].startswith(json.dumps(ROWS) + "\nprinted:\n> note: seen\n")


async def test_toon_without_its_library_is_json(api: Api, tmp_path: Path) -> None:
    """The server starts, says what to install, and answers with JSON; so does `doctor`. CONTRACT: OUT-03."""
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent/toon_format.py").write_text("raise ImportError('not installed')")
    project = Forked(tmp_path, LIMITS + SHELF.format(url=api.url), {"PYTHONPATH": str(tmp_path / "absent")})
    project.change(first='output = "toon"\n')
    async with project.stdio() as agent:
        assert (await agent.run(CODE))["value"] == ROWS
        assert agent.text.startswith(json.dumps(ROWS, separators=(",", ":")))
    assert "toon_not_installed" in project.said()
    assert "pip install doorward[toon]" in project.said()
    checks = json.loads(project.run("doctor", "--json").stdout)["checks"]
    (about,) = (check for check in checks if check["check"].startswith("output: "))
    assert (about["ok"], about["advice"]) == (True, "`pip install doorward[toon]` brings it.")


async def test_a_form_that_is_none_stops_the_start(project: Project) -> None:
    """The message names the key and the forms that there are."""
    for form in ('output = "yaml"\n', '[clients.a]\noutput = "yaml"\n'):
        changed = project.file.read_text()
        project.change(**({"last": form} if form[0] == "[" else {"first": form}))
        done = project.run("list")
        project.file.write_text(changed)
        assert done.returncode == 2
        assert "output" in done.stderr
        assert "'auto', 'json', 'toon' or 'text'" in done.stderr
