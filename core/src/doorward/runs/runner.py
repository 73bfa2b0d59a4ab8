"""Runs a program in the first executor that can, within its limits, and returns an `Outcome`."""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import anyio

from doorward.data import values
from doorward.data.json_writing import dump
from doorward.data.offload import done, is_large
from doorward.host.logs import log
from doorward.model.errors import (
    DoorwardError,
    ExecutorError,
    InvalidArguments,
    LimitExceeded,
    SandboxDied,
    StateError,
    Unsupported,
)
from doorward.model.programs import Failure, Finding, Outcome, Program, ProgramResult
from doorward.model.recording import RECORDERS, WITHHOLDS
from doorward.plugins.failures import kind_of
from doorward.plugins.hook_answers import Answer
from doorward.plugins.hooks import AwaitedAnswer
from doorward.plugins.layers import RunLayers
from doorward.runs.helper_context import HELPING, UNTOLD
from doorward.runs.outcomes import (
    ProgramValue,
    Written,
    explained,
    failure,
    keep_bytes,
    read_value,
    reading,
    shortened,
    succeeded,
    waiting,
    written,
)
from doorward.sandboxes.sessions import gone
from doorward.secrets.scrubber import made_by
from doorward.secrets.variants import as_bytes

if TYPE_CHECKING:
    from doorward.model.services import Services
    from doorward.plugins.manager import Plugins
    from doorward.runs.run_context import RunContext
    from doorward.sandboxes.executors import Executors
    from doorward.sandboxes.sessions import Session
    from doorward.secrets.store import Secrets


_READABLE_SHARE = 1 / 8
"""Share of an answer's size; in longer text, bytes and base64 are cut or become files."""

_SHOWN_ERROR_CHARS = 2**16
"""Characters of an error that are shortened and shown."""

_SEARCHED_ERROR_CHARS = 2**20
"""Characters of an error that are searched for credentials: more than are shown."""


class Runs:
    """Runs programs, one `Outcome` each; nothing that a program does makes this raise."""

    def __init__(self, executors: Executors, plugins: Plugins, secrets: Secrets, services: Services) -> None:
        self._executors = executors
        self._plugins = plugins
        self._secrets = secrets
        self._services = services

    @cached_property
    def layers(self) -> RunLayers:
        """What stands around runs. Raises: PluginError for layers that cannot be put in order."""
        return RunLayers(self._plugins)

    async def run(
        self, program: Program, run: RunContext, session: Session | None = None, *, whole: RunContext | None = None
    ) -> Outcome:
        """Guards, then the first executor that can run it, then the value made plain, scrubbed and cut; and layers
        around that, unless they stand around the `whole` of which this is a part."""
        if session is not None:
            program = session.begin(program)
        inside = partial(self._outcome, program, run, session, time.perf_counter())
        if whole is None:
            return await self.around(run, inside, program)
        whole.count_with(run)
        return await run.ended(await inside())

    async def around(
        self, run: RunContext, inside: Callable[[], Awaitable[Outcome]], program: Program | None = None
    ) -> Outcome:
        """The outcome of what is inside of a run, with the layers around it. Observers get it, once, however it
        ends."""
        program, started = program or run.program, time.perf_counter()
        try:
            outcome = await self._layered(run, inside)
        except asyncio.CancelledError:
            why = Failure("limit", "Cancelled", "the client is gone")
            cancelled = Outcome(
                False, error=why, calls=run.totals.calls(), usage=run.totals.usage(), ms=_ms_since(started)
            )
            self._plugins.hook.run_finished(program=program, outcome=cancelled)
            raise
        self._plugins.hook.run_finished(program=program, outcome=outcome)
        return outcome

    async def _layered(self, run: RunContext, inside: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The outcome of what is inside, with the layers around it. One that refuses the run is an outcome, too; what
        they have noted of it afterwards is in it."""
        started = time.perf_counter()
        try:
            if not self.layers.all:
                return await run.ended(await inside())
            outcome = await self.layers.around(run.view, inside, partial(self._of_layer, run))
        except DoorwardError as error:
            calls, usage = run.totals.calls(), run.totals.usage()
            outcome = Outcome(False, error=failure(error), calls=calls, usage=usage, ms=_ms_since(started))
        outcome = await run.ended(outcome)
        later = [note for note in run.notes if note not in outcome.notes]
        return replace(outcome, notes=(*outcome.notes, *later)) if later else outcome

    async def _of_layer(self, run: RunContext, outcome: Outcome) -> Outcome:
        """An outcome that a layer gives in the place of the run's: its value plain, scrubbed and cut.

        Raises: DoorwardError if it cannot be read."""
        if outcome.value is None:
            return outcome
        redactor = self._secrets.redactor(made_by(run.program.principal, run.reached))

        def read() -> tuple[Any, Written]:
            value = redactor.value(values.plain(outcome.value))
            return value, written(value)

        cut = await succeeded(*await done(read, large=is_large(outcome.value)), run)
        return replace(outcome, value=cut.value, truncated=cut.truncated, artefacts=cut.artefacts)

    async def answer(self, run: RunContext, function: str, arguments: Mapping[str, Any]) -> Outcome:
        """One call as a run, without a program."""
        return await self._layered(run, partial(self._answer, run, function, arguments))

    async def _answer(self, run: RunContext, function: str, arguments: Mapping[str, Any]) -> Outcome:
        started = time.perf_counter()
        try:
            reply = await run.reply(function, (), arguments)
            read = await done(written, reply.value, large=is_large(reply.value))
            told = self._services.get(HELPING) or UNTOLD
            notes = (*run.notes, *told.after(run, function, arguments, reply))
            usage, ms = run.totals.usage(), _ms_since(started)
            return await succeeded(reply.value, read, run, notes=notes, usage=usage, ms=ms)
        except DoorwardError as error:
            return Outcome(False, error=failure(error), usage=run.totals.usage(), ms=_ms_since(started))

    async def _outcome(self, program: Program, run: RunContext, session: Session | None, started: float) -> Outcome:
        notes: list[str] = []
        try:
            refused = await self._guard(program, run, notes)
            if refused:
                ended = ProgramResult(error=refused)
            elif run.clock.now() > program.deadline:  # a guard has blocked everything
                ended = ProgramResult(error=failure(self._late(program), type="TimeoutError"))
            else:
                self._plugins.hook.run_started(program=program)
                ended = await self._execute(program, run, session)
                if run.suspension.failed:  # its program may have caught that, and come to an end first
                    raise run.suspension.failed
        except DoorwardError as error:
            ended = ProgramResult(error=failure(error))
        except Exception as error:
            ended = _defect(run, error)
        try:
            return await self._finish(program, run, ended, notes, started)
        except Exception as error:  # the result is none that anybody could read
            return await self._finish(program, run, _defect(run, error), notes, started)

    async def _guard(self, program: Program, run: RunContext, notes: list[str]) -> Failure | None:
        """The first refusal of a guard; what the guards found besides becomes notes. Guards that wait for something
        are asked last, and only if no other refuses."""
        refusal: Failure | None = None
        if granted := self._executors.granted(program.language):
            program = replace(program, granted=granted)
        for answer in sorted(self._plugins.hook.guard_program(program=program), key=inspect.isawaitable):
            found = answer
            if inspect.isawaitable(answer):
                if refusal:
                    break
                with run.clock.until(program.deadline) as scope:
                    found = await answer
                if scope.cancelled_caught:
                    return failure(_late_guard(answer, program), type="TimeoutError")
            for finding in found or ():
                if finding.refuse and not refusal:
                    refusal = _refusal(finding, found)
                else:
                    where = f"line {finding.line}: " if finding.line else ""
                    notes.append(f"{where}{finding.message}. {finding.instead}".strip())
        return refusal

    async def _execute(self, program: Program, run: RunContext, session: Session | None) -> ProgramResult:
        """The result of the program in the first executor that can run it.

        A program moves on to the next executor only if it has made no call yet.
        """
        await run.prepare()
        declined: list[tuple[str, ExecutorError]] = []
        names = [session.executor] if session and session.executor else self._executors.names
        tried = self._services[WITHHOLDS].executors(names) if program.plan else [(name, None) for name in names]
        for name, unfit in tried:
            if not self._executors.may_run(name, program.language):
                continue
            if unfit is not None:
                declined.append((name, unfit))
                continue
            run.begin(name, repeats=self._executors.repeats(name))
            try:
                with run.clock.until(program.deadline) as scope, run.suspension.ends(scope):
                    if session:
                        return await session.run(self._executors, name, program, run)
                    sandbox = await self._executors.open(name, program)
                    try:
                        return await sandbox.run(program, run)
                    finally:
                        with anyio.CancelScope(shield=True):
                            await sandbox.close()
                if scope.cancelled_caught:
                    if run.suspension.failed:
                        raise run.suspension.failed
                    if run.suspended:
                        await run.suspension.store()
                        return ProgramResult(suspended=True)
                    late = self._late(program, run.interrupted_call)
                    if session and session.dead:
                        late.hint = gone(late.hint)
                    line = _line_of(run.interrupted_call, program.code) or run.line or _line_of_loop(program.code)
                    return ProgramResult(error=replace(failure(late, type="TimeoutError"), line=line))
            except Unsupported as error:
                declined.append((name, error))
                if run.made:
                    break
            except SandboxDied:
                raise
            except ExecutorError as error:
                log.warning("sandbox_not_opened", executor=name, error=error.message, hint=error.hint)
                declined.append((name, error))
                if run.made or len(self._executors.names) == 1:
                    if name not in error.message:
                        error.message = f"{name}: {error.message}"
                    raise
        modules = [e.module for _, e in declined[:1] if isinstance(e, Unsupported) and e.module]
        hints_given = [run.texts.no_module(module, run) for module in modules]
        hints_given += [e.hint for _, e in declined if e.hint]
        lines = [e.line for _, e in declined if isinstance(e, Unsupported) and e.line]
        message = "; ".join(f"{name}: {error}" for name, error in declined) or "no executor is configured"
        bound = session.executor if session else ""
        advice = run.texts.no_executor(
            bound or (declined[-1][0] if run.made and declined else ""),
            session=bool(bound),
            language=program.language,
            module="".join(modules),
        )
        hint = " ".join(filter(None, [*hints_given, advice]))
        raise Unsupported(message, hint=hint, line=lines[0] if lines else None)

    async def _finish(
        self, program: Program, run: RunContext, ended: ProgramResult, notes: list[str], started: float
    ) -> Outcome:
        """The outcome of a run, made within the run's time; a large value is read in a thread."""
        common: dict[str, Any] = {"calls": run.totals.calls(), "usage": run.totals.usage(), "executor": run.executor}
        redactor = self._secrets.redactor(made_by(program.principal, run.reached))
        readable = _READABLE_SHARE * program.limits.inline_bytes
        printed, error, read = run.printed, ended.error, ProgramValue()
        said = f"{error.message[:_SEARCHED_ERROR_CHARS]} {error.hint or ''}" if error else ""
        meets = run.interceptor
        parts = meets.parts() if meets is not None else {}
        said += dump([part.as_json() for part in parts.values()]).decode(errors="replace") if parts else ""
        found = await done(redactor.found, as_bytes(f"{printed} {said}"), large=is_large(printed, said))
        if error is None:
            try:
                with run.clock.until(program.deadline) as scope:
                    value = meets.value(ended.value) if meets is not None else ended.value
                    read = await done(read_value, value, redactor, readable, large=is_large(value))
                if scope.cancelled_caught:
                    error = failure(self._late(program), type="TimeoutError")
            except (LimitExceeded, InvalidArguments) as raised:
                error = failure(raised)
        if refusal := await self._withheld(program, run, found | read.secrets):
            await run.discard_files()
            return Outcome(False, error=failure(refusal), ms=_ms_since(started), **common)
        short = await done(shortened, printed, large=is_large(printed)) if values.size(printed) > readable else printed
        fits = values.size(short) <= program.limits.inline_bytes
        if short != printed or not fits:
            whole = run.hold(printed, "text/plain")
            how = reading(whole.uri, program.language)
            end = f"… all of it ({len(printed)} characters), in a program: {how}"
            printed = f"{short if fits else values.ends(short, program.limits.shown_bytes)}\n{end}"
        common |= {
            "printed": printed,
            "parts": {} if ended.suspended else parts,
            "notes": (*notes, *run.notes, *filter(None, [read.note, run.note_on(read.value)])),
        }
        if ended.suspended:
            common["notes"] += self._planned_instead(program, run)
            then = self._services[RECORDERS].resuming(program.run)
            waits = waiting(program.run, run.suspension.waits, then)
            return Outcome(False, waiting=waits, ms=_ms_since(started), **common)
        if error is None:
            try:
                if read.files:
                    for number, (place, content) in enumerate(read.files, 1):
                        place.update(keep_bytes(content, number, run))
                    read.written = await done(written, read.value, large=is_large(read.value))
                outcome = await succeeded(read.value, read.written, run, ms=_ms_since(started), **common)
                return replace(outcome, notes=(*outcome.notes, *_without_value(program, run, outcome, self._executors)))
            except (LimitExceeded, StateError) as exceeded:  # it cannot be kept
                error = failure(exceeded)
        error = replace(
            error, message=shortened(error.message[:_SHOWN_ERROR_CHARS])[:8000], hint=(error.hint or "")[:4000] or None
        )
        error = explained(error, run)
        left = tuple(file for file in await run.left() if file.bytes)  # an empty file was only opened
        return Outcome(False, error=error, artefacts=left, ms=_ms_since(started), **common)

    def _late(self, program: Program, interrupted_call: str = "") -> LimitExceeded:
        """The error of a run that took too long. Whoever kept it waiting is named, and the function that it called."""
        waited = f", while it waited for {interrupted_call}" if interrupted_call else ""
        return LimitExceeded(
            f"the run took more than {program.limits.timeout:g} s{waited}",
            hint=self._plugins.watch.late_hint(program),
        )

    async def _withheld(self, program: Program, run: RunContext, found: set[int]) -> DoorwardError | None:
        """The reason to show nothing of a run: it made a credential, was answered one that it had written, or this
        happened to its principal too often, perhaps in another run meanwhile."""
        try:
            run.withholding.admit(program.principal)
        except LimitExceeded as refused:
            return run.withheld or refused
        if run.withheld is None and found:
            return await run.withholding.withheld(
                program.principal, "what the program made", ", ".join(sorted(run.reached)[:5])
            )
        return run.withheld

    def _planned_instead(self, program: Program, run: RunContext) -> tuple[str, ...]:
        """That a person is asked once if the writes of a program are withheld, if the run waits for what one answer
        serves."""
        withholds = self._services.get(WITHHOLDS)
        if withholds is None or run.interceptor or not any(each.together for each in run.suspension.waits):
            return ()
        return tuple(filter(None, [withholds.instead(program)]))


def _refusal(finding: Finding, answer: Sequence[Finding]) -> Failure:
    if finding.error:
        return Failure("program", finding.error, finding.message, finding.line, hint=finding.instead or None)
    who = f"({answer.plugin})" if isinstance(answer, Answer) and str(answer.plugin) not in finding.message else ""
    hint = f"{finding.instead} {who}".strip() or None
    return Failure("guard", "GuardRefused", finding.message, finding.line, hint=hint)


def _defect(run: RunContext, error: Exception) -> ProgramResult:
    log.exception("executor_defect", executor=run.executor)
    hint = "Tell the operator: the log has the details."
    return ProgramResult(error=Failure("executor", kind_of(error), "the executor failed inside Doorward", hint=hint))


def _without_value(program: Program, run: RunContext, outcome: Outcome, executors: Executors) -> Iterator[str]:
    """A note on a program that ran for nothing that anybody sees. A session keeps what it made."""
    seen = outcome.value is not None or outcome.printed or outcome.artefacts or run.session or program.plan
    if seen or not program.code:
        return
    if not executors.read(program.language, "has_value", program.code, default=True):
        yield "the program has no value: set `result`, or end with an expression"


def _late_guard(answer: Any, program: Program) -> LimitExceeded:
    who = answer.plugin if isinstance(answer, AwaitedAnswer) else "a guard"
    return LimitExceeded(
        f"{who} did not answer in guard_program within {program.limits.timeout:g} s, the time of the run",
        hint="Tell the operator. The program has not begun.",
    )


def _line_of(function: str, code: str) -> int | None:
    """The line of a program that calls a function, if only one can be it."""
    word = re.compile(rf"(?!\s*(?:from|import)\b).*(?<!\w){re.escape(function.rpartition('.')[2])}(?!\w)")
    lines = [number for number, text in enumerate(code.splitlines(), 1) if function and word.match(text)]
    return lines[0] if len(lines) == 1 else None


_ENDLESS = re.compile(r"\s*(?:\w+:\s*)?(?:while\s*\(?\s*(?:True|true|1)\b|for\s*\(\s*;\s*;)")
_TAKES_TIME = re.compile(r"\s*(?:\w+:\s*)?(?:async\s+)?(?:while|for|do)\b|.*(?<!\w)sleep\s*\(")
"""A line in which a program may stay: in Python and in scripts, a loop begins there, or it sleeps."""


def _line_of_loop(code: str) -> int | None:
    """The line in which a program takes its time, if only one can be it: its endless loop, or else its only one."""
    for kind in (_ENDLESS, _TAKES_TIME):
        lines = [number for number, text in enumerate(code.splitlines(), 1) if kind.match(text)]
        if lines:
            return lines[0] if len(lines) == 1 else None
    return None


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)
