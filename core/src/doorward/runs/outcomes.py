"""What came of a run, as its caller gets it: a value, cut if it is large, or the failure."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from doorward.data import values
from doorward.data.languages import JSON, is_script
from doorward.model.errors import DoorwardError, InvalidProgram, Unsupported
from doorward.model.outcomes import Outcome, Truncated, Waiting
from doorward.model.programs import Failure, Frame
from doorward.model.waits import Wait, resumed_at

if TYPE_CHECKING:
    from doorward.runs.program_value import Written
    from doorward.runs.run_context import RunContext


async def succeeded(value: Any, written: Written, run: RunContext, **more: Any) -> Outcome:
    """The outcome with a plain value. A large value is cut, and a handle leads to the whole. Raises: LimitExceeded,
    StateError."""
    truncated: Truncated | None = None
    dumped, named = written
    if len(dumped) > run.program.limits.inline_bytes:
        whole = (
            run.hold(value, "text/plain")
            if isinstance(value, str)
            else run.hold(dumped, "application/json", is_text=True)
        )
        truncated = {
            "shape": values.shape(value),
            "bytes": whole.bytes,
            "rest": whole.uri,
            "read": reading(whole.uri, run.program.language),
        }
        value = values.cut(value, run.program.limits.shown_bytes)
    return Outcome(True, value=value, truncated=truncated, artefacts=await run.left(named), **more)


def reading(uri: str, language: str) -> str:
    """How a program of a language reads an artefact, or an agent that writes no programs."""
    if language == JSON:
        return f'call_function with cursor="{uri}"'
    return f'{"await " if is_script(language) else ""}doorward.read("{uri}")'


def waiting(run: str, waits: Sequence[Wait], then: str) -> Waiting:
    """Why a run is suspended, and what its agent does `then`, and when."""
    what = [*dict.fromkeys(each.what for each in waits)]
    for together, count in Counter(each.together for each in waits).items():
        what += [together] if together and count > 1 else []
    until = resumed_at(waits)
    if until:
        then += f", in {max(1, until - int(time.time()))} s, and not before"
    return Waiting(waits[0].for_, run, tuple(what), then, until)


def failure(error: DoorwardError, type: str = "") -> Failure:
    """One of our own errors as the failure of a run."""
    known = type or (error.type if isinstance(error, InvalidProgram) else "") or error.__class__.__name__
    line = error.line if isinstance(error, (InvalidProgram, Unsupported)) else None
    return Failure(error.kind, known, error.message, line, hint=error.hint)


def explained(error: Failure, run: RunContext) -> Failure:
    """The failure with the source lines of its frames, the failed call that caused it, and a hint if it has none."""
    lines = run.program.code.splitlines()
    frames = tuple(f if f.source else Frame(f.line, f.function, _source(lines, f.line)) for f in error.frames)
    error = replace(error, frames=frames)
    cause = run.cause(error.message)
    if cause is not None and error.kind == "program":
        error = replace(error, kind=cause.kind, type=type(cause).__name__, hint=error.hint or cause.hint)
    if error.kind == "program" and error.type.endswith("MemoryError"):  # NumPy has one of its own
        told = f"the program needed more memory than its limit of {run.program.limits.memory_bytes // 2**20} MiB"
        return replace(error, kind="limit", type="LimitExceeded", message=told, hint="Work on smaller pieces.")
    return error if error.hint else replace(error, hint=run.texts.hint(error, run))


def _source(lines: list[str], number: int) -> str:
    return lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""
