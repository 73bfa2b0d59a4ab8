"""Runs the probes, small programs that show whether an executor isolates on this machine.

Each probe opens something on the host while it runs (a listener, a file, a process), and its program tries to reach it
with all the means of its language. The verdict follows from what the host sees, and only then from what the program
says. A probe takes milliseconds; all of them take seconds, even if nothing holds.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio
from doorward import (
    Artefact,
    DoorwardError,
    Failure,
    File,
    InvalidArguments,
    LimitExceeded,
    Limits,
    Program,
    ProgramResult,
    UnknownName,
    Unsupported,
)
from doorward.sandboxing import Aliases

from doorward_jail.probes.trial import Asked, Trial
from doorward_jail.probes.trials import TRIALS

if TYPE_CHECKING:
    from doorward import Executor

MISSING_FEATURE_ERRORS = (
    "ModuleNotFoundError",
    "NameError",
    "AttributeError",
    "NotImplementedError",
    "TypeError",
    "SyntaxError",
)
"""Types of the errors by which an interpreter says that it lacks a feature."""


@dataclass(frozen=True, slots=True)
class Probed:
    """The result of a probe. `held`: whether the isolation did; `None` if the executor's language cannot express the
    attempt. `says` is a sentence."""

    probe: str
    held: bool | None
    says: str
    ms: float


async def probe(executor: Executor, limits: Limits) -> list[Probed]:
    """Run every probe in sandboxes of this executor, with the limits that runs have.

    Raises: ExecutorError if it cannot run any program.
    """
    results = []
    can = executor.capabilities()
    language = "python" if "python" in can.languages else can.languages[0]
    token = f"doorward-{os.getpid()}-{secrets.token_hex(8)}"
    asked = Asked(token, limits, network=can.network, language=language)
    if isinstance(room := getattr(getattr(executor, "settings", None), "scratch", None), int):
        asked = replace(asked, scratch=room)
    # What a sandbox may have inherited must be there before the first one.
    with _environment(asked.token), TRIALS["open files"](asked) as inherited:
        first = Program("1 + 1", description="probe", limits=limits, language=language)
        await _run(executor, first, limits.timeout)
        with TRIALS["earlier programs"](asked) as leaves:
            await _try(executor, leaves, limits, language)
        for name, make in TRIALS.items():
            started = time.perf_counter()
            with contextlib.nullcontext(inherited) if name == "open files" else make(asked) as trial:
                held, says = await _try(executor, trial, limits, language)
            results.append(Probed(name, held, says, round((time.perf_counter() - started) * 1000, 1)))
    return results


def summary(results: Sequence[Probed]) -> str:
    """One line that names the probes that held, and those that could not be tried."""
    held = [r.probe for r in results if r.held]
    wordless = [r.probe for r in results if r.held is None]
    parts = [
        f"holds: {', '.join(held)}" if held else "",
        f"has no way to try: {', '.join(wordless)}" if wordless else "",
    ]
    return "; ".join(filter(None, parts))


async def _try(executor: Executor, trial: Trial, limits: Limits, language: str) -> tuple[bool | None, str]:
    value: Any = None
    error: DoorwardError | Failure | None = None
    limited = replace(limits, timeout=trial.seconds)
    program = Program(trial.code, trial.params, "probe", limits=limited, language=language)
    try:
        ended = await _run(executor, program, trial.seconds)
        value, error = ended.value, ended.error
    except DoorwardError as raised:
        error = raised
    wrong = await anyio.to_thread.run_sync(trial.judge, value, error)  # meanwhile the executor ends the sandbox
    if wrong:
        return False, wrong
    if isinstance(error, Unsupported) or (isinstance(error, Failure) and error.type in MISSING_FEATURE_ERRORS):
        return None, f"cannot be tried: {error.message}"
    if isinstance(error, DoorwardError) and not (isinstance(error, LimitExceeded) and trial.limit in error.message):
        return False, f"the probe did not come to its end: {error.message}"
    return True, trial.well


async def _run(executor: Executor, program: Program, seconds: float) -> ProgramResult:
    """Run a program in a sandbox of its own. Raises: DoorwardError; LimitExceeded at the deadline."""
    program = replace(program, deadline=time.monotonic() + seconds)
    with anyio.move_on_after(seconds):
        sandbox = await executor.open(program)
        try:
            return await sandbox.run(program, _NoDoor())
        finally:
            with anyio.CancelScope(shield=True):
                await sandbox.close()
    raise LimitExceeded(f"the run took more than {seconds:g} s")


class _NoDoor:
    """A door with nothing behind it."""

    def members(self, server: str) -> None:
        return None

    async def call(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        raise UnknownName("a probe calls nothing")

    def stub(self, server: str, names: Sequence[str]) -> str:
        return ""

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        return Aliases()

    def print(self, text: str) -> bool:
        return True

    async def open(self, uri: str) -> File:
        raise InvalidArguments("a probe opens nothing")

    def times(self) -> Sequence[float]:
        return ()

    def seen(self, times: Sequence[float]) -> None:
        pass

    def at(self, line: int) -> None:
        pass

    def keep(self, content: bytes, type: str, name: str = "") -> Artefact:
        return Artefact("", type, len(content))


@contextlib.contextmanager
def _environment(token: str) -> Iterator[None]:
    os.environ["DOORWARD_PROBE"] = token
    try:
        yield
    finally:
        del os.environ["DOORWARD_PROBE"]
