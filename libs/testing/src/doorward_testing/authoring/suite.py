"""Runs tests of a plugin: its own, or the conformance classes of its kinds."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doorward_testing.authoring.candidate import KIND_OF, Candidate
from doorward_testing.authoring.findings import Found
from doorward_testing.authoring.subprocesses import Answered, Place, usable

SUITE_SECONDS = 900.0
"""How long all tests may take."""

TEST_SECONDS = 150.0
"""How long one of them may take."""

END_SECONDS = 5.0
"""How long the process may take to end when the tests are over: a thread that a test has left would keep it."""

MAX_FAILURES = 20
"""Failed tests that are told."""

_CONFORMANCE = """\
from importlib.metadata import entry_points
from doorward_testing import {base}

(point,) = {{p for p in entry_points(group={group!r}, name={name!r})}}
thing = point.load()


class Test{base}({base}):
    {body}
"""
_BASES = {
    "store": ("StoreConformance", "driver = thing"),
    "cache": ("CacheConformance", "driver = thing"),
    "command": ("CommandConformance", "command, name = thing, {name!r}"),
    "distribution": ("DistributionConformance", "distribution = {distribution!r}"),
    "executor": ("ExecutorConformance", "def executor(self, host): return thing(host.context(thing.Settings))"),
}
"""The conformance classes that need nothing of an author, by kind, and what their tests say of what is under test."""


def tested(candidate: Candidate, place: Place) -> Iterator[Found]:
    """How its own tests end; without any, those of core for its kinds."""
    tests = candidate.folder / "tests" if candidate.folder else None
    if tests and tests.is_dir() and candidate.folder:
        yield from _ended("its own tests", place.run(_words(tests), cwd=candidate.folder, seconds=SUITE_SECONDS))
        return
    if candidate.folder:
        do = "Inherit the conformance class of its kind: docs/plugins.md, Tests."
        yield Found("to do", "tests", "has no folder tests", do)
    for point in usable(candidate):
        kind = KIND_OF[point.group]
        if kind not in _BASES:
            continue
        base, body = _BASES[kind]
        about = {"group": point.group, "name": point.name, "distribution": candidate.distribution}
        file = place.folder / f"test_{kind}.py"
        file.write_text(_CONFORMANCE.format(base=base, body=body.format(**about), **about), encoding="utf-8")
        yield from _ended(f"{kind} {point.name}: {base}", place.run(_words(file), seconds=SUITE_SECONDS))


def _words(tests: Path) -> list[str]:
    """A command line of pytest that leaves nothing behind, and answers to our own plugin."""
    ours = ["-p", "doorward_testing.authoring.suite", "--doorward-answer", "ANSWER"]
    ours += ["--doorward-seconds", f"{TEST_SECONDS:g},{END_SECONDS:g}"]
    return ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", *ours, str(tests)]


def _ended(check: str, answered: Answered) -> Iterator[Found]:
    counts = answered.value
    if not isinstance(counts, dict):
        last = "\n".join(answered.output.strip().splitlines()[-10:])
        yield Found("wrong", check, f"the tests cannot be run: pytest {answered.ended}", last)
        return
    failed = counts["failed"]
    for test, why in failed[:MAX_FAILURES]:
        yield Found("wrong", check, test, why)
    said = ", ".join(f"{counts[how]} {how}" for how in ("passed", "skipped") if counts[how])
    if len(failed) > MAX_FAILURES:
        yield Found("wrong", check, f"{len(failed) - MAX_FAILURES} more failed", "")
    if not failed and not counts["passed"]:
        yield Found("to do", check, "no test passed" + (f", {said}" if said else ": there is none"), "Write some.")
    elif not failed:
        yield Found("ok", check, said)


# In the process of pytest


class _Answer:
    """A plugin of pytest that writes down how tests end."""

    def __init__(self, file: Path, seconds: str) -> None:
        self.file = file
        self._of_test, self._of_end = map(float, seconds.split(","))
        self._limit: threading.Timer | None = None
        self.counts: dict[str, Any] = {"passed": 0, "skipped": 0, "failed": []}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.counts["failed"].append((report.nodeid, _why(report)))
        elif report.skipped or report.when == "call":
            self.counts[report.outcome] += 1

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.counts["failed"].append((report.nodeid or "the tests", _why(report)))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._give(self._of_test, nodeid, f"did not end within {self._of_test:g} s; what follows was not run")

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self._limit is not None:
            self._limit.cancel()

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps(self.counts), encoding="utf-8")

    def pytest_unconfigure(self) -> None:
        self._give(self._of_end, "the tests", "are over, and their process did not end: one has left a thread")

    def _give(self, seconds: float, what: str, why: str) -> None:
        """End this process if it is still busy with something after these seconds."""

        def end() -> None:
            self.counts["failed"].append((what, why))
            self.file.write_text(json.dumps(self.counts), encoding="utf-8")
            os._exit(1)

        self._limit = threading.Timer(seconds, end)
        self._limit.daemon = True
        self._limit.start()


def _why(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr).strip()[:1000]


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--doorward-answer", type=Path)
    parser.addoption("--doorward-seconds")


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(
        _Answer(config.getoption("--doorward-answer"), config.getoption("--doorward-seconds"))
    )
