"""Running a program: the executor that can, within the limits, and what came of it as an `Outcome`."""

from __future__ import annotations

import asyncio
import mimetypes
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio

from doorward.calls.artefacts import MOST_FILES, handle_to, kind_of, named_in
from doorward.calls.embedded import shortened, with_files
from doorward.data import values
from doorward.data.json_writing import MOST_PARTS, dump, exceeds
from doorward.data.offload import done, is_large
from doorward.describe.results import outcome_text
from doorward.host.logs import log
from doorward.model.errors import DoorwardError, ExecutorError, InvalidProgram, LimitExceeded, SandboxDied, Unsupported
from doorward.model.types import Failure, File, Kind, Outcome, Program, ProgramResult, Truncated
from doorward.runs import hints
from doorward.runs.sessions import gone
from doorward.secrets.redaction import Redactor
from doorward.secrets.scrubber import made_by
from doorward.secrets.variants import as_bytes

if TYPE_CHECKING:
    from doorward.plugins.manager import Plugins
    from doorward.runs.executors import Executors
    from doorward.runs.run_context import RunContext
    from doorward.runs.sessions import Session
    from doorward.secrets.store import Secrets


Written = tuple[bytes, list[str]]
"""A value's JSON, and the URIs of the artefacts that it names."""

_SMALL_BYTES = 256
"""Of bytes in a value that are shown as base64; more are kept as a file."""

_AS_BASE64 = "bytes in the value stand there as base64"

_READABLE = 1 / 8
"""Of what an answer shows: from there on bytes and base64 in it are not shown as text."""

_SHOWN = 2**16
"""Characters of an error that may be shown, shortened."""

_SEARCHED = 2**20
"""Characters of an error that are searched for credentials; less of it is shown."""


class Runs:
    """Runs programs, one `Outcome` each; nothing that a program does makes this raise."""

    def __init__(self, executors: Executors, plugins: Plugins, secrets: Secrets) -> None:
        self._executors = executors
        self._plugins = plugins
        self._secrets = secrets

    async def run(self, program: Program, door: RunContext, session: Session | None = None) -> Outcome:
        """Guards, then the first executor that can run it, then the value made plain, scrubbed and cut."""
        started = time.perf_counter()
        try:
            outcome = await self._outcome(program, door, session, started)
        except asyncio.CancelledError:
            why = Failure("limit", "Cancelled", "the client is gone")
            cancelled = Outcome(False, error=why, calls=door.calls(), ms=_ms_since(started))
            self._plugins.hook.run_finished(program=program, outcome=cancelled)
            raise
        self._plugins.hook.run_finished(program=program, outcome=outcome)
        return outcome

    async def answer(self, door: RunContext, function: str, arguments: Mapping[str, Any]) -> Outcome:
        """One call as a run, without a program."""
        try:
            value = await door.call(function, (), arguments)
            return succeeded(value, await done(written, value, large=is_large(value)), door, notes=door.notes)
        except DoorwardError as error:
            return Outcome(False, error=failure(error))

    async def _outcome(self, program: Program, door: RunContext, session: Session | None, started: float) -> Outcome:
        notes: list[str] = []
        executor = ""
        try:
            refused = self._guard(program, notes)
            if refused:
                ended = ProgramResult(error=refused)
            else:
                self._plugins.hook.run_started(program=program)
                executor, ended = await self._execute(program, door, session)
        except DoorwardError as error:
            ended = ProgramResult(error=failure(error))
        except Exception as error:
            log.exception("executor_defect", executor=executor)
            ended = ProgramResult(
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
                return Failure(
                    kind, finding.error or "GuardRefused", finding.message, finding.line, hint=finding.instead or None
                )
            notes.append(
                f"line {finding.line}: {finding.message}. {finding.instead}".strip()
                if finding.line
                else f"{finding.message}. {finding.instead}".strip()
            )
        return None

    async def _execute(self, program: Program, door: RunContext, session: Session | None) -> tuple[str, ProgramResult]:
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
                    return name, ProgramResult(error=failure(late, type="TimeoutError"))
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
        hints_given = [
            hints.no_server(e.module, door) for _, e in declined[:1] if isinstance(e, Unsupported) and e.module
        ]
        hints_given += [e.hint for _, e in declined if e.hint]
        lines = [e.line for _, e in declined if isinstance(e, Unsupported) and e.line]
        message = "; ".join(f"{name}: {error}" for name, error in declined) or "no executor is configured"
        bound = session.executor if session else ""
        advice = self._executors.advice(
            bound or (declined[-1][0] if door.made and declined else ""), session=bool(bound)
        )
        raise Unsupported(message, hint=" ".join([*hints_given, advice]), line=lines[0] if lines else None)

    async def _finish(
        self, program: Program, door: RunContext, ended: ProgramResult, notes: list[str], executor: str, started: float
    ) -> Outcome:
        """What came of a run, within its time: a large value is read in a thread."""
        common: dict[str, Any] = {"calls": door.calls(), "executor": executor}
        redactor = self._secrets.redactor(made_by(program.principal, door.reached))
        printed, error, read, readable = door.printed, ended.error, _Value(), _READABLE * program.limits.inline_bytes
        said = f"{error.message[:_SEARCHED]} {error.hint or ''}" if error else ""
        found = await done(redactor.found, as_bytes(f"{printed} {said}"), large=is_large(printed, said))
        if error is None:
            try:
                with door.clock.until(program.deadline) as scope:
                    read = await done(_read, ended.value, redactor, readable, large=is_large(ended.value))
                if scope.cancelled_caught:
                    error = failure(_late(program), type="TimeoutError")
            except LimitExceeded as exceeded:
                error = failure(exceeded)
        if refusal := self._withheld(program, door, found | read.secrets):
            return Outcome(False, error=failure(refusal), ms=_ms_since(started), **common)
        short = await done(shortened, printed, large=is_large(printed)) if values.size(printed) > readable else printed
        if short != printed or values.size(short) > program.limits.inline_bytes:
            whole = door.hold(printed, "text/plain")
            end = f"… all of it ({len(printed)} characters), in a program: {outcome_text.reading(whole.uri)}"
            printed = f"{values.beginning(short, program.limits.inline_bytes)}\n{end}"
        common |= {
            "printed": printed,
            "notes": (*notes, *door.notes, *filter(None, [read.note, door.note_on(read.value)])),
        }
        if error is None:
            try:
                if read.files:
                    for number, (place, content) in enumerate(read.files, 1):
                        place.update(_kept(content, number, door))
                    read.written = await done(written, read.value, large=is_large(read.value))
                return succeeded(read.value, read.written, door, ms=_ms_since(started), **common)
            except LimitExceeded as exceeded:  # it is larger than what can be kept
                error = failure(exceeded)
        error = replace(error, message=shortened(error.message[:_SHOWN])[:8000], hint=(error.hint or "")[:4000] or None)
        error = hints.complete(error, door, program, self._executors, executor)
        left = tuple(file for file in door.left() if file.bytes)  # an empty one it had only opened
        return Outcome(False, error=error, artefacts=left, ms=_ms_since(started), **common)

    def _withheld(self, program: Program, door: RunContext, found: set[int]) -> DoorwardError | None:
        """Why nothing is shown of a run: it holds a credential, or was answered one that it had written, or too many of
        the principal's did so, also meanwhile."""
        try:
            door.withholding.admit(program.principal)
        except LimitExceeded as refused:
            return door.withheld or refused
        if door.withheld is None and found:
            return door.withholding.withheld(
                program.principal, "what the program made", ", ".join(sorted(door.reached)[:5])
            )
        return door.withheld


@dataclass(slots=True)
class _Value:
    """A program's value made plain, as it is written; the bytes in it, each with the empty dictionary that stands for
    them; and the credentials in all of it, by their numbers. `note`: what is to be said of it."""

    value: Any = None
    note: str = ""
    written: Written = (b"", [])
    files: list[tuple[dict[str, Any], bytes]] = field(default_factory=list)
    secrets: set[int] = field(default_factory=set)


def _read(value: Any, redactor: Redactor, readable: float) -> _Value:
    """Files that stand as base64 in a value of more than `readable` bytes are files. Raises: LimitExceeded."""
    if exceeds(value, MOST_PARTS):
        hint = "Filter or aggregate in the program, and return what you need."
        raise LimitExceeded(f"the value has more than {MOST_PARTS:,} parts", hint=hint)
    read = _Value()

    def held(file: File) -> Any:
        if len(file.content) <= _SMALL_BYTES or len(read.files) == MOST_FILES:
            read.note = _AS_BASE64
            return values.plain(file.content)
        read.secrets |= redactor.found(file.content)
        read.files.append(({}, file.content))
        return read.files[-1][0]

    read.value = values.plain(value, held=held)
    read.written = written(read.value)
    read.secrets |= redactor.found(read.written[0])
    if len(read.written[0]) > readable:
        note = read.note
        read.value = with_files(read.value, read.written[0], held)
        read.note = note  # base64 that the program itself wrote is no news to it
    return read


def _kept(content: bytes, number: int, door: RunContext) -> dict[str, Any]:
    """The handle of bytes in a program's value, which nobody could read there."""
    type = kind_of(content)
    artefact = door.hold(content, type, f"value-{number}{mimetypes.guess_extension(type) or ''}")
    return handle_to(artefact)


def _late(program: Program) -> LimitExceeded:
    return LimitExceeded(
        f"the run took more than {program.limits.timeout:g} s",
        hint="Do less in one run, or ask for a longer `timeout`.",
    )


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 2)


def written(value: Any) -> Written:
    """A plain value as it is written."""
    dumped = dump(value)
    return dumped, named_in(dumped)


def succeeded(value: Any, written: Written, door: RunContext, **more: Any) -> Outcome:
    """The outcome of a plain value: cut if that is much, with a handle to all of it."""
    truncated: Truncated | None = None
    dumped, named = written
    if len(dumped) > door.program.limits.inline_bytes:
        whole = (
            door.hold(value, "text/plain")
            if isinstance(value, str)
            else door.hold(dumped, "application/json", is_text=True)
        )
        truncated = {
            "shape": values.shape(value),
            "bytes": whole.bytes,
            "rest": whole.uri,
            "read": outcome_text.reading(whole.uri),
        }
        value = values.cut(value, door.program.limits.inline_bytes)
    return Outcome(True, value=value, truncated=truncated, artefacts=door.left(named), **more)


def failure(error: DoorwardError, type: str = "") -> Failure:
    """An error of ours as the failure of a run."""
    known = type or (error.type if isinstance(error, InvalidProgram) else "") or error.__class__.__name__
    line = error.line if isinstance(error, (InvalidProgram, Unsupported)) else None
    return Failure(error.kind, known, error.message, line, hint=error.hint)
