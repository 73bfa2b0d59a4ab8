"""A run whose process is killed goes on in another one where it stood, and nothing is written twice."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from doorward.config.run_settings import RunSettings
from doorward.journal.replay import StoredJournal
from doorward.journal_files.store import FileRuns

from .killed_programs import HEAD, Made, made
from .killed_runs import Asked, Counting, configured, counting, is_written
from .product import end, needs_proc

MANY = {"DOORWARD_KILLED_PROGRAMS", "DOORWARD_KILLED_IN_JAILS"} & {*os.environ}

pytestmark = [needs_proc, pytest.mark.timeout(0 if MANY else 300)]

PROGRAMS = range(*map(int, os.environ.get("DOORWARD_KILLED_PROGRAMS", "0:8").split(":")))
"""The numbers of the programs that are killed at each boundary. They were 0:1000 once: see docs/runs.md."""

KEYED = "keyed.add_item"
"""Is made again without a person: its API knows a repeated call by its key."""

IN_JAILS = range(*map(int, os.environ.get("DOORWARD_KILLED_IN_JAILS", "0:1").split(":")))
"""The same for the executors of CPython, which take longer. See docs/runs.md for how many they were once."""

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
            unknown = [call for call in StoredJournal.read(self.runs.show(run)).unknown if call.function != KEYED]
            assert unknown
            self._quiet()
            said = [(call.place, not is_written(call.text)) for call in unknown]
            was_made |= not all(again for _, again in said)
            got = self.survivor.ask(resume=run, said=said)
        if was_made:
            self._quiet()  # calls beside one that failed were cancelled, and perhaps not in time
        return got, was_made


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
    if expected["writes"]:
        assert plain(world.replayed(), races=False) == plain(expected, races=False)
    for at in boundaries(requests, expected["writes"]):
        try:
            world.outcomes[check_killed(world, program, expected, once, at)] += 1
        except AssertionError as error:
            world.outcomes["different"] += 1
            print(f"program {program.number}, killed at {at}:\n{program.code[len(HEAD) :]}\n{error}", flush=True)


def check_programs(folder: Path, executor: str, numbers: range) -> None:
    with counting() as (url, quiet):
        world = World(folder, url, quiet, executor)
        try:
            began = time.monotonic()
            for number in numbers:
                check_at_each(world, made(number))
                done, took = number + 1 - numbers.start, time.monotonic() - began
                if done % 10 == 0 or done == len(numbers):
                    kills, outcomes = world.outcomes.total(), dict(world.outcomes)
                    print(f"{done} programs, {kills} kills, {took:.0f} s: {outcomes}", flush=True)
        finally:
            end(world.victims.process)
            end(world.survivor.process)
    assert not world.outcomes["different"]
    assert world.outcomes["same"] > world.outcomes.total() / 2


def test_programs_made_by_chance_survive_a_kill_at_each_boundary(tmp_path: Path) -> None:
    """In another process they have the same value, and print the same. No write that may not be repeated is made twice:
    where the API may have got one, and no answer came, a person is asked."""
    check_programs(tmp_path, 'executor = "monty"', PROGRAMS)


@pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux")
def test_so_they_do_in_nsjail(tmp_path: Path) -> None:
    check_programs(tmp_path, 'executor = "nsjail"', IN_JAILS)


@pytest.mark.slow
def test_so_they_do_in_docker(tmp_path: Path, engine: Any) -> None:
    settings = tomli_w.dumps({"executors": {"docker": engine.settings(pool=1)}})
    check_programs(tmp_path, f'executor = "docker"\n{settings}', IN_JAILS)
    assert engine.empty()
