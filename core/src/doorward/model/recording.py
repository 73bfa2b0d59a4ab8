"""What records a run, so that it can go on later; and what stands between the calls of a run and the world.

A run has at most one of each, and most have none. Plugins give what makes them as the services `RECORDERS` and
`WITHHOLDS`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from doorward.model.services import Service

if TYPE_CHECKING:
    from doorward.model.calls import Call, Decision, LearnsRun, Reply
    from doorward.model.errors import DoorwardError, ExecutorError
    from doorward.model.layers import RunState
    from doorward.model.programs import Artefact, Outcome, OutcomePart, Program, Wait
    from doorward.model.suspension import Suspension


class Suspends(Protocol):
    """How a run waits, or ends."""

    def can_wait(self, until: float = 0.0) -> bool: ...

    async def wait(self, wait: Wait) -> NoReturn: ...

    def fail(self, error: DoorwardError) -> None: ...


class InterceptedRun(Suspends, Protocol):
    """A run, as what intercepts its calls knows it."""

    def same_schema(self, function: str, schema_hash: str) -> str:
        """The schema hash of a function at the first call of this run; if this is the first, the one given."""
        ...


class RecordedRun(InterceptedRun, Protocol):
    """A run, as what records it knows it."""

    @property
    def program(self) -> Program: ...

    @property
    def client(self) -> LearnsRun | None: ...

    @property
    def interceptor(self) -> Interceptor | None: ...

    def was_made(
        self,
        function: str,
        reply: Reply | None,
        error: DoorwardError | None,
        ms: float,
        used: Mapping[str, float],
    ) -> None:
        """A call is answered as it was recorded: it is counted as it was then."""
        ...

    def scrubbed(self, function: str, value: Any) -> Any:
        """What a person says that a function has answered, without credentials."""
        ...

    def used(self, function: str) -> Mapping[str, float]:
        """What the run has used of the server of a function."""
        ...


class Recorder(Protocol):
    """Records one run, and answers its calls with what was recorded if it goes on. All that a run does is in it: so it
    has many members."""

    @property
    def goes_on(self) -> bool:
        """Whether the run was begun before."""
        ...

    @property
    def resumed(self) -> bool:
        """Whether it goes on with calls that were made before."""
        ...

    @property
    def times(self) -> Sequence[float]:
        """What its program read from its clocks before."""
        ...

    @property
    def schemas(self) -> Mapping[str, str]:
        """The functions that it had called before, each as it was then: the hash of its schema."""
        ...

    @property
    def interceptor(self) -> Interceptor | None:
        """What stands between the calls of this run and the world."""
        ...

    @property
    def suspension(self) -> Suspension:
        """How this run waits: the same for as long as it lasts."""
        ...

    def attach(self, state: RunState) -> None:
        """The run begins; `state` is what plugins keep of it."""
        ...

    async def call(
        self,
        run: RecordedRun,
        function: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        make: Callable[[int], Awaitable[Reply]],
        *,
        more: tuple[str, bool] = ("", False),
        large: bool,
    ) -> Reply:
        """Have a call made, by its place in the run, and record it; or answer it, if it is recorded. This is before the
        call is bound and decided. Raises: DoorwardError."""
        ...

    async def settle(self, call: Call, run: Suspends, known_by: Callable[[], str]) -> None:
        """Make sure that a call may go out which may not be repeated. `known_by` is the header by which its server
        knows it if it comes again. Raises: DoorwardError."""
        ...

    async def sending(self, call: Call, *, repeats: bool) -> None:
        """A write goes out, which may or may not be repeated. Raises: StateError if it must not."""
        ...

    def begins(self, executor: str, *, repeats: bool) -> None:
        """The program starts from its beginning in an executor, which `repeats` it if it is run again."""
        ...

    def seen(self, times: Sequence[float]) -> None:
        """What the program newly read from its clocks."""
        ...

    def schema(self, function: str, schema_hash: str) -> None:
        """The program calls a function for the first time, which is such a one now."""
        ...

    def holds(self, size: int) -> None:
        """An answer of so many bytes is to be kept."""
        ...

    def file(self, kept: Artefact, content: str | bytes, *, is_text: bool) -> None:
        """A file that an answer or the program has left, or that the program opens."""
        ...

    async def end(self, run: RecordedRun, outcome: Outcome) -> Outcome:
        """A run has come to an outcome, or waits. Returns: the outcome, with what there is to say of it."""
        ...

    async def close(self) -> None:
        """Let go of the run, however it ended."""
        ...


class Interceptor(Protocol):
    """Meets each call of a run once it is allowed, before it is made."""

    async def meet(self, run: InterceptedRun, call: Call, sent: Call, decision: Decision) -> Any:
        """Return once the call may be made: `None`; or what stands for its answer, if it is not to be made now. `sent`
        is the call with files in the place of their handles.

        Raises: DoorwardError if it must not be made.
        """
        ...

    def covers(self, call: Call, decision: Decision) -> bool:
        """Whether a person has approved already of this call, of which a rule says `confirm`. Raises: Refused if it
        must not be made, whoever is asked."""
        ...

    def approved(self, call: Call, decision: Decision) -> None:
        """A person has approved of this call."""
        ...

    def unknown(self, value: Any) -> bool:
        """Whether an argument of a call holds what is not known yet, so that it cannot be checked."""
        ...

    def value(self, value: Any) -> Any:
        """The value of the program for a reader. Raises: DoorwardError."""
        ...

    def parts(self) -> Mapping[str, OutcomePart]:
        """What it adds to the outcome of the run."""
        ...


class Withholds(Protocol):
    """Runs programs without their writes: these are withheld."""

    @property
    def about(self) -> str:
        """What an agent is told of that; "" where no program can be run so."""
        ...

    def executors(self, names: Sequence[str]) -> Sequence[tuple[str, ExecutorError | None]]:
        """Executors in the order in which they are tried, each with the error of one that cannot run a program so."""
        ...

    def instead(self, program: Program) -> str:
        """What is noted of a run that waits for what one answer serves; "" if its program cannot be run so."""
        ...

    def check(self, session: str) -> None:
        """Raises: DoorwardError if a program cannot be run so here, in this session if it is not ""."""
        ...

    def interceptor(self) -> Interceptor:
        """What withholds the writes of a run that begins."""
        ...


class Recorders(Protocol):
    """Makes the recorders of new runs."""

    def new(self, program: Program) -> Recorder | None:
        """The recorder of a run that begins; `None` if it is not recorded."""
        ...

    def resuming(self, run: str) -> str:
        """What an agent does to have a suspended run go on: `resume_it("…")`."""
        ...


@dataclass(frozen=True, slots=True)
class RecordedProgram:
    """The program of a run that succeeded, and the functions that it called."""

    run: str
    principal: str
    code: str
    language: str
    description: str
    functions: tuple[str, ...] | None
    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call of a program with its arguments, and how it was answered: by a `reply` or an `error`, after `ms`."""

    function: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    reply: Reply | None
    error: DoorwardError | None
    ms: float
    account: str = ""
    """The account that the program named, of a server that has several."""


class Recordings(Protocol):
    """Gives what was recorded of a run away as a text that can be kept, and runs programs on it."""

    async def programs(self) -> Sequence[RecordedProgram]:
        """The programs of all stored runs that succeeded, the newest first."""
        ...

    async def of_run(self, run: str) -> str:
        """What was recorded of this run. Raises: UnknownName, StateError."""
        ...

    async def recording(self, code: str, principal: str) -> str | None:
        """What was recorded of the last run of this program that succeeded for this principal: JSON without
        credentials. `None` if there is none, or its answers were not stored."""
        ...

    def calls(self, recording: str) -> Sequence[str]:
        """The calls of a recording in their order, as a person reads them. Raises: StateError if it cannot be read."""
        ...

    async def replay(
        self, recording: str, code: str | None, answered: Callable[[RecordedCall], None] = ...
    ) -> tuple[Outcome, Outcome | None]:
        """The outcome of a program, or of the recorded one, on the recorded answers alone, nothing is sent; and the
        outcome that was recorded. `answered` gets each call.

        Raises: StateError if the recording cannot be read.
        """
        ...


RECORDERS = Service[Recorders]("what records runs")
RECORDINGS = Service[Recordings]("what reads recorded runs")
WITHHOLDS = Service[Withholds]("what withholds the writes of a program")
