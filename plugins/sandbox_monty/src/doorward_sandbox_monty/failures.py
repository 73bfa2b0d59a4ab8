"""How a program in Monty failed: by its own error, at a limit, or by something that Monty cannot run."""

from __future__ import annotations

import pydantic_monty as monty
from doorward import Failure, LimitExceeded, Limits, ProgramResult, Unsupported
from doorward.sandboxing import Frame

from doorward_sandbox_monty import api_errors
from doorward_sandbox_monty.library import LIBRARY
from doorward_sandbox_monty.missing_features import missing_feature
from doorward_sandbox_monty.plans import PlanStopped

_NO_FILE = "Permission denied: '"
"""How a program fails that uses files, if its text did not show that beforehand."""


def no_files(line: int | None) -> Unsupported:
    hint = "doorward.read(handle) is what a file holds; to leave a file, return its bytes: they are kept as one."
    return Unsupported("monty has no files", hint=hint, line=line)


def too_late(limits: Limits) -> LimitExceeded:
    return LimitExceeded(
        f"the run took more than {limits.timeout:g} s", hint="Do less in one run, or ask for a longer `timeout`."
    )


def too_often(limits: Limits) -> LimitExceeded:
    hint = (
        "Make fewer calls, and sleep less often: end the program when calls are refused, "
        "and ask for many things at once."
    )
    asked, calls = limits.questions, limits.calls
    return LimitExceeded(
        f"the program turned to its host more than {asked} times, far beyond its limit of {calls} calls", hint=hint
    )


def too_much() -> LimitExceeded:
    return LimitExceeded("the arguments of a call are too large to be read", hint="Send less at once.")


def stopped(error: PlanStopped) -> ProgramResult:
    hint = (
        "Call it without using its answer, or plan the program up to here. In full CPython (nsjail, docker) a plan "
        "hands answers on: the operator can add one to `executor`."
    )
    return ProgramResult(error=Failure("program", "PlanStopped", str(error), error.line, hint=hint))


def ends_well(error: monty.MontyRuntimeError) -> bool:
    """Whether a program has ended itself, and says of no error."""
    return isinstance(error.exception(), SystemExit) and error.display("msg") in ("", "0", "None")


def result_of(error: monty.MontyError, code: str, limits: Limits, *, made: bool) -> ProgramResult:
    """The result of a program that raised an error. Raises: Unsupported if the error is that Monty
    cannot run it; LimitExceeded."""
    inner = error.exception()
    if isinstance(error, monty.MontyTypingError):
        return ProgramResult(
            error=Failure(
                "program",
                "TypeError",
                error.display().replace("main.py", "program.py")[:4000],
                hint="Nothing has run. Fix the types first.",
            )
        )
    frames = _of_program(error.traceback()) if hasattr(error, "traceback") else []
    line = frames[-1].line if frames else None
    name = api_errors.named(inner, code)
    message = (
        error.display("msg") if isinstance(error, (monty.MontyRuntimeError, monty.MontySyntaxError)) else str(error)
    )
    message = message.replace("'_csv.Error' object", "'ApiError' object").replace(
        "'binascii.Incomplete' object", "'ToolError' object"
    )
    message = message.rstrip(" ") if name == "ApiError" else message
    lacks = missing_feature(name, message)
    if lacks and not made:
        raise Unsupported(lacks.what, hint=lacks.instead, line=line, module=lacks.module)
    if name == "ModuleNotFoundError" and lacks:
        message, lacks = f"{message}; monty has {', '.join(LIBRARY)}", None
    if not made and name == "PermissionError" and message.startswith(_NO_FILE):
        raise no_files(line)
    if name == "TimeoutError" and "time limit exceeded" in message:
        raise too_late(limits)
    if name == "MemoryError" and "memory limit" in message:
        raise LimitExceeded(
            f"the program needed more memory than its limit of {limits.memory_bytes // 2**20} MiB",
            hint="Work on smaller pieces.",
        )
    shown = tuple(Frame(f.line, getattr(f, "function_name", "") or "<module>") for f in frames[-20:])
    return ProgramResult(error=Failure("program", name, message, line, shown, hint=lacks.instead if lacks else None))


def _of_program(frames: list[monty.Frame]) -> list[monty.Frame]:
    """The frames of a program: the first is one, and those of our preludes are in other texts."""
    file = frames[0].filename if frames else ""
    return [f for f in frames if f.filename == file and not (f.function_name or "").startswith(api_errors.OURS)]
