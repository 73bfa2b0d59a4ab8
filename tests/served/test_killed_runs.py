"""A run whose process is killed goes on in another one where it stood, and nothing is written twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from doorward.config.run_settings import RunSettings
from doorward.journal.replay import StoredJournal
from doorward.journal.store import FileRuns
from hypothesis import given, settings
from hypothesis import strategies as st

from .killed_runs import HEAD, PROGRAMS, Counting, Forks, configured
from .product import end, needs_proc, web

pytestmark = needs_proc

EXAMPLES = int(os.environ.get("DOORWARD_KILLED_PROGRAMS", "6"))
"""Programs, each of which is killed once. It was 1,000 once, by hand."""

KEPT = RunSettings(most=10_000)


class World:
    def __init__(self, folder: Path, url: str) -> None:
        self.forks = Forks(configured(folder, url))
        self.runs = FileRuns(folder / "state" / "runs", KEPT, None)

    def run(self, code: str, victim: tuple[int, str] = (0, "")) -> dict[str, Any]:
        Counting.written, Counting.requests, Counting.victim = Counter(), 0, victim
        return self.forks.ask(code=code)

    def replayed(self) -> dict[str, Any]:
        """The latest run, played again."""
        before = Counting.requests
        again = self.forks.ask(replay=self.runs.all()[0].given.run)
        assert Counting.requests == before
        return again

    def resumed(self, **how: Any) -> dict[str, Any]:
        Counting.victim = (0, "")
        return self.forks.ask(resume=self.stored(), **how)

    def stored(self) -> str:
        """The only run that is not over."""
        (stored,) = (each for each in self.runs.all() if each.state != "ended")
        return stored.given.run


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with web(Counting) as url:
        made = World(tmp_path_factory.mktemp("killed"), url)
        try:
            yield made
        finally:
            end(made.forks.process)


ALTOGETHER = (
    HEAD
    + """\
await asyncio.gather(chain(5), chain(0), chain(15))
for i in range(2):
    show(api.put_item(name=name()))
show(doorward.search('item', limit=1)['functions'])
try:
    api.fail(n=3)
except Exception as e:
    print('failed', e)
out"""
)


def unordered(outcome: dict[str, Any]) -> dict[str, Any]:
    """An outcome, whatever the order in which calls ended that were made at the same time."""
    return {**outcome, "value": sorted(outcome["value"] or ()), "printed": sorted(outcome["printed"].splitlines()),
            "calls": sorted(outcome["calls"])}  # fmt: skip


def check_killed(world: World, code: str, expected: dict[str, Any], number: int, when: str) -> None:
    """Kill a run at a call, resume it in another process, and compare."""
    writes = {key for key in Counting.written if key.startswith("POST")}
    assert world.run(code, (number, when)) == {"killed": -9}
    got = world.resumed()
    while got["waiting"]:
        assert got["waiting"] == "unknown"
        unknown = StoredJournal.read(world.runs.show(world.stored())).unknown
        assert unknown
        said = [(call.place, not any(key[5:] in call.text for key in Counting.written)) for call in unknown]
        got = world.resumed(said=said)
        if not all(again for _, again in said):  # a person saw that it was made
            assert "OutcomeUnknown" in str(got["error"]) or "is unknown" in got["printed"] or not got["ok"]
            assert {n for key, n in Counting.written.items() if key.startswith("POST")} <= {1}
            return
    assert unordered(got) == unordered(expected)
    assert {key: n for key, n in Counting.written.items() if key.startswith("POST")} == dict.fromkeys(writes, 1)


def test_a_run_killed_at_each_call_goes_on_in_another_process(world: World) -> None:
    expected = world.run(ALTOGETHER)
    assert expected["ok"], expected
    writes, requests = Counting.written, Counting.requests
    assert requests == 9
    for number in range(1, requests + 1):
        Counting.written = writes
        check_killed(world, ALTOGETHER, expected, number, ("after", "before")[number % 2])


@settings(max_examples=EXAMPLES, deadline=None)
@given(code=PROGRAMS, chance=st.randoms(use_true_random=False))
def test_programs_made_by_chance_survive_a_kill_and_repeat_themselves(world: World, code: str, chance: Random) -> None:
    """Each is killed at one of its calls. And each runs again on what was recorded: every line it printed is the same,
    in the same order."""
    expected = world.run(code)
    assert expected["ok"], (code, expected)
    assert world.replayed() == expected
    if Counting.requests:
        check_killed(world, code, expected, chance.randint(1, Counting.requests), chance.choice(["before", "after"]))
        if (again := world.replayed())["ok"]:
            assert unordered(again) == unordered(expected)
