"""The words of Doorward as frozen dataclasses: what crosses a hook, a driver or the broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from doorward.model.clock import Clock
from doorward.model.limits import Limits as Limits

if TYPE_CHECKING:
    from doorward.model.interaction import Client

Schema = Mapping[str, Any]
"""A JSON Schema 2020-12. `{"$ref": "#/$defs/NAME"}` means the definition NAME of the function's server."""

Kind = Literal["program", "guard", "policy", "limit", "executor", "server", "config"]
"""Of an error: whose turn it is."""
ARTEFACT_URI = "doorward://results/"
"""What the URI of each artefact begins with."""

LOCAL = "local"
"""The principal of everyone who is not on the HTTP transport: the user who started the process."""


@dataclass(frozen=True, slots=True)
class Function:
    """One callable operation of a server.

    `name` is a Python identifier, unique in its server; `id` is what the upstream calls it. `parameters` is a JSON
    Schema of type object whose properties are the keyword arguments. `returns` is the schema of the result, `None` if
    nobody knows it. `route` (`"GET /repos/{owner}"`) is for patterns and search. `names` says what the upstream calls
    those parameters that have another name here; a call may use either. `sends_null` says that None for an optional
    parameter reaches the source although its schema does not have null; else it is left out. `headers` are the names of
    those that an answer is said to have beside its value. `aliases` are further names by which programs and patterns
    may mean it. `open`: the upstream may take arguments that nothing names, if the operator says so (`extra`). `data`
    is the source's own: whatever it needs to perform the call; plain JSON, never a secret.
    """

    server: str
    name: str
    id: str = ""
    summary: str = ""
    description: str = ""
    parameters: Schema = field(default_factory=lambda: {"type": "object", "properties": {}})
    returns: Schema | None = None
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    deprecated: bool = False
    tags: tuple[str, ...] = ()
    route: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    sends_null: bool = False
    headers: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    open: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def qualified(self) -> str:
        """`server.name`: the one name in catalog, policy and audit."""
        return f"{self.server}.{self.name}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """An operation that did not become a function: where it stands and why."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a server seems to want as `auth`.

    `auth` are the tables, with `${…}` where credentials go: variables whose names the source chooses, never the
    document, in whose own texts `$${` stands for `${`. `says` is what it is, as in "an API key in the header X-Key".
    `serves` is how many of the functions that need credentials it is enough for. `elsewhere` are URLs of other origins
    than the API's to which a secret would go: such a suggestion is never put to use without the operator.
    """

    auth: Sequence[Mapping[str, Any]]
    says: str
    serves: int = 0
    elsewhere: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a source made of its server. `definitions` are the schemas that `$ref`s name, by NAME. `needing_auth` is how
    many functions need credentials, `auth` what would open them, the best first."""

    functions: Sequence[Function]
    definitions: Mapping[str, Schema] = field(default_factory=dict)
    skipped: Sequence[Skipped] = ()
    warnings: Sequence[str] = ()
    description: str = ""
    needing_auth: int = 0
    auth: Sequence[Suggestion] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """What an agent wants run. `params` are values for the program's parameters; `functions` narrows, by names and
    wildcards, what it may call (`None`: all that policy allows); `deadline` is a `time.monotonic()`, later if its
    client is asked meanwhile.
    """

    code: str
    params: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    functions: tuple[str, ...] | None = None
    principal: str = LOCAL
    limits: Limits = field(default_factory=Limits)
    run: str = ""
    deadline: float = float("inf")


@dataclass(frozen=True, slots=True)
class Call:
    """One call out of a sandbox (or of the command line) on its way to a source. `deadline` is a time on the run's
    `clock`, which stands still while the client is asked; `client` is who asked for the run, where that is an MCP
    client. `allows` says whether the run may call another function of the server as well, by its original id and its
    route: for a source to which the call may turn out to be that one's. `link` is that of the `Reply` which this call
    gets the next page of; no program can give one."""

    function: Function
    arguments: Mapping[str, Any]
    run: str = ""
    principal: str = LOCAL
    deadline: float = float("inf")
    client: Client | None = None
    clock: Clock = field(default_factory=Clock, repr=False, compare=False)
    allows: Callable[[str, str], bool] = field(default=lambda id, route: True, repr=False, compare=False)
    link: str = field(default="", repr=False)

    @property
    def time_left(self) -> float:
        """Seconds until the run must be over; never below zero."""
        return max(0.0, self.deadline - self.clock.now())


@dataclass(frozen=True, slots=True)
class Reply:
    """What a source may return of a call, where it knows more than the value.

    `type` is the media type and `name` the file name of bytes; `next` are the keyword arguments of the call of the same
    function that gets the next page, `None` if there is none or none is known; `link` is what the source wants to have
    with them, as `Call.link`, where arguments cannot say it. `left` is why a next page that there is cannot be had: the
    end of a sentence. `items` are the keys that lead to the list of which a page is made, where the source knows it for
    sure.

    `status` is the HTTP status, and `headers` are what the answer has besides its value. Programs get them by
    `doorward.reply`, credentials left out, names in small letters.
    """

    value: Any
    type: str = ""
    name: str = ""
    next: Mapping[str, Any] | None = None
    link: str = field(default="", repr=False)
    left: str = field(default="", compare=False)
    items: Sequence[str] = field(default=(), compare=False)
    status: int | None = field(default=None, compare=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class File:
    """Bytes among the arguments of a call that a program passed by a handle: an artefact of its own.

    `type` is their media type and `name` the file name, where they are known.
    """

    content: bytes = field(repr=False)
    type: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """How a call went: sizes and times, never contents."""

    ok: bool
    ms: float
    bytes_in: int = 0
    bytes_out: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a guard says of a program. `line` counts from 1; `instead` is what to do instead. `refuse` decides whether
    the program is stopped or the author only told. `error` is what Python raises for it, where that is wrong with the
    program itself: `SyntaxError`."""

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
    """How a program ended inside its sandbox: a plain JSON value, or a failure."""

    value: Any = None
    error: Failure | None = None


@dataclass(frozen=True, slots=True)
class Artefact:
    """A large value or bytes kept on the host: `doorward://results/…`, a media type, a size in bytes, and the name of
    the file where it is one."""

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
    """What a value was before it was cut, where all of it is, and how a program reads it."""

    shape: str
    bytes: int
    rest: str
    read: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `execute_code`, `run_cached_code`, `doorward run --json` and `Gateway.execute` answer."""

    ok: bool
    value: Any = None
    printed: str = ""
    cache_id: str = ""
    next: str = ""
    session_id: str = ""
    calls: tuple[CallCount, ...] = ()
    artefacts: tuple[Artefact, ...] = ()
    truncated: Truncated | None = None
    error: Failure | None = None
    notes: tuple[str, ...] = ()
    executor: str = ""
    ms: float = 0.0


@dataclass(frozen=True, slots=True)
class CachedProgram:
    """A program kept for `run_cached_code`. `params` are its parameters with the values of the run that was
    kept; `uses` maps each function that it called to the hash of its schema then. `digest` is the same for the
    same code and narrowing, so that a program kept twice keeps its id."""

    cache_id: str
    principal: str
    code: str
    description: str
    params: Mapping[str, Any]
    functions: tuple[str, ...] | None
    uses: Mapping[str, str]
    digest: str
    created: float
