"""A run whose process is killed goes on in another one where it stood, and nothing is written twice."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doorward.config.run_settings import RunSettings
from doorward.journal.replay import StoredJournal
from doorward.journal.store import FileRuns

from .killed_programs import HEAD, Made, made
from .killed_runs import Asked, Counting, configured, counting
from .product import end, needs_proc

pytestmark = needs_proc

PROGRAMS = range(*map(int, os.environ.get("DOORWARD_KILLED_PROGRAMS", "0:6").split(":")))
"""The numbers of the programs that are killed at each boundary. They were 0:1000 once: see docs/runs.md."""

KEPT = RunSettings(most=100_000)

Boundary = tuple[str, int, str]
"""Where a process is killed: at which `request` or `write` to its journal, and when."""


class World:
    """A state folder, an API, and processes that run programs."""

    def __init__(self, folder: Path, url: str, quiet: Callable[[], None], executor: str) -> None:
        config = configured(folder, url, executor=executor)
        self.victims, self.survivor = Asked("victims", config), Asked("survivor", config)
        self.folder = folder / "state" / "runs"
        self.runs = FileRuns(self.folder, KEPT, None)
        self._quiet = quiet
        self.outcomes: Counter[str] = Counter()

    def run(self, program: Made, at: Boundary | None = None) -> dict[str, Any]:
        """Run a program, to its end or up to a boundary."""
        for file in self.folder.glob("*.run"):
            file.unlink()
        asked = {"code": program.code, "seed": program.number}
        if at is None:
            Counting.begin()
            return self.survivor.ask(**asked)
        what, number, when = at
        Counting.begin((number, when) if what == "request" else (0, ""))
        said = self.victims.ask(**asked, victim=[number, when] if what == "write" else [])
        Counting.victim = 0, ""
        self._quiet()
        return said

    def replayed(self) -> dict[str, Any]:
        """The latest run, played again."""
        before = len(Counting.methods)
        again = self.survivor.ask(replay=self.stored())
        assert len(Counting.methods) == before
        return again

    def stored(self) -> str:
        """The run that is there; "" if it was killed before anything of it was stored."""
        return next((each.given.run for each in self.runs.all()), "")

    def resumed(self, run: str) -> tuple[dict[str, Any], bool]:
        """The outcome of a run that another process resumes, after a person has looked what became of calls whose
        outcome is unknown; and whether they said of one that it was made."""
        got, was_made = self.survivor.ask(resume=run), False
        while got["waiting"]:
            assert got["waiting"] == "unknown", got
            unknown = StoredJournal.read(self.runs.show(run)).unknown
            assert unknown
            said = [(call.place, not _is_written(call.text)) for call in unknown]
            was_made |= not all(again for _, again in said)
            got = self.survivor.ask(resume=run, said=said)
        return got, was_made


def _is_written(text: str) -> bool:
    """Whether the API has done what a call says."""
    return any(f'"name": "{key.partition(" ")[2]}"' in text for key in Counting.written)


def plain(outcome: dict[str, Any], *, races: bool) -> dict[str, Any]:
    """An outcome without the times in it, and, if calls raced in it, whatever their order."""
    kept = {key: value for key, value in outcome.items() if key != "writes"}
    kept["printed"] = re.sub(r"@\d+", "@", kept["printed"])
    kept["calls"] = sorted(kept["calls"])
    if races:
        kept["value"] = sorted(kept["value"] or ())
        kept["printed"] = sorted(kept["printed"].splitlines())
    return kept


def boundaries(requests: list[str], writes: int) -> list[Boundary]:
    """All of a run: before and after a request is done at the API (or, where that is the same, either), and in the
    middle of each write to the journal and after it. The last of them is that of its end."""
    asked: list[Boundary] = []
    for n, method in enumerate(requests, 1):
        whens = ("before", "after") if method != "GET" else (("before", "after")[n % 2],)
        asked += [("request", n, when) for when in whens]
    return asked + [("write", n, when) for n in range(1, writes + 1) for when in ("torn", "after")]


def check_killed(world: World, program: Made, expected: dict[str, Any], once: dict[str, int], at: Boundary) -> str:
    """Kill a run at a boundary, resume it in another process, and compare. Returns: how it ended."""
    said = world.run(program, at)
    if "killed" not in said:
        return "came by"  # calls raced, and there was no such boundary
    assert said == {"killed": -9}
    run = world.stored()
    if not run:
        assert not Counting.written
        return "not begun"
    got, was_made = world.resumed(run)
    found = Counting.once()
    assert set(found.values()) <= {1}, found
    if was_made:
        assert "OutcomeUnknown" in str(got["error"]) or "is unknown" in got["printed"], got
        return "unknown"
    assert plain(got, races=program.races) == plain(expected, races=program.races)
    assert found == once
    return "same"


def check_at_each(world: World, program: Made) -> None:
    """Kill it at each boundary, as often as it takes."""
    expected = world.run(program)
    assert expected["ok"] or expected["error"][0] == "ApiError", expected
    once, requests = Counting.once(), [*Counting.methods]
    assert plain(world.replayed(), races=False) == plain(expected, races=False)
    for at in boundaries(requests, expected["writes"]):
        try:
            world.outcomes[check_killed(world, program, expected, once, at)] += 1
        except AssertionError as error:
            world.outcomes["different"] += 1
            print(f"program {program.number}, killed at {at}:\n{program.code[len(HEAD) :]}\n{error}", flush=True)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with counting() as (url, quiet):
        made = World(tmp_path_factory.mktemp("killed"), url, quiet, 'executor = "monty"')
        try:
            yield made
        finally:
            end(made.victims.process)
            end(made.survivor.process)


def test_programs_made_by_chance_survive_a_kill_at_each_boundary(world: World) -> None:
    """In another process they have the same value, and print the same. No write that may not be repeated is made twice:
    where the API may have got one, and no answer came, a person is asked."""
    began = time.monotonic()
    for number in PROGRAMS:
        check_at_each(world, made(number))
        done, took = number + 1 - PROGRAMS.start, time.monotonic() - began
        if done % 10 == 0 or done == len(PROGRAMS):
            print(f"{done} programs, {world.outcomes.total()} kills, {took:.0f} s: {dict(world.outcomes)}", flush=True)
    assert not world.outcomes["different"]
    assert world.outcomes["same"] > world.outcomes.total() / 2
