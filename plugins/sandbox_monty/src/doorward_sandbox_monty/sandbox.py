"""One Monty session: feeds programs to the worker, answers their calls, and ends them in time."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
import pydantic_monty as monty
from doorward import Door, Program, ProgramResult, SandboxDied
from doorward_jail import awaited, bind, sets_result

from doorward_sandbox_monty import api_errors, command_words, failures, files, rewriting, values
from doorward_sandbox_monty.calls import Calls
from doorward_sandbox_monty.modules import stand_in
from doorward_sandbox_monty.plans import PlanStopped, Unread, sent
from doorward_sandbox_monty.repeats import Repeats
from doorward_sandbox_monty.steps import Steps
from doorward_sandbox_monty.workers import Worker, Workers

_GRACE_SECONDS = 2.0
"""How long to wait for the news that a killed worker is gone."""


class MontySandbox:
    """A `Sandbox`: one worker, checked out for one run or one session."""

    def __init__(self, workers: Workers, worker: Worker, *, session: bool) -> None:
        self._workers = workers
        self._worker = worker
        self._keeps = session
        self._calls = Calls()
        self._awaited: dict[str, set[tuple[int, int]]] = {}
        self._fed = 0
        self._sent_much = False
        self._left_to_ask = math.inf
        self._repeats = Repeats(b"", ())
        self._running = False
        self._open = True
        self._classes = False

    async def run(self, program: Program, door: Door) -> ProgramResult:
        """See `doorward.Sandbox.run`. The feed runs in a task that is not cancelled with the run: to end a worker is to
        kill it, which the feed then reports."""
        self._running = True
        feed = asyncio.ensure_future(self._feed(program, door))
        try:
            return await asyncio.shield(feed)
        except asyncio.CancelledError:
            self._kill()
            self._calls.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([feed], timeout=_GRACE_SECONDS)
            if feed.done() and not feed.cancelled():
                feed.exception()  # the worker is known to be gone
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
            raise failures.no_files(line)
        code, inputs = bind(program.code, program.params)
        modules = self._worker.modules
        before = modules.begin(door, code)
        # a plan asks where the last call stands
        named = code if program.plan else values.kept(code)
        code = rewriting.rewritten(named, modules.mentioned, attributes=modules.has_aliases)
        self._repeats = Repeats(program.seed, () if self._keeps else door.times())
        calls = self._calls = Calls(door, self._awaited, self._repeats)
        self._left_to_ask = math.inf if self._keeps else program.limits.questions
        self._worker.on_death = calls.drop
        try:
            if rewriting.needed(code) and not self._worker.prepared:
                await self._drive(api_errors.PRELUDE, {}, calls)
                self._worker.prepared = True
            for text in filter(None, (before, rewriting.fields_read(code), command_words.prelude(code, program.argv))):
                await self._drive(text, {}, calls)
            file = f"<python-input-{self._fed}>"
            self._awaited[file] = awaited(code, also=api_errors.GATHERED)
            calls.unread = Unread.of(code, file) if program.plan else None
            step = None
            try:
                step = await self._drive(code, inputs, calls)
            except monty.MontyRuntimeError as error:
                if not failures.ends_well(error):
                    raise
            result = await self._drive(values.RESULT, {}, calls, unset=True) if sets_result(code) else None
            value = await self._value(result or step, calls)
            value = sent(calls.last) if value is None and calls.last and not result else value
            calls.tell()
            self._classes = self._classes or "class" in code
            return ProgramResult(value=_without_proxies(value, within=self._classes))
        except monty.MontyCrashedError as error:
            self._worker.died()
            if self._worker.ahead and not calls.made and not calls.over:
                # The worker may have died while it waited; a program that has done nothing yet may start again.
                self._workers.give_back(self._worker, next_too=False)
                self._worker, self._fed = await self._workers.check_out(program.limits), 0
                return await self._feed(program, door)
            if error.timed_out:
                raise failures.too_late(program.limits) from None
            raise SandboxDied(
                f"the sandbox died: {error}", hint="The program may have exhausted it; do less at once."
            ) from None
        except monty.MontyError as error:
            calls.tell()
            return failures.result_of(error, code, program.limits, made=calls.called)
        except PlanStopped as error:
            return failures.stopped(error)
        finally:
            calls.cancel()

    async def _value(self, step: monty.MontyComplete | None, calls: Calls) -> Any:
        """The value that a text has, of which nothing is made before. Raises: LimitExceeded if it is too large."""
        seconds = self._worker.steps.worked
        if step is not None and seconds > values.SUSPICIOUS_SECONDS:
            inputs = await asyncio.to_thread(values.builtins)
            counted = await self._drive(values.COUNT, inputs, calls, unset=True)
            if error := values.too_large(counted and counted.output, seconds):
                raise error
        return step and step.output

    async def _drive(
        self, code: str, inputs: Mapping[str, Any], calls: Calls, *, unset: bool = False
    ) -> monty.MontyComplete | None:
        """Feed one text and answer the worker's questions until it has a value. None if it asks for the name of a value
        that is `unset`."""
        worker, take = self._worker, self._worker.steps.take
        through = partial(self._repeats.through, again=worker.steps.again)
        self._fed += 1
        printed = partial(_printed, worker.steps, calls)
        try:
            self._sent_much = values.is_large(inputs)
            first = partial(worker.session.feed_start, code, inputs=dict(inputs), print_callback=printed)
            step = await take(through(first))
        except monty.MontyTypingError:
            self._fed -= 1  # Monty does not count it either when it names texts
            raise
        while not isinstance(step, monty.MontyComplete):
            if unset and isinstance(step, monty.NameLookupSnapshot) and step.variable_name in ("result", values.VALUE):
                return None
            self._left_to_ask -= 1
            if self._left_to_ask < 0:
                raise failures.too_often(worker.limits)
            step = await take(through(await self._answered(step, calls)))
        return step

    async def _answered(self, step: Any, calls: Calls) -> Callable[[], Any]:
        """Answer a question of the worker. Returns: its next step."""
        modules = self._worker.modules
        sent_much, self._sent_much = self._sent_much, False
        is_late = self._worker.steps.read > values.MOST_SECONDS and not sent_much
        if is_late and isinstance(step, monty.FunctionSnapshot):
            raise failures.too_much()
        match step:
            case monty.FunctionSnapshot(is_os_function=False) if step.function_name in modules.functions:
                answer = await calls.answer(step, modules.functions[step.function_name])
            case monty.FunctionSnapshot(function_name=api_errors.ERROR):
                answer = {"return_value": calls.errors.told(*step.args)}
            case monty.FunctionSnapshot(function_name=api_errors.SERVER):
                answer = await calls.call("doorward.server", step.args, step.kwargs)
            case monty.FunctionSnapshot(function_name="help" | "dir" | api_errors.ABOUT as asked):
                answer = await calls.explain(asked, step.args, modules)
            case monty.NameLookupSnapshot(variable_name="help" | "dir" as asked, object_id=None):
                return partial(step.resume, value=stand_in(asked))
            case monty.FunctionSnapshot(function_name="time.sleep" | "asyncio.sleep"):
                answer = await calls.sleep(step)
            case monty.FutureSnapshot():
                answer = await calls.settled(step.pending_call_ids)
            case _:
                return step.resume_auto  # type: ignore[no-any-return]
        self._sent_much = values.is_large(answer)
        return partial(step.resume, answer)


def _without_proxies(value: Any, *, within: bool) -> Any:
    """A value with the attributes of a program's own objects in their place, also `within` it."""
    match value:
        case monty.MontyClassProxy(name=name, attributes=attributes) if not attributes:
            return f"<{name} object>"  # as CPython shows it; `{}` would look like data
        case monty.MontyClassProxy(attributes=attributes):
            return _without_proxies(dict(attributes), within=True)
        case monty.MontyStdTypeProxy(name=name):
            return f"<built-in function {name}>"
        case dict() if within:
            return {key: _without_proxies(part, within=True) for key, part in value.items()}
        case list() | tuple() if within:
            return [_without_proxies(part, within=True) for part in value]
    return value


def _printed(steps: Steps, calls: Calls, stream: str, text: str) -> None:
    steps.ask(lambda: calls.print(text))
