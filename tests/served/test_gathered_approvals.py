"""Twenty calls that a program makes at once, each of which needs a yes: one suspension, one answer of a person for all
of them, and one resume; on monty and in jails, through clients of both eras."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import mcp_types as t
import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Api, Project, connected

pytestmark = pytest.mark.anyio

RULE = '[[policy.rules]]\nclass = "write"\nthen = "confirm"\n'
COUNT = 20
CODE = f"""import asyncio, shelf
made = await asyncio.gather(*[shelf.create_item(itemName=str(n)) for n in range({COUNT})])
result = [item["itemName"] for item in made]"""
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux")


@pytest.fixture(scope="module", params=["monty", pytest.param("nsjail", marks=needs_linux)])
def gathering(request: Any, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    many = "[approvals]\nopen = 1000\n"  # some tests leave theirs
    project = Forked(tmp_path_factory.mktemp("gathering"), LIMITS + many + RULE + SHELF.format(url=api.url))
    project.change('executor = "monty"', f'executor = "{request.param}"')
    return project


@pytest.fixture(scope="module")
def url(gathering: Project) -> Iterator[str]:
    with gathering.http() as (url, _):
        yield url


def written(api: Api, before: int) -> int:
    return sum(each["path"] == "/items" for each in api.seen()[before:])


def listed(project: Project, run: str = "") -> list[dict[str, Any]]:
    """The requests of a run, or of all, that wait."""
    found = json.loads(project.run("approvals", "list", "--json").stdout)["requests"]
    return [each for each in found if run in ("", each["run"])]


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_one_answer_and_one_resume(gathering: Project, url: str, api: Api, era: str) -> None:
    """A person sees all twenty, says yes to the run, and every call goes out once."""
    before = len(api.seen())
    async with connected(url, era) as agent:
        waiting = (ran := await agent.run(CODE)).get("waiting")
        assert waiting, ran
        assert f"doorward approvals approve --run {waiting['run']}" in agent.text
        assert len(listed(gathering, waiting["run"])) == COUNT
        shown = gathering.run("approvals", "show", "--run", waiting["run"])
        assert shown.stdout.count("wants to call shelf.create_item (write)") == COUNT
        assert written(api, before) == 0
        approved = gathering.run("approvals", "approve", "--run", waiting["run"], "--yes")
        assert (approved.returncode, approved.stdout.count("approved: shelf.create_item")) == (0, COUNT)
        done = await agent.call("resume_run", run=waiting["run"])
    assert done["value"] == [str(n) for n in range(COUNT)], done
    assert written(api, before) == COUNT


ALL = f"approve these {COUNT} calls, each once"


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("said", "made"), [(ALL, COUNT), (f"deny these {COUNT} calls", 0), ("approve once", 0), (True, 0)]
)
async def test_one_question_at_the_client(
    gathering: Project, url: str, api: Api, era: str, said: Any, made: int
) -> None:
    """A person sees all twenty in one dialog: a yes makes each of them once, a no is one to each of them, and whatever
    else a client says leaves them open."""
    before, open_before, asked = len(api.seen()), listed(gathering), []

    async def reply(context: Any, params: Any) -> t.ElicitResult:
        asked.append(params)
        return t.ElicitResult(action="accept", content={"answer": said})

    async with connected(url, era, elicitation_callback=reply) as agent:
        done = await agent.run(CODE)
    assert len(asked) == 1, done
    assert f"{COUNT} × shelf.create_item (write)" in asked[0].message
    assert all(f'"itemName": "{n}"' in asked[0].message for n in range(COUNT))
    assert written(api, before) == made
    if made:
        assert done["value"] == [str(n) for n in range(COUNT)], done
    elif str(said).startswith("deny"):
        assert "shelf.create_item was denied by" in done["error"]["message"]
    else:
        assert len(listed(gathering, done["waiting"]["run"])) == COUNT
        return
    assert listed(gathering) == open_before  # the answer to all was one step: none is left when the run is over


async def test_nobody_approves_of_what_they_were_not_shown(gathering: Project, url: str) -> None:
    """Without `--yes` the calls are shown, and a person is asked; no answer is no yes. A no is for all of them."""
    async with connected(url) as agent:
        run = (await agent.run(CODE))["waiting"]["run"]
        unanswered = gathering.run("approvals", "approve", "--run", run)
        assert unanswered.returncode != 0
        assert unanswered.stderr.count("wants to call shelf.create_item (write)") == COUNT
        assert f"Approve of these {COUNT} calls?" in unanswered.stderr
        assert len(listed(gathering, run)) == COUNT
        assert gathering.run("approvals", "deny", "--run", run, "--by", "ops").returncode == 0
        done = await agent.call("resume_run", run=run)
    assert "denied by ops" in done["error"]["message"]
    gone = gathering.run("approvals", "approve", "--run", run, "--yes")
    assert (gone.returncode, "no open request of the run" in gone.stderr) == (1, True)
    assert gathering.run("approvals", "approve", run, "--run", run).returncode == 2
