"""One Monty session: feeds programs, answers what they ask, and ends them in time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Awaitable, Container, Coroutine, Mapping
from types import MappingProxyType
from typing import Any

import anyio
import pydantic_monty as monty
from doorward import (
    Door,
    DoorwardError,
    Failure,
    Frame,
    LimitExceeded,
    Limits,
    Program,
    ProgramResult,
    SandboxDied,
    Unsupported,
    awaited,
    bind,
    sets_result,
)

from doorward_sandbox_monty import api_errors, files, rewriting
from doorward_sandbox_monty.lacking import lacking
from doorward_sandbox_monty.modules import LIBRARY, Modules, stand_in
from doorward_sandbox_monty.workers import Worker, Workers

_GRACE = 2.0
"""Seconds to wait for the news that a killed worker is gone."""


class MontySandbox:
    """A `Sandbox`: one worker, checked out for one run or one session."""

    def __init__(self, workers: Workers, worker: Worker, *, session: bool) -> None:
        self._workers = workers
        self._worker = worker
        self._keeps = session
        self._calls = _Calls()
        self._awaited: dict[str, set[tuple[int, int]]] = {}
        self._fed = 0
        self._running = False
        self._open = True

    async def run(self, program: Program, door: Door) -> ProgramResult:
        """See `doorward.Sandbox.run`. The feed runs in a task of its own that is never cancelled: a worker is ended
        by killing it, which the feed then reports; cancelling a feed could abort this process at its exit."""
        self._running = True
        feed = asyncio.ensure_future(self._feed(program, door))
        try:
            return await asyncio.shield(feed)
        except asyncio.CancelledError:
            self._kill()
            self._calls.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([feed], timeout=_GRACE)
            if feed.done() and not feed.cancelled():
                feed.exception()  # that the worker is gone is no news
            raise
        finally:
            self._running = False

    async def close(self) -> None:
        if self._open:
            self._open = False
            if self._running:
                self._kill()
                self._calls.cancel()
            self._workers.give_back(self._worker, next_too=not self._keeps)

    def _kill(self) -> None:
        if self._worker.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._worker.pid, signal.SIGKILL)

    async def _feed(self, program: Program, door: Door) -> ProgramResult:
        if self._fed == 0 and (line := files.wanted(program.code)) is not None:
            raise _no_files(line)
        code, inputs = bind(program.code, program.params)
        modules = self._worker.modules
        before = modules.begin(door, code)
        code = rewriting.rewritten(code, modules.mentioned)
        calls = self._calls = _Calls(door, self._awaited)
        self._worker.on_death = calls.drop
        try:
            if rewriting.needed(code) and not self._worker.prepared:
                await self._drive(api_errors.PRELUDE, {}, calls, door)
                self._worker.prepared = True
            if before:
                await self._drive(before, {}, calls, door)
            self._awaited[f"<python-input-{self._fed}>"] = _awaited(code)
            value = await self._drive(code, inputs, calls, door)
            if sets_result(code):
                value = await self._drive("result", {}, calls, door, unless=(value,))
            return ProgramResult(value=value)
        except monty.MontyCrashedError as error:
            self._worker.died()
            if self._worker.ahead and not calls.made and not calls.over:
                # It may have died while it waited for a program; one that has done nothing yet may start anew.
                self._worker, self._fed = await self._workers.check_out(program.limits), 0
                return await self._feed(program, door)
            if error.timed_out:
                raise _too_late(program.limits) from None
            raise SandboxDied(
                f"the sandbox died: {error}", hint="The program may have exhausted it; do less at once."
            ) from None
        except monty.MontyError as error:
            return _ended(error, code, program.limits, made=calls.called)
        finally:
            calls.cancel()

    async def _drive(
        self, code: str, inputs: Mapping[str, Any], calls: _Calls, door: Door, *, unless: tuple[Any, ...] = ()
    ) -> Any:
        """Feed one text and answer the worker's questions until it has a value: `unless` holds that for a name that is
        not set."""
        worker = self._worker
        self._fed += 1
        try:
            step = await worker.session.feed_start(
                code, inputs=dict(inputs), print_callback=lambda stream, text: calls.print(text)
            )
        except monty.MontyTypingError:
            self._fed -= 1  # Monty's own count, by which it names texts, leaves it out
            raise
        while not isinstance(step, monty.MontyComplete):
            match step:
                case monty.AsyncFunctionSnapshot(function_name=api_errors.ERROR):
                    step = await step.resume({"return_value": calls.errors.told(*step.args)})
                case monty.AsyncFunctionSnapshot(function_name=api_errors.SERVER):
                    step = await step.resume(await calls.call("doorward.server", step.args, step.kwargs))
                case monty.AsyncFunctionSnapshot(function_name="help" | "dir" | api_errors.ABOUT as asked):
                    step = await step.resume(await calls.explain(asked, step.args, worker.modules))
                case monty.AsyncNameLookupSnapshot(variable_name="help" | "dir" as asked, object_id=None):
                    step = await step.resume(value=stand_in(asked))
                case monty.AsyncFunctionSnapshot(is_os_function=False) if (
                    step.function_name in worker.modules.functions
                ):
                    step = await step.resume(await calls.answer(step, worker.modules.functions[step.function_name]))
                case monty.AsyncFunctionSnapshot(function_name="time.sleep" | "asyncio.sleep"):
                    step = await step.resume(await calls.sleep(step))
                case monty.AsyncFutureSnapshot():
                    step = await step.resume(await calls.settled(step.pending_call_ids))
                case monty.AsyncNameLookupSnapshot(variable_name="result") if unless:
                    return unless[0]
                case _:
                    step = await step.resume_auto()
        return step.output


class _Calls:
    """The calls of one feed: answered at once, or as futures where they are awaited. `awaited` has the places where
    that is, by the text in which the call stands: a session's functions are of earlier ones."""

    def __init__(
        self, door: Door | None = None, awaited: Mapping[str, Container[tuple[int, int]]] = MappingProxyType({})
    ) -> None:
        self._door = door
        self._awaited = awaited
        self._running: set[asyncio.Future[Any]] = set()
        self._pending: dict[int, asyncio.Task[Any]] = {}
        self.errors = api_errors.Errors()
        self.made = False  # anything that is seen outside
        self.called = False
        self.over = False

    def print(self, text: str) -> None:
        self.made = True
        if self._door is not None:
            self._door.print(text)

    async def answer(self, step: Any, function: str) -> Any:
        self.made = self.called = True
        call = self.call(function, step.args, step.kwargs)
        return self._later(step.call_id, call) if self._is_awaited(step.position) else await call

    async def explain(self, asked: str, args: Any, modules: Modules) -> Any:
        """What `help(value)`, `dir(value)` and `value.__doc__` are, for what is ours; Monty itself knows none of
        them."""
        assert self._door is not None
        self.made = self.called = True
        meant = modules.meant(args[0]) if args else "doorward"
        if asked == "dir":
            names = self._door.members(meant or "")
            return (
                {"return_value": sorted(names)}
                if names
                else {"exc_type": "TypeError", "message": "dir() is for servers and doorward here"}
            )
        told = await self.call("doorward.describe", [meant], {}) if meant else {"return_value": None}
        if asked != "help" or "return_value" not in told:
            return told
        self._door.print(f"{told['return_value'] or 'help() is for servers, their functions and doorward here'}\n")
        return {"return_value": None}

    async def sleep(self, step: Any) -> Any:
        """The host waits for a program that sleeps: the deadline of the run bounds it."""
        seconds = max(0.0, float(step.args[0])) if step.args else 0.0
        waiting = self._value(asyncio.sleep(min(seconds, 3600)))
        return self._later(step.call_id, waiting) if self._is_awaited(step.position) else await waiting

    def _is_awaited(self, place: Any) -> bool:
        return (place.start, place.end) in self._awaited.get(place.filename, ())

    async def settled(self, ids: list[int]) -> dict[int, Any]:
        """The answers that are there, after at least one of these calls has ended."""
        tasks = [self._pending[i] for i in ids if i in self._pending]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return {i: self._pending.pop(i).result() for i in ids if i in self._pending and self._pending[i].done()}

    def cancel(self) -> None:
        """End what is under way for a program that is over."""
        self.over = True
        self.drop()

    def drop(self) -> None:
        """End what is under way: nobody waits for it any more."""
        for task in self._running:
            task.cancel()

    def _later(self, call_id: int, call: Awaitable[Any]) -> Any:
        self._pending[call_id] = asyncio.ensure_future(call)
        return {"future": ...}

    async def call(self, function: str, args: Any, kwargs: Any) -> Any:
        assert self._door is not None
        return await self._value(self._door.call(function, args, kwargs))

    async def _value(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What came of the work, as the worker wants to be told."""
        task = asyncio.ensure_future(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await asyncio.wait([task])  # is itself cancelled only with the whole loop, at the end of this process
        try:
            return {"return_value": task.result()}
        except DoorwardError as error:
            return self.errors.raised(error)
        except asyncio.CancelledError:
            return {"exc_type": "RuntimeError", "message": "the run is over"}


def _awaited(code: str) -> set[tuple[int, int]]:
    try:
        return awaited(code)
    except DoorwardError:
        return set()


def _no_files(line: int | None) -> Unsupported:
    hint = "doorward.read(handle) is what a file holds; to leave a file, return its bytes: they are kept as one."
    return Unsupported("monty has no files", hint=hint, line=line)


def _too_late(limits: Limits) -> LimitExceeded:
    return LimitExceeded(
        f"the run took more than {limits.timeout:g} s", hint="Do less in one run, or ask for a longer `timeout`."
    )


_TOO_OFTEN = re.compile(r"suspension limit \d+ exceeded")
_NO_FILE = "Permission denied: '"
"""How a program fails that wants files, where its text does not say so."""


def _ended(error: monty.MontyError, code: str, limits: Limits, *, made: bool) -> ProgramResult:
    """What a program raised; or `Unsupported`, if it is what Monty cannot run."""
    inner = error.exception()
    if isinstance(error, monty.MontyTypingError):
        return ProgramResult(
            error=Failure(
                "program",
                "TypeError",
                error.display().replace("main.py", "program.py")[:4000],
                hint="Nothing has run. Mend the types first.",
            )
        )
    frames = (
        [f for f in error.traceback() if not (f.function_name or "").startswith(api_errors.OURS)]
        if hasattr(error, "traceback")
        else []
    )
    line = frames[-1].line if frames else None
    name = api_errors.named(inner, code)
    message = (
        error.display("msg") if isinstance(error, (monty.MontyRuntimeError, monty.MontySyntaxError)) else str(error)
    )
    message = message.replace("'_csv.Error' object", "'ApiError' object").replace(
        "'binascii.Incomplete' object", "'ToolError' object"
    )
    message = message.rstrip(" ") if name == "ApiError" else message
    lacks = lacking(name, message)
    if lacks and not made:
        raise Unsupported(lacks.what, hint=lacks.instead, line=line, module=lacks.module)
    if name == "ModuleNotFoundError" and lacks:
        message, lacks = f"{message}; monty has {LIBRARY}", None
    if not made and name == "PermissionError" and message.startswith(_NO_FILE):
        raise _no_files(line)
    if name == "TimeoutError" and "time limit exceeded" in message:
        raise _too_late(limits)
    if name == "RuntimeError" and _TOO_OFTEN.fullmatch(message):
        hint = "Make fewer calls, and sleep less often: end the program when calls are refused, and ask for many things at once."
        asked, calls = limits.questions, limits.calls
        raise LimitExceeded(
            f"the program turned to its host more than {asked} times, far beyond its limit of {calls} calls", hint=hint
        )
    if name == "MemoryError" and "memory limit" in message:
        raise LimitExceeded(
            f"the program needed more memory than its limit of {limits.memory_bytes // 2**20} MiB",
            hint="Work on smaller pieces.",
        )
    shown = tuple(Frame(f.line, getattr(f, "function_name", "") or "<module>") for f in frames[-20:])
    return ProgramResult(error=Failure("program", name, message, line, shown, hint=lacks.instead if lacks else None))
