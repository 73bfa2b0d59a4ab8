"""A large real specification, `github.json.zst` of the folder that DOORWARD_SPECS names."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from .product import Project, Wire

SPECS = Path(os.environ.get("DOORWARD_SPECS", ""))
OPERATIONS = 1223

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        not (SPECS / "github.json.zst").is_file(), reason="github.json.zst is absent: DOORWARD_SPECS names its folder"
    ),
]


@pytest.fixture(scope="module")
def github(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The API, compiled by `doorward compile`."""
    project = Project(
        tmp_path_factory.mktemp("github"),
        f'[servers.github]\nsource = "openapi"\nspec = "{SPECS.resolve() / "github.json.zst"}"\n',
    )
    ran = project.run("compile", "--json", timeout=120)
    report = json.loads(ran.stdout)["servers"]["github"]
    assert (report["functions"], report["skipped"], ran.returncode) == (OPERATIONS, [], 0)
    return project


async def test_every_operation_is_a_function_and_is_found(github: Project) -> None:
    """All 1,223 operations; the right one among the first five; its parameters and response type. CONTRACT: SRC-01,
    SRC-09, DIS-02, DIS-05, DIS-12."""
    async with github.stdio() as agent:
        assert (await agent.call("list_servers"))["servers"][0]["functions"] == OPERATIONS
        for words, wanted in [
            ("list the issues of a repository", "issues_list_for_repo"),
            ("star a repository", "activity_star_repo_for_authenticated_user"),
        ]:
            found = await agent.call("search_functions", query=words)
            assert f"github.{wanted}" in [f["function"] for f in found["functions"][:5]], words
        await agent.call("get_functions", functions=["github.issues/list-for-repo"])
        for part in (
            "def issues_list_for_repo(",
            "owner: str",
            "repo: str",
            "milestone: str",
            "Literal[",
            "TypedDict",
            "list[",
            "title: str",
        ):
            assert part in agent.text
        assert len(agent.text) < 20_000
        error = (await agent.run("import github\ngithub.issues_list_for_repo(owner='a', repo='b', state='opne')"))[
            "error"
        ]
        assert "state" in error["message"]


def test_a_second_start_takes_as_long_as_with_nothing(github: Project, tmp_path: Path) -> None:
    """`serve` answers tools/list about as fast with 1,223 functions as with none: nothing is read until it is asked
    for.
    CONTRACT: SRC-12."""

    def seconds(project: Project) -> float:
        began = time.perf_counter()
        with Wire(project) as wire:
            assert wire.connect().ask("tools/list")["tools"]
            return time.perf_counter() - began

    empty = Project(tmp_path, "")
    times = [(seconds(empty), seconds(github)) for _ in range(3)]
    without, with_all = (min(column) for column in zip(*times, strict=True))
    assert with_all < 2 * without + 0.5
