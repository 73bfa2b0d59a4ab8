"""An approval that is answered after an hour, after a restart and from another session continues the program where it
stood, on every executor of Python, by clients of both eras."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .product import Api, Project, connected, needs_proc
from .test_approvals import RULE
from .test_approved_runs import paths, request_of
from .test_docker_executor import use

pytestmark = [pytest.mark.anyio, needs_proc]

HOUR = 3600.0

CODE = """
import asyncio, random, time, shelf
began, chance = time.time(), random.random()
before = shelf.list_items()["nextPage"]
print("half", chance)
made = shelf.create_item(itemName=f"lamp {chance}")
more = await asyncio.gather(shelf.get_item(id=1), shelf.create_item(itemName="desk"))
print("done", random.random())
result = [before, made["itemName"] == f"lamp {chance}", more[1]["itemName"], time.time() - began]
"""
"""Reads, draws a number, and waits for a person twice: it says how long it took by its own clock."""

EXECUTORS = [
    ("monty", "auto"),
    pytest.param(("nsjail", "legacy"), marks=pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux")),
    pytest.param(("docker", "auto"), marks=[pytest.mark.slow]),
]
"""Each with the era of the client that starts the run: those that resume it are of the other one."""


def an_hour_passes(state: Path) -> None:
    """All that is stored of runs and requests becomes an hour older."""
    with contextlib.closing(sqlite3.connect(state / "store.db")) as db, db:
        for log, position, entry in db.execute("SELECT log, position, content FROM entries").fetchall():
            aged = entry[:1] + json.dumps(_aged(entry[:1], json.loads(entry[1:]))).encode()
            db.execute("UPDATE entries SET content = ? WHERE log = ? AND position = ?", (aged, log, position))
        for key, value in db.execute("SELECT key, value FROM records WHERE kind = 'runs'").fetchall():
            head, said = map(json.loads, value.split(b"\n"))
            lines = _aged(b"", head), {**said, "given": _aged(b"H", said["given"])}
            value = b"\n".join(json.dumps(each, separators=(",", ":")).encode() for each in lines)
            db.execute("UPDATE records SET value = ? WHERE kind = 'runs' AND key = ?", (value, key))
        for key, value in db.execute("SELECT key, value FROM records WHERE kind = 'approvals'").fetchall():
            said = json.loads(value)
            older = json.dumps({**said, "created": said["created"] - HOUR, "expires": said["expires"] - HOUR}).encode()
            changed = "UPDATE records SET value = ?, expires = expires - ? WHERE kind = 'approvals' AND key = ?"
            db.execute(changed, (older, HOUR, key))


def _aged(kind: bytes, said: Any) -> Any:
    aged = {key: said[key] - HOUR for key in ("at", "created", "expires", "began") if key in said}
    if kind == b"T":
        aged["v"] = [each - HOUR for each in said["v"]]
    return {**said, **aged}


@pytest.fixture(params=EXECUTORS, ids="-".join)
def ruled(tmp_path: Path, api: Api, request: Any) -> tuple[Project, str]:
    executor, era = request.param
    project = Forked(tmp_path, LIMITS + RULE + SHELF.format(url=api.url))
    if executor == "docker":
        use(project, **request.getfixturevalue("engine").settings(pool=1))
    project.change('executor = "monty"' if executor != "docker" else "", f'executor = "{executor}"')
    return project, era


async def test_a_yes_after_an_hour_lets_the_run_go_on(ruled: tuple[Project, str], api: Api) -> None:
    """Nothing is read or drawn again, every write goes out once, and the time goes on where the person's answer came."""
    project, era = ruled
    before = len(api.seen())
    other = "legacy" if era == "auto" else "auto"
    async with project.stdio(era) as agent:
        first = await agent.run(CODE)
        assert first["waiting"]["for"] == "approval", first
    an_hour_passes(project.state)
    assert project.run("approvals", "approve", request_of(project)["id"], "--by", "ops").returncode == 0
    with project.http() as (url, _):
        async with connected(url, other) as agent:
            second = await agent.call("resume_run", run=first["waiting"]["run"])
            assert second["waiting"]["for"] == "approval", second
    assert second["printed"] == first["printed"]
    an_hour_passes(project.state)
    assert project.run("approvals", "approve", request_of(project)["id"], "--by", "ops").returncode == 0
    async with project.stdio(other) as agent:
        done = await agent.call("resume_run", run=first["waiting"]["run"])
        assert done["ok"], done
        again = await agent.call("resume_run", run=first["waiting"]["run"])
    read, lamp, desk, took = done["value"]
    assert (read, lamp, desk) == (2, True, "desk")
    assert 2 * HOUR <= took < 2 * HOUR + 100
    assert done["printed"].startswith(first["printed"])
    assert again["value"] == done["value"]
    assert sorted(paths(api, before)) == ["/items", "/items", "/items", "/items/1"]
