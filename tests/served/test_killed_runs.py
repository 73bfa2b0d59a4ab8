"""A run whose process is killed goes on in another one where it stood, and nothing is written twice."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorward.config.run_settings import RunSettings
from doorward.journal.store import FileRuns
from hypothesis import HealthCheck, given, settings

from .killed_runs import PROGRAMS, Counting, Forks, configured
from .product import end, needs_proc, web

pytestmark = needs_proc

EXAMPLES = int(os.environ.get("DOORWARD_KILLED_PROGRAMS", "8"))
"""Programs, each of which is killed twice at each of its calls. It was 1,000 once, by hand."""

KEPT = RunSettings(most=10_000)


class World:
    def __init__(self, folder: Path, url: str) -> None:
        self.forks = Forks(configured(folder, url))
        self.runs = FileRuns(folder / "state" / "runs", KEPT, None)

    def run(self, code: str, victim: tuple[int, str] = (0, "")) -> dict[str, Any]:
        Counting.written, Counting.requests, Counting.victim = Counter(), 0, victim
        return self.forks.ask(code=code)

    def resumed(self, **how: Any) -> dict[str, Any]:
        Counting.victim = (0, "")
        (stored,) = (each for each in self.runs.all() if each.state in ("died", "waiting"))
        return self.forks.ask(resume=stored.given.run, **how)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with web(Counting) as url:
        made = World(tmp_path_factory.mktemp("killed"), url)
        try:
            yield made
        finally:
            end(made.forks.process)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(code=PROGRAMS)
def test_a_run_killed_at_any_call_goes_on_in_another_process(world: World, code: str) -> None:
    expected = world.run(code)
    assert "error" in expected, code
    writes, requests = Counting.written, Counting.requests
    assert set(writes.values()) <= {1}
    for number in range(1, requests + 1):
        for when in ("before", "after"):
            killed = world.run(code, (number, when))
            assert killed == {"killed": -9}, code
            got = world.resumed()
            if got["waiting"]:
                assert got["waiting"] == "unknown"
                got = world.resumed(again=when == "before")
                if when == "after":
                    assert not got["ok"] or "is unknown" in got["printed"], code
                    assert {n for key, n in Counting.written.items() if key.startswith("POST")} <= {1}
                    continue
            assert got == expected, (code, number, when)
            assert {k: n for k, n in Counting.written.items() if k[:4] == "POST"} == {
                k: n for k, n in writes.items() if k[:4] == "POST"
            }, (code, number, when)
            assert set(Counting.written) == set(writes), (code, number, when)
