"""A run whose process was killed goes on in a world that has changed meanwhile: what is allowed now counts, and what it
was answered stays as it was."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doorward_approvals.conformance import answer_in, requests_in
from doorward_durable_runs.journal.replay import StoredJournal

from .forked import Forked
from .killed_runs import Asked, Counting, configured, counting, document, is_written
from .product import end, needs_proc
from .stored import of_runs, run_in, runs_in

pytestmark = needs_proc

CODE = """
import api
made = [api.get_item(n=1)["value"]]
made.append(api.add_item(name="first")["n"])
try:
    made.append(api.add_item(name="second")["n"])
except Exception as error:
    made.append(str(error))
made
"""
WHOLE = [70, "first", "second"]
FIRST = {"POST first": 1}
BOTH = {"POST first": 1, "POST second": 1}


class Changing:
    """A gateway that is killed, and another one with another configuration."""

    def __init__(self, folder: Path, url: str, quiet: Callable[[], None]) -> None:
        self.folder, self.url, self.quiet = folder, url, quiet
        self.file = configured(folder, url)
        self.project = Forked(folder / "commands", "", {"CALLER": "0"})
        self.project.file = self.file
        self.process = Asked("victims", self.file)

    def killed(self, request: int, when: str, code: str = CODE, **options: Any) -> str:
        """Run a program, whose process is killed at a request. Returns: the run."""
        Counting.begin((request, when))
        assert self.process.ask(code=code, **options) == {"killed": -9}
        Counting.victim = 0, ""
        return self.run()

    def run(self) -> str:
        """The stored run."""
        (stored,) = runs_in(self.folder / "state")
        return stored.given.run

    def looked(self, run: str) -> list[tuple[int, bool]]:
        """What a person says of calls whose outcome is unknown, who has looked what is there."""
        stored = run_in(self.folder / "state", run)
        self.quiet()
        return [(call.place, not is_written(call.text)) for call in StoredJournal.read(stored).unknown]

    def resumed(self, run: str, **options: Any) -> dict[str, Any]:
        return self.process.ask(resume=run, **options)

    def change(self, first: str = "", last: str = "") -> None:
        self.file.write_text(first + self.file.read_text() + last)

    def document(self, changed: dict[str, Any]) -> None:
        (self.folder / "api.json").write_text(json.dumps(changed))
        compiled = self.project.run("compile")
        assert compiled.returncode == 0, compiled.stderr


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Changing]:
    with counting() as (url, quiet):
        made = Changing(tmp_path, url, quiet)
        try:
            yield made
        finally:
            end(made.process.process)


def test_a_function_that_is_denied_now_is_not_called(world: Changing) -> None:
    run = world.killed(2, "after")
    world.change(last='[policy]\ndeny = ["api.add_item"]\n')
    got = world.resumed(run, said=[[1, True]])
    assert not got["ok"] or "add_item" in str(got["value"]), got
    assert Counting.written == FIRST


def test_a_rule_that_denies_now_counts(world: Changing) -> None:
    """Also for a call that may have gone out, and that a person wants made again."""
    run = world.killed(2, "before")
    world.change(last='[[policy.rules]]\nmatch = "api.add_item"\nthen = "deny"\nreason = "not today"\nwhen = "true"\n')
    got = world.resumed(run, said=[[1, True]])
    assert "not today" in str(got["error"]), got
    assert Counting.written == {}


CONFIRM = '[[policy.rules]]\nclass = "write"\nthen = "confirm"\n'


def approve(world: Changing) -> None:
    state = world.folder / "state"
    waiting = [request for request in requests_in(state) if request.state == "open"]
    assert waiting
    for request in waiting:
        answer_in(state, request.id, True)


@pytest.mark.parametrize(("when", "again"), [("before", True), ("after", False)])
def test_a_rule_that_asks_a_person_now_counts(world: Changing, when: str, again: bool) -> None:
    """A yes does not settle whether a call was made that went out before the kill: that is asked first."""
    run = world.killed(2, when)
    world.change(last=CONFIRM)
    got = world.resumed(run)
    assert got["waiting"] == "unknown", got
    got = world.resumed(run, said=[[1, again]])
    if not again:
        assert got["error"][0] == "OutcomeUnknown", got
        assert Counting.written == FIRST
        return
    for _ in range(2):
        assert got["waiting"] == "approval", got
        approve(world)
        got = world.resumed(run)
    assert got["value"] == WHOLE, got
    assert Counting.written == BOTH


GATHERED = """
import asyncio
import api
[each["n"] for each in await asyncio.gather(*[api.add_item(name=name) for name in ("a", "b", "c")])]
"""


MOST_KILLS = 4


@pytest.mark.parametrize("kill", [("request", "before"), ("request", "after"), ("write", "torn"), ("write", "after")])
def test_what_a_person_approved_of_is_made_once_whenever_it_is_killed(world: Changing, kill: tuple[str, str]) -> None:
    """Calls made at once, each of which needs a yes, in a process that is killed at its first boundary again and
    again."""
    world.change(last=CONFIRM)
    what, when = kill
    Counting.begin()
    got: dict[str, Any] = world.process.ask(code=GATHERED)
    assert got["waiting"] == "approval", got
    run, kills = world.run(), 0
    for turn in range(40):
        if got.get("ok"):
            break
        if got.get("waiting") == "approval":
            approve(world)
        said = world.looked(run)
        dies = kills < MOST_KILLS
        Counting.victim = (len(Counting.methods) + 1, when) if what == "request" and dies else (0, "")
        got = world.resumed(run, said=said, victim=[2 + turn % 3, when] if what == "write" and dies else [])
        kills += "killed" in got
        Counting.victim = 0, ""
        if got.get("error"):
            assert got["error"][0] == "OutcomeUnknown", got
            break
    else:
        raise AssertionError(got)
    assert kills
    assert {*Counting.written.values()} <= {1}
    if got["ok"]:
        assert (got["value"], Counting.written) == (["a", "b", "c"], {"POST a": 1, "POST b": 1, "POST c": 1})


def test_a_function_that_is_gone_is_not_called(world: Changing) -> None:
    run = world.killed(3, "before")
    changed = document(world.url)
    del changed["paths"]["/item"]["post"]
    world.document(changed)
    got = world.resumed(run, said=[[2, True]])
    assert not got["ok"], got
    assert "add_item" in str(got["error"]), got
    assert Counting.written == FIRST


def test_a_function_that_has_changed_is_not_called(world: Changing) -> None:
    """The program was written for what it was at its first call."""
    run = world.killed(3, "before")
    changed = document(world.url)
    schema = changed["paths"]["/item"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema["properties"]["size"] = {"type": "integer"}
    world.document(changed)
    got = world.resumed(run, said=[[2, True]])
    assert got["value"][:2] == WHOLE[:2], got
    assert "has changed since this program called it first" in got["value"][2], got
    assert Counting.written == FIRST


def test_a_principal_who_lost_access_gets_no_further(world: Changing) -> None:
    world.change(last='[principals.ada]\nservers = ["api"]\n')
    run = world.killed(3, "before", principal="ada")
    text = world.file.read_text()
    world.file.write_text(text.replace('[principals.ada]\nservers = ["api"]', '[principals.ada]\nservers = ["keyed"]'))
    got = world.resumed(run, principal="ada", said=[[2, True]])
    assert not got["ok"], got
    assert Counting.written == FIRST
    assert world.resumed(run, principal="eve")["error"][0] == "UnknownName"


FILES = """
import api
import doorward
file = api.file(n=30)
api.add_item(name="first")
content = doorward.read(file)
[len(content), content[:4].hex(), {"left": b"\\x00\\xff" * 900}]
"""


def test_files_are_there_again(world: Changing) -> None:
    """Also where the folder of files was lost with the machine's disk."""
    Counting.begin()
    expected = world.process.ask(code=FILES)
    assert expected["value"][:2] == [30008, "89504e47"], expected
    finished = world.run()
    of_runs(world.folder / "state", lambda runs: runs.remove(finished))
    run = world.killed(2, "after", code=FILES)
    for folder in (world.folder / "state").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    got = world.resumed(run, said=[[1, True]])
    assert got["value"][:2] == expected["value"][:2], got
    assert got["files"] == expected["files"]


LATE = """
import api
api.add_item(name="first")
api.slow(n=3000)
api.add_item(name="second")
"""


def test_a_run_that_took_too_long_is_over(world: Changing) -> None:
    """It is told so once more to whoever asks, and nothing more of it is called."""
    Counting.begin()
    late = world.process.ask(code=LATE, timeout=1)
    assert late["error"][0] == "TimeoutError"
    again = world.resumed(world.run())
    assert again["error"] == late["error"]
    assert Counting.written == FIRST


def test_a_killed_run_has_its_time_again(world: Changing) -> None:
    run = world.killed(2, "before", code=LATE, timeout=2)
    late = world.resumed(run)
    assert late["error"][0] == "TimeoutError"
    assert Counting.written == FIRST
