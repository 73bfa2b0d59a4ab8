"""The times that a program read, and the seed of its random numbers."""

from __future__ import annotations

import time
from typing import Any

import pytest
from doorward.model.programs import Program
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.journal.seen_times import MOST_TIMES, SeenTimes
from doorward_testing.samples import CONFIG


def test_what_is_read_anew_comes_after_what_was_given() -> None:
    """Together they are what the next try is given."""
    seen = SeenTimes([1.0, 2.0])
    seen.add([3.0])
    seen.add([4.0, 5.0])
    assert (seen.given, seen.all, seen.too_many) == ([1.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0], False)


def test_another_executor_starts_anew() -> None:
    """It reads first what was given, and no more of what the one before it read."""
    seen = SeenTimes([1.0])
    seen.add([3.0] * MOST_TIMES)
    assert seen.too_many
    seen.begin()
    assert (seen.all, seen.too_many) == ([1.0], False)


def test_so_many_are_kept() -> None:
    """Beyond that the run is known to be one that cannot be run again, and takes no more memory."""
    seen = SeenTimes([1.0])
    seen.add([2.0] * (MOST_TIMES - 1))
    assert not seen.too_many
    for _ in range(3):
        seen.add([3.0])
    assert (len(seen.all), seen.all[-1], seen.too_many) == (MOST_TIMES, 2.0, True)


@pytest.mark.anyio
async def test_each_run_has_a_seed_of_its_own(doorward_host: Any) -> None:
    """And knows when it began. Neither is shown with the program."""
    before = time.time()
    async with doorward_host.gateway(CONFIG) as gate:
        programs = [gate.execution.of_call("local").program for _ in range(3)]
    assert [len(each.seed) for each in programs] == [32] * 3
    assert len({each.seed for each in programs}) == 3
    assert all(before <= each.began <= time.time() for each in programs)
    assert "seed" not in repr(programs[0])
    assert Program("").seed == b""


@pytest.mark.anyio
async def test_a_run_keeps_what_its_program_read(doorward_host: Any) -> None:
    """Until another executor starts the program from the beginning."""
    async with doorward_host.gateway(CONFIG) as gate:
        program = Program("", run="0123456789abcdef")
        journal = gate.services[STORED_RUNS].journals.new(program)
        run = gate.execution.context(program, recorder=journal)
        assert list(run.times()) == []
        run.seen([1.0])
        run.seen([2.0])
        assert journal._times.all == [1.0, 2.0]
        run.begin("another", repeats=True)
        assert journal._times.all == []
