"""All checks of a plugin, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from doorward_testing.authoring.candidate import Candidate
from doorward_testing.authoring.findings import Found
from doorward_testing.authoring.metadata import entry_points, metadata
from doorward_testing.authoring.subprocesses import place, probed, usable
from doorward_testing.authoring.suite import tested


def checked(candidate: Candidate, *, tests: bool = True) -> Iterator[Found]:
    """What is well, what is to do, and what is wrong. Its tests are run only if it can be loaded."""
    yield from metadata(candidate)
    yield from entry_points(candidate)
    if not usable(candidate):
        return
    is_loaded = True
    with place(candidate) as found_there:
        for found in probed(candidate, found_there):
            is_loaded = is_loaded and found.status != "wrong"
            yield found
        if tests and is_loaded:
            yield from tested(candidate, found_there)
        elif tests:
            yield Found("to do", "tests", "were not run, because it cannot be used as it is", "Fix that first.")
