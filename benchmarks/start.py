"""From the start of the process to the first answer to `tools/list`, against a bare server of the same SDK."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from common import BARE, HEAD, Project, Wire, interleaved, median, ms, openapi, ratio, table

MANY = 20_000


async def run(folder: Path, rounds: int = 15) -> None:
    sides = {"bare SDK": BARE["sdk"], "empty catalog": Project(folder / "empty").serve}
    sides["no hook plugins"] = Project(folder / "bare", head=HEAD.replace('["ast", "audit_jsonl"]', "[]")).serve
    sides[f"{MANY} functions"] = _many(folder / "many").serve
    github = Path(os.environ.get("DOORWARD_SPECS", "")) / "github.json.zst"
    if github.is_file():
        project = Project(folder / "github", openapi({"github": str(github)}))
        count = project.compile()["github"]["functions"]
        sides[f"GitHub, {count} functions"] = project.serve
    took = await interleaved({name: (lambda c=command: _start(c)) for name, command in sides.items()}, rounds, warm=2)
    bare = took["bare SDK"]
    print("## Start of the process to the first `tools/list` answer, ms (median / p95)")
    rows = [[n, ms(t), f"**{ratio(t, bare)}**", f"{(median(t) - median(bare)) * 1000:+.0f}"] for n, t in took.items()]
    table(["server", "ms", "ratio to bare SDK", "ms more"], rows)
    if not github.is_file():
        print("GitHub's functions were left out: set DOORWARD_SPECS to a folder with github.json.zst.\n")


def _many(folder: Path) -> Project:
    """A compiled project with a document of many operations."""
    parameters = [{"name": "limit", "in": "query", "schema": {"type": "integer"}}]
    nodes = {f"/things/{n}": {"get": {"operationId": f"get_thing_{n}", "parameters": parameters}} for n in range(MANY)}
    project = Project(folder, openapi({"many": "many.json"}))
    (folder / "many.json").write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "Many"}, "paths": nodes}))
    assert project.compile()["many"]["functions"] == MANY
    return project


async def _start(command: Sequence[str]) -> float:
    """Closing is not part of the start."""
    started = time.perf_counter()
    wire = Wire(command)
    wire.connect().ask("tools/list")
    seconds = time.perf_counter() - started
    wire.close()
    return seconds
