"""One run: what its sandbox may import, call and print, and how much of its limits it has used."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, cast

from doorward.calls.binding import MAX_ARGUMENT_PARTS
from doorward.calls.repeated_calls import RepeatedCalls
from doorward.data.json_writing import exceeds
from doorward.data.offload import is_large
from doorward.data.values import beginning, size
from doorward.host.logs import log
from doorward.model.calls import File, Reply, TextRule, Usage
from doorward.model.clock import Clock
from doorward.model.errors import (
    DoorwardError,
    InvalidArguments,
    LimitExceeded,
    Refused,
    SecretWithheld,
    StateError,
    UnknownName,
)
from doorward.model.layers import RunState
from doorward.model.programs import Artefact, CallCount, Failure, Program
from doorward.plugins.layers import RunView
from doorward.runs.helper_context import MODULE
from doorward.runs.run_files import RunFiles

if TYPE_CHECKING:
    from doorward.calls.artefacts import Artefacts
    from doorward.calls.broker import Broker
    from doorward.calls.client_requests import RunClient
    from doorward.calls.withholding import Withholding
    from doorward.catalog.texts import FunctionTexts
    from doorward.model.calls import Call, Client
    from doorward.model.executors import Aliases
    from doorward.model.program_names import ProgramNames
    from doorward.model.programs import Outcome, Wait
    from doorward.model.recording import Interceptor, Recorder
    from doorward.model.suspension import Suspension
    from doorward.runs.program_modules import Modules
    from doorward.sandboxes.sessions import Session


class RunTotals:
    """The calls of a run by function and success, and what they used by server."""

    __slots__ = ("_counts", "_usage")

    def __init__(self) -> None:
        self._counts: dict[tuple[str, bool], list[float]] = {}
        self._usage: dict[str, Usage] = {}

    def count(self, function: str, *, ok: bool, ms: float) -> None:
        at = self._counts.setdefault((function, ok), [0, 0.0])
        at[0] += 1
        at[1] += ms

    def calls(self) -> tuple[CallCount, ...]:
        """The calls made: their number and total milliseconds."""
        return tuple(
            {"function": f, "ok": ok, "count": int(n), "ms": round(ms, 1)} for (f, ok), (n, ms) in self._counts.items()
        )

    def usage_of(self, server: str) -> Usage:
        if (usage := self._usage.get(server)) is None:
            usage = self._usage[server] = Usage()
        return usage

    def usage(self) -> dict[str, Mapping[str, float]]:
        """What was used of each server."""
        return {server: amounts for server, usage in self._usage.items() if (amounts := usage.amounts())}

    def used(self, server: str) -> Mapping[str, float]:
        """What was used of one server so far; nothing for most."""
        usage = self._usage.get(server)
        return usage.amounts() if usage is not None else {}

    def used_before(self, server: str, amounts: Mapping[str, float]) -> None:
        """Count what a run had used of a server before it was resumed: that is paid for."""
        usage = self.usage_of(server)
        for name, amount in amounts.items():
            usage.add(name, amount - usage.of(name))
            usage.newly(name)


MAX_CALLS_AT_ONCE = 64
"""Calls of one run at the same time; further calls wait."""

MAX_FAILURES = 100
"""Failed calls of one run that are remembered, to recognise them in the program's error."""

MAX_NOTES = 20
"""Notes of one run: a program may get a thousand lists, each with more to come."""

_LEFT_OUT = "there is more to note, which is left out"


def _read_only(name: str) -> Any:
    return property(attrgetter(name))


class RunContext:
    """The host's record of a run while it lasts, and the `Door` that its sandbox gets. It outlives the sandbox.

    Other modules report what happens to the run by calling a method; none of them writes its fields.
    `client` is what its calls can ask, and tell of progress; `state` what plugins keep of it; `wants_text` that of its
    calls; `interrupted_call` the first of them that was cut off, by name; `made` how many were counted so far;
    `executor` the last one that was to run the program; `withheld` why it gets no more answers.
    """

    __slots__ = (
        "_about", "_answers", "_broker", "_client", "_clock", "_executor", "_failures", "_files", "_interceptor",
        "_interrupted_call", "_line", "_made", "_modules", "_notes", "_printed", "_program", "_recorder", "_repeated",
        "_room", "_schema_hashes", "_session", "_slots", "_state", "_suspension", "_totals", "_view", "_wants_text",
        "_withheld",
    )  # fmt: skip

    program: Program = _read_only("_program")
    clock: Clock = _read_only("_clock")
    client: RunClient | None = _read_only("_client")
    state: RunState = _read_only("_state")
    recorder: Recorder | None = _read_only("_recorder")
    interceptor: Interceptor | None = _read_only("_interceptor")
    wants_text: TextRule = _read_only("_wants_text")
    interrupted_call: str = _read_only("_interrupted_call")
    made: int = _read_only("_made")
    repeated: RepeatedCalls = _read_only("_repeated")
    executor: str = _read_only("_executor")
    suspension: Suspension = _read_only("_suspension")
    totals: RunTotals = _read_only("_totals")
    withheld: SecretWithheld | None = _read_only("_withheld")

    def __init__(
        self,
        program: Program,
        broker: Broker,
        modules: Modules,
        artefacts: Artefacts,
        suspension: Suspension,
        session: Session | None = None,
        client: Client | None = None,
        recorder: Recorder | None = None,
        interceptor: Interceptor | None = None,
        state: RunState | None = None,
    ) -> None:
        import anyio

        from doorward.calls.client_requests import RunClient

        self._program, self._broker, self._modules = program, broker, modules
        self._recorder, self._interceptor = recorder, interceptor
        self._suspension = suspension
        self._totals = RunTotals()
        self._schema_hashes = {**recorder.schemas} if recorder else {}
        self._withheld: SecretWithheld | None = None
        self._files = RunFiles(program, artefacts, recorder)
        self._session = session
        self._clock = Clock()
        self._client = RunClient(client, self._clock, program.limits.asking) if client else None
        self._slots = anyio.Semaphore(MAX_CALLS_AT_ONCE, fast_acquire=True)
        self._executor = ""
        self._made = 0
        self._wants_text = self.names.text_rule(program.code)
        self._interrupted_call = ""
        self._line: int | None = None
        self._failures: dict[str, DoorwardError] = {}
        self._answers = broker.texts.answers()
        self._repeated = RepeatedCalls(program.limits)
        self._notes: list[str] = []
        self._about: set[str] = set()
        self._state = state or RunState()
        if recorder is not None:
            recorder.attach(self._state)
        self._view: RunView | None = None
        self._printed: list[str] = []
        self._room = program.limits.output_bytes

    @property
    def view(self) -> RunView:
        """It, as layers get it."""
        if self._view is None:
            self._view = RunView(self)
        return self._view

    # What its sandbox may import

    async def prepare(self) -> None:
        """See `Modules.prepare`."""
        await self._modules.prepare(self._program.principal, self._program.code)

    @property
    def names(self) -> ProgramNames:
        """See `Modules.names`."""
        return self._modules.names

    def members(self, server: str) -> Sequence[str] | None:
        return self._modules.members(server, self._program.principal)

    def stub(self, server: str, names: Sequence[str]) -> str:
        return self._modules.stub(server, names, self._program.principal, self._program.language)

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        servers = self._modules.usable_by(self._program.principal)
        return self.names.aliases(self._program.language, code, servers, self._modules.has, everything=everything)

    def absent(self, server: str) -> tuple[str, list[str]]:
        """See `Modules.absent`."""
        return self._modules.absent(server, self._program.principal)

    def near(self, server: str, name: str) -> str:
        """The hint for a function that the program does not find: why it is denied, if it is, or similar names."""
        functions, principal = self._broker.functions, self._program.principal
        bare, name = name, f"{server}.{name}"
        try:
            self._broker.permissions.check(self._program, functions.find(name, principal, near=False))
        except UnknownName:
            pass
        except DoorwardError as error:
            return str(error)
        said = self._modules.said_of_helper(bare)
        return said or functions.near(name, principal)

    # Its calls

    async def call(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return (await self.reply(function, args, kwargs)).value

    async def reply(
        self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, link: str = "", headers: bool = False
    ) -> Reply:
        """Make one call, as `call` does. The reply also says how to get the next page, if its source knows; the call
        for that page gets the reply's `link`. `headers`: include those of the answer."""
        self._made += 1
        try:
            if self._made > 10 * self._program.limits.calls:
                hint = "End the program when calls are refused."
                raise LimitExceeded("the run makes nothing but calls that are refused", hint=hint)
            large = is_large(args, kwargs)
            if not isinstance(function, str) or (large and exceeds([args, kwargs], MAX_ARGUMENT_PARTS)):
                raise LimitExceeded(
                    f"the arguments of a call have more than {MAX_ARGUMENT_PARTS:,} parts", hint="Send less at once."
                )
            server, _, name = function.partition(".")
            if server == MODULE:
                return await self._helped(name, args, kwargs)
            async with self._slots:
                with self._suspension:
                    await self._suspension.turn()
                    shown = headers or self._program.plan  # an ETag tells whether an answer has changed
                    make = partial(
                        self._broker.call, self, function, args, kwargs, large=large, link=link, headers=shown
                    )
                    if self._recorder is None:
                        return await make(0)
                    return await self._recorder.call(
                        self, function, args, kwargs, make, more=(link, headers), large=large
                    )
        except DoorwardError as error:
            error.hint = error.hint or self._answers.looped([*args, *kwargs.values()]) or None
            if len(self._failures) < MAX_FAILURES:
                self._failures[error.message] = error
            raise
        except asyncio.CancelledError:
            self._interrupted_call = self._interrupted_call or function
            raise

    async def _helped(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Reply:
        """The answer of a helper. Those that make calls are not recorded: their calls are."""

        async def make(place: int = 0) -> Reply:
            return Reply(await self._modules.help(self, name, args, kwargs))

        if self._recorder is None or not self._modules.recorded(name):
            return await make()
        with self._suspension:
            large = is_large(args, kwargs)
            return await self._recorder.call(self, f"{MODULE}.{name}", args, kwargs, make, large=large)

    async def read_beside(self, call: Call, function: str, arguments: Mapping[str, Any]) -> Any:
        """See `Run.read_beside`. It is no call of the program: nothing intercepts it."""
        found = self._broker.functions.find(function, self._program.principal, near=False)
        if not found.read_only:
            raise Refused(f"{function} does not only read")
        taken = found.parameters.get("properties", {})
        given = {name: value for name, value in arguments.items() if name in taken}
        beside = cast("RunContext", _Beside(self))
        return (await self._broker.call(beside, function, (), given, call.place, large=False)).value

    @property
    def ask(self) -> Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]] | None:
        """See `Run.ask`."""
        return self._client.ask_for if self._client else None

    @property
    def session(self) -> str:
        """The id of its session; "" if it has none."""
        return self._session.id if self._session else ""

    def helper_makes_calls(self) -> None:
        """Do not count the call of a helper, because the calls that it makes are counted."""
        self._made -= 1

    @property
    def failed(self) -> int:
        """The failed calls so far, each message once, up to `MAX_FAILURES`."""
        return len(self._failures)

    def cause(self, message: str) -> DoorwardError | None:
        """The error of the failed call that caused a program's error with this message."""
        return next((error for said, error in self._failures.items() if said and message.startswith(said)), None)

    # What its calls answered

    def answered(self, function: str, value: Any, size: int) -> None:
        """Remember the answer of a function, to explain mistakes about it."""
        if self._recorder is not None:
            self._recorder.holds(size)
        self._answers.add(function, value, size)

    @property
    def texts(self) -> FunctionTexts:
        """What explains its errors."""
        return self._broker.texts

    def hint(self, error: Failure) -> str | None:
        """A hint with the real shape of an answer, if the error may come from taking it for something else."""
        return self._answers.hint(error)

    def note_on(self, value: Any) -> str | None:
        """A note on a value that is an unchanged answer."""
        return self._answers.note(value)

    @property
    def reached(self) -> frozenset[str]:
        """The servers that programs of this principal have called: credentials sent there may have reached this run."""
        return self._broker.reached(self._program.principal)

    @property
    def withholding(self) -> Withholding:
        return self._broker.withholding

    # What it leaves

    def print(self, text: str) -> bool:
        if self._room <= 0:
            return False
        self._printed.append(beginning(text, self._room))
        self._room -= size(text)
        if self._room <= 0:
            most = self._program.limits.output_bytes
            self._printed.append(f"\n… more than {most} bytes of output; the rest was dropped")
        return self._room > 0

    def begin(self, executor: str, *, repeats: bool) -> None:
        """Forget what was printed, and which times were read: this executor starts the program from the beginning. What
        it does not repeat cannot be resumed."""
        self._executor = executor
        self._printed, self._room = [], self._program.limits.output_bytes
        if self._recorder is not None:
            self._recorder.begins(executor, repeats=repeats)

    @property
    def printed(self) -> str:
        return "".join(self._printed)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of the answer, beside the value."""
        return tuple(self._notes)

    def note(self, text: str, *, about: str = "") -> None:
        """Add a note to the answer of the run, once, as long as there are few; `about` says what it is about."""
        self._about.add(about)
        if text not in self._notes and len(self._notes) < MAX_NOTES:
            self._notes.append(text if len(self._notes) + 1 < MAX_NOTES else _LEFT_OUT)

    def noted(self, about: str) -> bool:
        """Whether there is a note about this."""
        return about in self._about

    def keep(self, content: bytes, type: str, name: str = "") -> Artefact:
        return self._files.leave(content, type, name)

    def hold(self, content: str | bytes, type: str, name: str = "", *, is_text: bool = False) -> Artefact:
        """Keep something that the host itself made of this run for its principal: the rest of a large value, or an
        answer of bytes. It is stored before the run ends."""
        return self._files.hold(content, type, name, is_text=is_text)

    def save_text(self, text: str) -> Artefact:
        """See `Run.save_text`."""
        return self.hold(text, "text/plain", is_text=True)

    async def store_files(self, above: int = 0) -> None:
        """Store what it keeps, if that is more than so many bytes. Raises: StateError."""
        if self._files.held >= above:
            await self._files.store()

    async def discard_files(self) -> None:
        """Keep no file of it: its answer is withheld."""
        try:
            await self._files.discard()
        except StateError as error:
            log.warning("withheld_files_not_removed", run=self._program.run, why=error.message)

    def mark_unstored(self, value: Any, why: str) -> list[str]:
        """See `RunFiles.mark_unstored`."""
        return self._files.mark_unstored(value, why)

    async def ended(self, outcome: Outcome) -> Outcome:
        """Its outcome, once what it keeps is stored; with a note, if that cannot be. Of one that is withheld nothing is
        kept."""
        if self._withheld is not None:
            await self.discard_files()
            return outcome
        try:
            await self.store_files()
        except StateError as error:
            note = f"the files of this run, and what was cut of it, cannot be kept: {error}"
            return replace(outcome, notes=(*outcome.notes, note))
        return outcome

    async def left(self, named: Sequence[str] = ()) -> tuple[Artefact, ...]:
        """The files that the answer of this run lists: those that it left and those that its value names, not others
        that it used. Raises: StateError."""
        return await self._files.left(named)

    async def open(self, uri: str) -> File:
        """An artefact of this run's principal, by its URI.

        Raises: InvalidArguments if there is none (any more); StateError.
        """
        return await self._files.open(uri)

    async def is_foreign(self, uri: str) -> bool:
        """Whether this URI of a file stood in the data of an upstream, and there is no such file. Raises:
        StateError."""
        return await self._files.is_foreign(uri)

    def note_upstream_uris(self, uris: Iterable[str]) -> None:
        """These URIs of files stood in the data of an upstream."""
        self._files.foreign.update(uris)

    # What records it

    def times(self) -> Sequence[float]:
        return self._recorder.times if self._recorder is not None else ()

    def seen(self, times: Sequence[float]) -> None:
        if self._recorder is not None:
            self._recorder.seen(times)

    def at(self, line: int) -> None:
        self._line = line

    @property
    def line(self) -> int | None:
        """The line at which the program was when its sandbox last said so."""
        return self._line if self._line and 0 < self._line <= self._program.code.count("\n") + 1 else None

    @property
    def goes_on(self) -> bool:
        """Whether it was begun before."""
        return self._recorder is not None and self._recorder.goes_on

    @property
    def suspended(self) -> bool:
        """Whether it waits for something, and ends for that."""
        return bool(self._suspension.waits)

    def can_wait(self, until: float = 0.0) -> bool:
        """See `Run.can_wait`."""
        return self._suspension.possible(until)

    async def wait(self, wait: Wait) -> NoReturn:
        """See `Run.wait`."""
        await self._suspension.wait(wait)

    def fail(self, error: DoorwardError) -> None:
        """End it with this error, whatever its program does about it."""
        self._suspension.fail(error)

    def consume(self, id: str) -> bool:
        """See `Run.consume`."""
        return self._suspension.consume(id)

    def set_parked(self, call: Call, *, parked: bool) -> None:
        """A call that went out was not made, and may wait with its run; or it goes out again."""
        if self._recorder is None:  # then no call has a place of its own
            return
        if parked:
            self._suspension.parked.add(call.place)
        else:
            self._suspension.parked.discard(call.place)

    def is_out(self, call: Call) -> bool:
        """Whether a call that went out may have been made: it does not wait with its run."""
        return call.place not in self._suspension.parked

    def same_schema(self, function: str, schema_hash: str) -> str:
        """The schema hash of a function at the first call of this run; if this is the first, the one given."""
        if (first := self._schema_hashes.get(function)) is None:
            first = self._schema_hashes[function] = schema_hash
            if self._recorder is not None:
                self._recorder.schema(function, schema_hash)
        return first

    def was_made(
        self, function: str, reply: Reply | None, error: DoorwardError | None, ms: float, used: Mapping[str, float]
    ) -> None:
        """Count a call that was made before the run was resumed, as it was counted then."""
        with suppress(DoorwardError):
            found = self._broker.functions.find(function, self._program.principal, near=False)
            self._totals.count(found.qualified, ok=error is None, ms=ms)
            self._totals.used_before(found.server, used)
            self._broker.reaches(self._program.principal, found.server)
        if isinstance(error, SecretWithheld):
            self.withhold(error)
        if reply is not None:
            self._files.replayed.append(reply.value)

    def scrubbed(self, function: str, value: Any) -> Any:
        return self._broker.scrubbed(function.partition(".")[0], self._program.principal, value)

    # What it adds up to

    def count_with(self, other: RunContext) -> None:
        """What another run adds up to is what this one does: it is what this one stands for."""
        self._totals = other.totals

    def count(self, function: str, *, ok: bool, ms: float) -> None:
        """Count a call that was made."""
        self._totals.count(function, ok=ok, ms=ms)

    def usage_of(self, server: str) -> Usage:
        return self._totals.usage_of(server)

    def used(self, function: str) -> Mapping[str, float]:
        """What its calls have used so far of the server of a function."""
        return self._totals.used(function.partition(".")[0])

    def withhold(self, why: SecretWithheld) -> None:
        """Give this run no more answers."""
        self._withheld = why

    # Its session

    def close_session(self) -> None:
        """End the session of this run, once its answer is there. Raises: InvalidArguments if it has none."""
        if self._session is None:
            raise InvalidArguments("this run has no session", hint="Only a run with a session_id can close one.")
        self._session.end_after_run()


class _Beside:
    """A run, for a read that is no call of its program."""

    interceptor = None

    def __init__(self, run: RunContext) -> None:
        self._run = run

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)
