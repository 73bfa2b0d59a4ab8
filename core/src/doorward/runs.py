"""Running a program: the executor that can, within the limits, and what came of it as an `Outcome`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio

from doorward import hints, values
from doorward.door import RunDoor
from doorward.errors import DoorwardError, ExecutorError, Kind, LimitExceeded, SandboxDied, Unsupported
from doorward.logs import log
from doorward.offload import done, is_large
from doorward.redaction import Redactor
from doorward.scrubber import made_by
from doorward.sessions import gone
from doorward.types import Ended, Failure, Outcome, Program
from doorward.variants import as_bytes
from doorward.writing import MOST_PARTS, dump, exceeds

if TYPE_CHECKING:
    from doorward.executors import Executors
    from doorward.plugins import Plugins
    from doorward.secrets import Secrets
    from doorward.sessions import Session


_SEARCHED = 2**20
"""Characters of an error that are searched for credentials; less of it is shown."""


class Runs:
    """Runs programs, one `Outcome` each; nothing that a program does makes this raise."""

    def __init__(self, executors: Executors, plugins: Plugins, secrets: Secrets) -> None:
        self._executors = executors
        self._plugins = plugins
        self._secrets = secrets

    async def run(self, program: Program, door: RunDoor, session: Session | None = None) -> Outcome:
        """Guards, then the first executor that can run it, then the value made plain, scrubbed and cut."""
        started = time.perf_counter()
        try:
            outcome = await self._outcome(program, door, session, started)
        except asyncio.CancelledError:
            why = Failure("limit", "Cancelled", "the client is gone")
            cancelled = Outcome(False, error=why, calls=door.calls(), ms=_ms_since(started))
            self._plugins.tell("run_finished", program=program, outcome=cancelled)
            raise
        self._plugins.tell("run_finished", program=program, outcome=outcome)
        return outcome

    async def _outcome(self, program: Program, door: RunDoor, session: Session | None, started: float) -> Outcome:
        notes: list[str] = []
        executor = ""
        try:
            refused = self._guard(program, notes)
            if refused:
                ended = Ended(error=refused)
            else:
                self._plugins.tell("run_started", program=program)
                executor, ended = await self._execute(program, door, session)
        except DoorwardError as error:
            ended = Ended(error=failure(error))
        except Exception as error:
            log.exception("executor_defect", executor=executor)
            ended = Ended(
                error=Failure(
                    "executor",
                    type(error).__name__,
                    "the executor failed inside Doorward",
                    hint="Tell the operator: the log has the details.",
                )
            )
        return await self._finish(program, door, ended, notes, executor, started)

    def _guard(self, program: Program, notes: list[str]) -> Failure | None:
        findings = [f for found in self._plugins.hook.guard_program(program=program) for f in found or ()]
        for finding in findings:
            if finding.refuse:
                kind: Kind = "program" if finding.error else "guard"
                return Failure(kind, finding.error or "GuardRefused", finding.message, finding.line, hint=finding.instead or None)
            notes.append(
                f"line {finding.line}: {finding.message}. {finding.instead}".strip()
                if finding.line
                else f"{finding.message}. {finding.instead}".strip()
            )
        return None

    async def _execute(self, program: Program, door: RunDoor, session: Session | None) -> tuple[str, Ended]:
        """The name of the executor, and how the program ended in it. A program moves on to the next executor only
        if it has made no call yet."""
        declined: list[tuple[str, ExecutorError]] = []
        for name in [session.executor] if session and session.executor else self._executors.names:
            door.print_anew()
            try:
                with door.clock.until(program.deadline) as scope:
                    if session:
                        return name, await session.run(self._executors, name, program, door)
                    sandbox = await self._executors.open(name, program)
                    try:
                        return name, await sandbox.run(program, door)
                    finally:
                        with anyio.CancelScope(shield=True):
                            await sandbox.close()
                if scope.cancelled_caught:
                    late = _late(program)
                    if session and session.dead:
                        late.hint = gone(late.hint)
                    return name, Ended(error=failure(late, type="TimeoutError"))
            except Unsupported as error:
                declined.append((name, error))
                if door.made:
                    break
            except SandboxDied:
                raise
            except ExecutorError as error:
                declined.append((name, error))
                if door.made or len(self._executors.names) == 1:
                    raise
        hints_given = list(filter(None, [hints.no_server(str(error), door) for _, error in declined[:1]]))
        hints_given += [e.hint for _, e in declined if e.hint]
        lines = [e.line for _, e in declined if isinstance(e, Unsupported) and e.line]
        message = "; ".join(f"{name}: {error}" for name, error in declined) or "no executor is configured"
        bound = session.executor if session else ""
        advice = self._executors.advice(bound or (declined[-1][0] if door.made and declined else ""), session=bool(bound))
        raise Unsupported(message, hint=" ".join([*hints_given, advice]), line=lines[0] if lines else None)

    async def _finish(self, program: Program, door: RunDoor, ended: Ended, notes: list[str], executor: str, started: float) -> Outcome:
        """What came of a run, within its time: a large value is read in a thread."""
        common: dict[str, Any] = {"calls": door.calls(), "executor": executor}
        redactor = self._secrets.redactor(made_by(program.principal, door.reached))
        printed, error, read = door.printed, ended.error, _Value()
        said = f"{error.message[:_SEARCHED]} {error.hint or ''}" if error else ""
        found = await done(redactor.found, as_bytes(f"{printed} {said}"), large=is_large(printed, said))
        if error is None:
            try:
                with door.clock.until(program.deadline) as scope:
                    read = await done(_read, ended.value, redactor, large=is_large(ended.value))
                if scope.cancelled_caught:
                    error = failure(_late(program), type="TimeoutError")
            except LimitExceeded as exceeded:
                error = failure(exceeded)
        if refusal := self._withheld(program, door, found | read.secrets):
            return Outcome(False, error=failure(refusal), ms=_ms_since(started), **common)
        if len(printed) > program.limits.inline:
            whole = door.hold(printed, "text/plain")
            printed = f"{printed[: program.limits.inline]}\n… {len(printed) - program.limits.inline} more characters: {whole.uri}"
        common |= {"printed": printed, "notes": (*notes, *door.notes, *filter(None, [door.answered.note(read.value)]))}
        if error is None:
            try:
                return succeeded(read.value, read.dumped, door, ms=_ms_since(started), **common)
            except LimitExceeded as exceeded:  # it is larger than what can be kept
                error = failure(exceeded)
        error = replace(error, message=error.message[:8000], hint=(error.hint or "")[:4000] or None)
        error = hints.complete(error, door, program, self._executors, executor)
        return Outcome(False, error=error, artefacts=tuple(door.artefacts), ms=_ms_since(started), **common)

    def _withheld(self, program: Program, door: RunDoor, found: set[int]) -> DoorwardError | None:
        """Why nothing is shown of a run: it holds a credential, or was answered one that it had written, or too many of the principal's
        did so, also meanwhile."""
        try:
            door.withholding.admit(program.principal)
        except LimitExceeded as refused:
            return door.withheld or refused
        if door.withheld is None and found:
            return door.withholding.withheld(program.principal, "what the program made", ", ".join(sorted(door.reached)[:5]))
        return door.withheld


@dataclass(slots=True)
class _Value:
    """A program's value made plain, its JSON, and the credentials in it, by their numbers."""

    value: Any = None
    dumped: bytes = b""
    secrets: set[int] = field(default_factory=set)


def _read(value: Any, redactor: Redactor) -> _Value:
    """Raises: LimitExceeded."""
    if exceeds(value, MOST_PARTS):
        hint = "Filter or aggregate in the program, and return what you need."
        raise LimitExceeded(f"the value has more than {MOST_PARTS:,} parts", hint=hint)
    made_plain = values.plain(value)
    dumped = dump(made_plain)
    return _Value(made_plain, dumped, redactor.found(dumped))


def _late(program: Program) -> LimitExceeded:
    return LimitExceeded(f"the run took more than {program.limits.timeout:g} s", hint="Do less in one run, or ask for a longer `timeout`.")


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)


def succeeded(value: Any, dumped: bytes, door: RunDoor, **more: Any) -> Outcome:
    """The outcome of a plain value and its JSON: cut if that is much, with a handle to all of it."""
    truncated = None
    if len(dumped) > door.program.limits.inline:
        whole = door.hold(dumped, "application/json", is_text=True)
        truncated = {"shape": values.shape(value), "bytes": len(dumped), "rest": whole.uri}
        door.artefacts.remove(whole)
        value = values.cut(value, door.program.limits.inline)
    return Outcome(True, value=value, truncated=truncated, artefacts=tuple(door.artefacts), **more)


def failure(error: DoorwardError, type: str = "") -> Failure:
    """An error of ours as the failure of a run."""
    known = type or getattr(error, "type", "") or error.__class__.__name__
    return Failure(error.kind, known, error.message, getattr(error, "line", None), hint=error.hint)
