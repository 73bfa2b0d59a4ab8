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
"""The kinds of errors, by who can mend them."""

ARTEFACT_URI = "doorward://results/"
"""The beginning of the URI of each artefact."""

LOCAL = "local"
"""The principal of all requests that do not come over HTTP: the user who started the process."""


@dataclass(frozen=True, slots=True)
class Function:
    """One callable operation of a server.

    `name` is a Python identifier, unique in its server; `id` is what the upstream calls it. `parameters` is a JSON
    Schema of type object whose properties are the keyword arguments. `returns` is the schema of the result, `None` if
    it is unknown. `route` (`"GET /repos/{owner}"`) is for patterns and search. `names` maps parameters that have
    another name here to their names in the upstream; a call may use either. `sends_null`: None for an optional
    parameter reaches the source even if the schema does not allow null; else it is left out. `headers` are the names of
    the headers that an answer is documented to have. `aliases` are further names for programs and patterns. `open`: the
    upstream may take undeclared arguments, if the operator allows them (`extra`). `data` is whatever the source needs
    to perform the call: plain JSON, never a secret.
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

    `auth` are the tables, with `${…}` in place of credentials. The source chooses the names of these variables, never
    the document; in texts of the document `$${` stands for `${`. `says` describes the suggestion: "an API key in the
    header X-Key". `serves` counts the functions for which it is enough, of those that need credentials. `elsewhere` are
    URLs to which a secret would go although they have another origin than the API: such a suggestion is never used
    unless the operator agrees.
    """

    auth: Sequence[Mapping[str, Any]]
    says: str
    serves: int = 0
    elsewhere: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """The result of compiling a server. `definitions` are the schemas that `$ref`s name, by NAME. `needing_auth` counts
    the functions that need credentials; `auth` are suggestions that would open them, the best first."""

    functions: Sequence[Function]
    definitions: Mapping[str, Schema] = field(default_factory=dict)
    skipped: Sequence[Skipped] = ()
    warnings: Sequence[str] = ()
    description: str = ""
    needing_auth: int = 0
    auth: Sequence[Suggestion] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """A program that an agent wants to run. `params` are values for its parameters; `functions` narrows by names and
    wildcards what it may call (`None`: all that the policy allows); `deadline` is a `time.monotonic()`, which moves on
    while the client is asked something.
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
    """One call from a sandbox (or from the command line) on its way to a source. `deadline` is a time on the run's
    `clock`, which stands still while the client is asked something; `client` is the MCP client that asked for the run,
    if one did. `allows` says whether the run may also call another function of the server, by its original id and
    route; `forbids` why it may not send a method and whole path (`GET /v1/users`): for a source that finds out what the
    call really is. `link` is the `Reply.link` of the page before; no program can set it."""

    function: Function
    arguments: Mapping[str, Any]
    run: str = ""
    principal: str = LOCAL
    deadline: float = float("inf")
    client: Client | None = None
    clock: Clock = field(default_factory=Clock, repr=False, compare=False)
    allows: Callable[[str, str], bool] = field(default=lambda id, route: True, repr=False, compare=False)
    link: str = field(default="", repr=False)
    forbids: Callable[[str], str] = field(default=lambda route: "", repr=False, compare=False)

    @property
    def time_left(self) -> float:
        """Seconds until the run must be over; never below zero."""
        return max(0.0, self.deadline - self.clock.now())


@dataclass(frozen=True, slots=True)
class Reply:
    """What a source returns from a call if it knows more than the value.

    `type` is the media type and `name` the file name of bytes. `next` are the arguments by which the same function gets
    the next page, `None` if there is no such page or the source does not know one; `link` is given back with them, as
    `Call.link`, for what arguments cannot say. `left` says why a next page exists but cannot be fetched: the end of a
    sentence. `items` are the keys that lead to the list in a page, where the source knows them for sure.

    `status` is the HTTP status, `headers` are those of the answer. Programs get them by `doorward.reply`, without
    credentials, their names in small letters.
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
    """Bytes with what is known about them: an artefact that a program passed by its handle, or a part of an answer.

    `type` is their media type and `name` the file name, where they are known.
    """

    content: bytes = field(repr=False)
    type: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """How a call went: its size and duration, never its content."""

    ok: bool
    ms: float
    bytes_in: int = 0
    bytes_out: int = 0
    error: str = ""


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
    """How a program ended inside its sandbox: a plain JSON value, or a failure."""

    value: Any = None
    error: Failure | None = None


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
class Outcome:
    """The answer of `execute_code`, `run_cached_code`, `doorward run --json` and `Gateway.execute`."""

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
    """A program kept for `run_cached_code`. `params` are its parameters, with the values of that run; `uses` maps each
    function that it called to the hash of its schema at that time. `digest` is the same for the same code and
    `functions`, so that a program kept twice keeps its id."""

    cache_id: str
    principal: str
    code: str
    description: str
    params: Mapping[str, Any]
    functions: tuple[str, ...] | None
    uses: Mapping[str, str]
    digest: str
    created: float
