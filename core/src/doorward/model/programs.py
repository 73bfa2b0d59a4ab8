"""Programs: their limits, what guards find in them, how they end or wait, and what an agent is told of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypedDict

from doorward.model.principals import LOCAL, Principal


def _limit(default: float, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use: the one place where each limit has its name, its default and its meaning. A field has the
    name of its key in `[limits]`, which is made from it; only a size ends in `_bytes` here."""

    timeout: float = _limit(30.0, "Seconds a run may take, if the caller does not say")
    max_timeout: float = _limit(300.0, "The most seconds that a caller may ask for")
    memory_bytes: int = _limit(512 * 2**20, "Memory of one run")
    output_bytes: int = _limit(2**20, "Printed output of one run")
    code_bytes: int = _limit(64 * 2**10, "Source text of a program")
    calls: int = _limit(1000, "Calls of one run")
    repeats: int = _limit(20, "Calls of one run that fail in a row with the same arguments")
    identical: int = _limit(100_000, "Calls of one run with the same arguments, whatever they answer")
    processes: int = _limit(128, "Processes of one run, where the executor has processes")
    rate: int = _limit(60, "Runs a minute for one principal")
    result_bytes: int = _limit(50 * 2**20, "One result of a call")
    inline_bytes: int = _limit(
        16 * 2**10, "A value, or printed text, shown whole; a larger one is cut, with a handle to the rest"
    )
    cut_bytes: int = _limit(
        2560, "What is shown of a value, or of printed text, that is cut: its beginning and its end"
    )
    asking: float = _limit(600.0, "Seconds that a run may wait, in all, for answers of its client")

    @property
    def shown_bytes(self) -> int:
        """What is shown of what is cut: no more than would be shown whole."""
        return min(self.cut_bytes, self.inline_bytes)

    @property
    def questions(self) -> int:
        """How often a program may ask its host for anything: its calls, also refused ones, and its look-ups."""
        return 20 * self.calls + 1000


Kind = Literal["program", "guard", "policy", "limit", "executor", "server", "config"]
"""The kinds of errors, by who can mend them."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program that an agent wants to run. `params` are values for its parameters; `functions` narrows by names and
    wildcards what it may call (`None`: all that the policy allows); `deadline` is a `time.monotonic()`, which moves on
    while the client is asked something. `language` is one of `Capabilities.languages`. `continues`: earlier runs of its
    session may have left names. `plan`: its writes are withheld, and answered with `Planned`.
    `seed` and `began` (seconds since the epoch) are drawn when the run is admitted: from
    the seed an executor makes all random numbers of the program, so that the run can be repeated. `cached`: it was kept
    before, and is run once more. `argv` are the words behind the program's name, as a script has them in `sys.argv`.
    `granted` is for guards: what the operator has given to executors that may run it, `shell`, `network` and the import
    names of packages.
    """

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    functions: tuple[str, ...] | None = None
    principal: str = LOCAL
    limits: Limits = field(default_factory=Limits)
    run: str = ""
    deadline: float = float("inf")
    language: str = "python"
    continues: bool = False
    plan: bool = False
    seed: bytes = field(default=b"", repr=False)
    began: float = 0.0
    cached: bool = False
    argv: tuple[str, ...] = ()
    granted: frozenset[str] = frozenset()

    @property
    def caller(self) -> Principal:
        """Its principal, with groups and attributes."""
        return Principal.of(self.principal)


@dataclass(frozen=True, slots=True)
class Finding:
    """One objection of a guard to a program. `line` counts from 1; `instead` says what to do instead. `refuse`: the
    program is stopped; else its author is only told. `error` is the exception that Python itself would raise, such as
    `SyntaxError`."""

    message: str
    line: int | None = None
    instead: str = ""
    refuse: bool = True
    error: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the agent's own code in a traceback."""

    line: int
    function: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run failed. `line` is in the agent's own code, counted from 1."""

    kind: Kind
    type: str
    message: str
    line: int | None = None
    frames: tuple[Frame, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended inside its sandbox: with a plain JSON value, or a failure; or not at all: its run is
    `suspended`."""

    value: Any = None
    error: Failure | None = None
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class CachedProgram:
    """A program kept for `run_cached_code`. `params` are its parameters, with the values of that run; `uses` maps each
    function that it called to the hash of its schema at that time. `digest` is the same for the same code,
    language and `functions`, so that a program kept twice keeps its id."""

    cache_id: str
    principal: str
    code: str
    description: str
    params: Mapping[str, Any]
    functions: tuple[str, ...] | None
    uses: Mapping[str, str]
    digest: str
    created: float
    language: str = "python"


ARTEFACT_URI = "doorward://results/"
"""The beginning of the URI of each artefact."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """A large value or bytes kept on the host. `uri` is `doorward://results/…`, `type` the media type, `bytes` the
    size, `name` the file name, if there is one."""

    uri: str
    type: str
    bytes: int
    name: str = ""


class CallCount(TypedDict):
    """The calls of one function that ended alike: how many, and the milliseconds that they took together."""

    function: str
    ok: bool
    count: int
    ms: float


class Truncated(TypedDict):
    """What a value was before it was cut, where the whole value is, and how a program reads it."""

    shape: str
    bytes: int
    rest: str
    read: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a run is suspended. `for_` is a word for it (see `Wait`), `run` its id, `what` says what is awaited, a line
    each, and `next` what the agent does then. `until`, in seconds since the epoch, is when it is worth resuming, if
    that is known."""

    for_: str
    run: str
    what: tuple[str, ...] = ()
    next: str = ""
    until: int = 0


class OutcomePart(Protocol):
    """What a plugin adds to the outcome of a run, under a key of its JSON."""

    def as_json(self) -> Any:
        """It as plain JSON, without what is empty."""
        ...

    def as_lines(self) -> Sequence[str]:
        """It as lines of text, for a reader who gets no JSON."""
        ...

    def sealed(self) -> OutcomePart:
        """The same, with nothing in it that can be changed."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of `execute_code`, `run_cached_code`, `doorward run --json` and `Gateway.execute`. `usage` is what the
    run has used of servers that count it, by server and name: `{"llm": {"rounds": 3, "tokens": 812}}`. A run that is
    `waiting` is not `ok`, has no error and can be resumed. `parts` are what plugins add, by their keys in JSON."""

    ok: bool
    value: Any = None
    printed: str = ""
    cache_id: str = ""
    next: str = ""
    session_id: str = ""
    calls: tuple[CallCount, ...] = ()
    usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    artefacts: tuple[Artefact, ...] = ()
    truncated: Truncated | None = None
    error: Failure | None = None
    waiting: Waiting | None = None
    parts: Mapping[str, OutcomePart] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    executor: str = ""
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """What a call waits for, and so its run.

    `for_` is one word for it, which programs and metrics read: `"login"`. `what` is a line for the agent and its
    person: what is awaited, and who does what about it. `until`, in seconds since the epoch, is when it is worth
    resuming the run, if that is known. `together` is said once more if several calls of a run wait for the same:
    how one answer serves all of them.
    """

    for_: str
    what: str
    until: int = 0
    together: str = ""


def resumed_at(waits: Sequence[Wait]) -> int:
    """When it is worth resuming a run, in seconds since the epoch; 0 unless that is known of all that it waits for."""
    return max(each.until for each in waits) if all(each.until for each in waits) else 0
