"""What a journal costs each call of its run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from doorward_durable_runs.files.store import FileRuns, FileRunStore
from doorward_durable_runs.journal.journals import Journals
from doorward_durable_runs.settings import RunSettings
from doorward_testing import counted_functions
from doorward_testing.samples import CONFIG

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CALL = "weather.get_forecast", (), {"city": "Oslo"}
WRITE = "weather.add_station", (), {"city": "Oslo"}


async def test_a_journal_costs_a_call_next_to_nothing(doorward_host: Any, tmp_path: Path) -> None:
    """In memory it is a few functions more; on disk a write, or two if the call may not be repeated."""
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.call(CALL[0], CALL[2])
        found, system = {}, {}
        for durable in ("never", "waits", "always"):
            for name, call in {"read": CALL, "write": WRITE}.items():
                run = journaled(gate, tmp_path / durable, durable)
                await run.call(*call)
                counts = []
                for _ in range(3):  # what is counted besides, of caches that are filled, is not of a call
                    with system_calls() as made, counted_functions() as calls:
                        await run.call(*call)
                    counts.append(calls["call"] + calls["c_call"])
                found[durable, name] = min(counts)
                system[durable, name] = made
    assert found["waits", "read"] - found["never", "read"] <= 20
    assert found["always", "read"] - found["never", "read"] <= 100
    assert system["never", "read"] == system["waits", "read"] == system["waits", "write"] == []
    assert system["always", "read"] == ["lseek", "write"]
    assert system["always", "write"] == ["lseek", "write"] * 2


def journaled(gate: Any, folder: Path, durable: Any) -> Any:
    """A run with its journal."""
    settings = RunSettings(durable=durable)
    journals = Journals(FileRunStore(FileRuns(folder, settings, None)), settings)
    program = gate.execution.of_call("local").program
    return gate.execution.context(program, recorder=journals.new(program))


@contextmanager
def system_calls() -> Iterator[list[str]]:
    """The functions of `os` that are called by us and ask the system."""
    made: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("open", "close", "lseek", "write", "read", "fstat", "ftruncate", "fsync", "fdatasync"):
            patch.setattr(os, name, partial(_noted, made, name, getattr(os, name)))
        yield made


def _noted(made: list[str], name: str, asked: Callable[..., Any], *given: Any, **named: Any) -> Any:
    made.append(name)
    return asked(*given, **named)
