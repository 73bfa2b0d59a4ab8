"""Finds the interrupted run of a program that is run again from its beginning: what that has written would be written
twice."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doorward import StateError
from doorward.administration import run_in_thread as off_loop
from doorward_durable_runs.journal.errors import RunInterrupted
from doorward_durable_runs.journal.replay import StoredJournal
from doorward_durable_runs.storage.run_store import RESUMABLE

if TYPE_CHECKING:
    from doorward_durable_runs.storage.given import Given
    from doorward_durable_runs.storage.run_store import RunStore, StoredRun


def sent(stored: StoredRun) -> str:
    """The calls of a run that went out and may not be repeated, in words; "" if there are none. Raises: StateError."""
    entries = [entry for entry in StoredJournal.read(stored).entries if entry.sent]
    lost = sum(not entry.ended for entry in entries)
    counts = Counter(entry.function for entry in entries)
    told = ", ".join(f"{function} ×{count}" for function, count in counts.items())
    return f"{told}{f' ({lost} of them with an answer that is lost)' if lost else ''}"


async def interrupted(store: RunStore, given: Given) -> RunInterrupted | None:
    """The error for a program of which another run was cut off after it had sent something that may not be repeated."""
    found = await store.equal(given)
    return await off_loop(_of, found) if found else None


def _of(found: Sequence[StoredRun]) -> RunInterrupted | None:
    for stored in found:
        try:
            if stored.given.expires > time.time() and (calls := sent(stored)):
                return _error(stored, calls)
        except StateError:
            continue
    return None


def _error(stored: StoredRun, calls: str) -> RunInterrupted:
    run = stored.given.run
    resumes = f'resume_run("{run}") lets it go on where it stood, and writes nothing twice.'
    if stored.lost:
        resumes = f"It cannot be resumed: {stored.lost}. Look at what is there."
    return RunInterrupted(
        f"the run {run} of this same program has sent {calls}, and is not over ({RESUMABLE[stored.state]}); "
        "this run has written nothing",
        hint=f'{resumes} To write all of it again: resume_run("{run}", give_up=true), and run the program again. '
        f"(For an operator: doorward runs resume {run}, or cancel {run}.)",
    )
