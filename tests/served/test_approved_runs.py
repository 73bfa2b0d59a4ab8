"""Runs that waited for a person's yes and go on with it: under a rule of the configuration, after a restart, in another
client, and once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mcp_types as t
import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Api, Project, connected
from .test_approvals import RULE

pytestmark = pytest.mark.anyio

CODE = """import shelf
before = shelf.list_items()['nextPage']
made = shelf.create_item(itemName='lamp')
result = [before, made['itemName']]"""


@pytest.fixture
def ruled(tmp_path: Path, api: Api) -> Project:
    return Forked(tmp_path, LIMITS + RULE + SHELF.format(url=api.url))


def paths(api: Api, before: int) -> list[str]:
    """The calls that the API got since then."""
    return [each["path"] for each in api.seen()[before:] if each["path"].startswith("/items")]


def request_of(project: Project) -> dict[str, Any]:
    listed = project.run("approvals", "list", "--json")
    (request,) = json.loads(listed.stdout)["requests"]
    return dict(request)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_yes_after_a_restart_lets_the_run_go_on(ruled: Project, api: Api, era: str) -> None:
    """In another process, by a client of the other era: what was read is not read again, and the write goes out
    once."""
    before = len(api.seen())
    with ruled.http() as (url, _):
        async with connected(url, era) as agent:
            waiting = (await agent.run(CODE))["waiting"]
    assert waiting["for"] == "approval"
    assert waiting["next"] == f'resume_run("{waiting["run"]}")'
    assert paths(api, before) == ["/items"]
    early = json.loads(ruled.run("runs", "resume", waiting["run"], "--json").stdout)
    assert early["waiting"]["for"] == "approval", early
    assert ruled.run("approvals", "approve", request_of(ruled)["id"]).returncode == 0
    with ruled.http() as (url, _):
        async with connected(url, "legacy" if era == "auto" else "auto") as agent:
            done = await agent.call("resume_run", run=waiting["run"])
            assert done["value"] == [2, "lamp"], done
            again = await agent.call("resume_run", run=waiting["run"])
    assert again["value"] == [2, "lamp"], again
    assert paths(api, before) == ["/items", "/items"]


async def test_the_person_of_another_client_decides(ruled: Project, api: Api) -> None:
    """Whoever resumes a run that waits is asked."""

    async def person(context: Any, params: Any) -> t.ElicitResult:
        return t.ElicitResult(action="accept", content={"answer": "approve once"})

    async with ruled.stdio() as agent:
        waiting = (await agent.run(CODE))["waiting"]
    async with ruled.stdio("legacy", elicitation_callback=person) as agent:
        assert (await agent.call("resume_run", run=waiting["run"]))["value"] == [2, "lamp"]


async def test_a_no_is_an_exception_in_the_resumed_run(ruled: Project, api: Api) -> None:
    before = len(api.seen())
    async with ruled.stdio() as agent:
        waiting = (await agent.run(CODE))["waiting"]
    assert (
        ruled.run("approvals", "deny", request_of(ruled)["id"], "--reason", "no lamps", "--by", "ops").returncode == 0
    )
    done = json.loads(ruled.run("runs", "resume", waiting["run"], "--json").stdout)
    assert done["error"]["message"] == "shelf.create_item was denied by ops: no lamps"
    assert paths(api, before) == ["/items"]


async def test_a_yes_for_ever_is_a_narrow_rule(ruled: Project) -> None:
    """It is shown, written before the rule that asks, and lets this very call through from then on."""
    async with ruled.stdio() as agent:
        assert (await agent.run(CODE))["waiting"]
    request = request_of(ruled)
    shown = ruled.run("approvals", "show", request["id"])
    assert 'when = "args == {\\"itemName\\": \\"lamp\\"}"' in shown.stdout, shown.stdout
    approved = ruled.run("approvals", "approve", request["id"], "--always", "--yes", "--by", "ops")
    assert approved.returncode == 0, approved.stderr
    assert 'then = "allow"' in approved.stderr
    async with ruled.stdio() as agent:
        assert await agent.value(CODE) == [2, "lamp"]
        assert (await agent.run(CODE.replace("lamp", "desk")))["waiting"]
