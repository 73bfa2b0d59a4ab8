"""The protocols that drivers implement: Source, Auth, Cache, Executor with its Sandbox, and Observer.

A driver is what the configuration *names*, and exactly one answers: `source = "openapi"` is the entry point
`openapi` in the group `doorward.source`. Each driver class carries `Settings`, a `doorward.Settings` model with
which core validates the driver's part of the configuration. A constructor does nothing that can fail or wait:
files, sockets and processes are opened by the first method that needs them, and closed by `close`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from doorward.model.events import Event
from doorward.model.types import Artefact, CachedProgram, Call, Compiled, File, Program, ProgramResult

if TYPE_CHECKING:
    import httpx2

    from doorward.model.contexts import PluginContext, ServerContext
    from doorward.model.settings import Settings


class Source(Protocol):
    """Turns a server's configuration into functions, and performs their calls.

    It may have the abilities `TellsChanges` and `OffersFunctions` as well.
    """

    Settings: ClassVar[type[Settings]]

    def __init__(self, server: ServerContext) -> None: ...

    async def fingerprint(self) -> str:
        """A string that changes whenever the input of `compile` has changed: a hash of the document, for example.
        Called before `compile` on the same instance, which may keep what it has read.

        Raises: ServerError or ConfigError if the document or the upstream cannot be reached.
        """
        ...

    async def compile(self) -> Compiled:
        """All functions of the server. A bad operation is listed in `skipped`; the others are not lost with it.

        Raises: ConfigError if the document or the upstream is of no use at all.
        """
        ...

    async def call(self, call: Call) -> Any:
        """Perform one call, whose arguments fit the function's schema, within `call.time_left` seconds.

        Returns: a plain JSON value or `bytes`, or a `Reply` that holds either and says more about it. Bytes within
        lists and objects become artefacts too; each is a `File` where its media type or name is known.
        Raises: ApiError or ServerError; InvalidArguments for rules that the schema cannot express. Anything else counts
        as a defect of the source.
        """
        ...

    async def close(self) -> None:
        """Give back what was opened. Called once."""
        ...


class Auth(Protocol):
    """Adds credentials to outgoing requests. Lives on the host; nothing of it ever enters a sandbox.

    It may have the abilities `SupportsLogin`, `SupportsLogout`, `SupportsLoginCheck` and `SupportsClose` as well.
    """

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    def create_auth(self) -> httpx2.Auth:
        """The object that HTTP clients of this server use. Called once for each server, before its first request.
        Secrets are revealed when a request is made (`await secret.get()`), not here.

        Raises: ConfigError if the settings contradict each other.
        """
        ...


class Cache(Protocol):
    """Keeps programs for `run_cached_code`. A program belongs to its principal; no other can name it."""

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    async def put(self, program: CachedProgram) -> str:
        """Keep a program.

        Returns: the id under which it is kept. If an equal program (same principal and digest) is there already, that
        is its id, and its lifetime starts anew; else it is `program.cache_id`.
        """
        ...

    async def get(self, cache_id: str, principal: str) -> CachedProgram | None:
        """The program, or `None` if that principal has none with this id (any more)."""
        ...

    async def close(self) -> None:
        """Give back what was opened. Called once."""
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an executor can run and how it isolates.

    `isolation` is a sentence for people. `packages` can be imported besides the standard library. `files`: programs
    have a folder of their own, with `./in` and `./out`. `one_process`: programs may not start another process, because
    nothing could limit the memory of all of them together.
    """

    language: str
    isolation: str
    packages: Sequence[str] = ()
    sessions: bool = False
    files: bool = False
    network: bool = False
    notes: str = ""
    one_process: bool = False
    limits: Mapping[str, str] = field(default_factory=dict)
    """What enforces which limit, for example `{"memory": "cgroup"}`."""


@dataclass(frozen=True, slots=True)
class Aliases:
    """The names of other systems that one program uses.

    `modules` are import names, dotted ones too, each with the server that it means (as `Door.members` knows it; empty
    for a package that only holds others). `before` is Python code that defines the names which a program uses without
    importing them; names that the program defines itself are left alone.
    """

    modules: Mapping[str, str] = field(default_factory=dict)
    before: str = ""


class Door(Protocol):
    """What an executor is given to serve a program: the only way out of its sandbox.

    The host trusts nothing that comes in here: names and arguments are checked on the other side.
    """

    def members(self, server: str) -> Sequence[str] | None:
        """The names of the functions of a server that this program may import; `None` if there is no such server.
        `doorward`, the server of the discovery functions, is always there."""
        ...

    async def call(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Make one call; `function` is `server.name`. Many may be in flight.

        Returns: a plain JSON value; bytes where `doorward.read` reads a file that is neither JSON nor text.
        Raises: DoorwardError, to be raised with this message in the program, at the place of the call.
        """
        ...

    def stub(self, server: str, names: Sequence[str]) -> str:
        """The text of a `.pyi` stub that declares these functions of the server."""
        ...

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        """The names of other systems for servers and helpers that this program uses. `everything`: those that any
        program might use, for an executor that makes its modules once."""
        ...

    def print(self, text: str) -> bool:
        """Keep printed output. Returns: False if the limit is reached, and the rest is dropped."""
        ...

    def open(self, uri: str) -> File:
        """An artefact of the run's principal by its URI, `doorward://results/ID`.

        Raises: InvalidArguments if there is none (any more).
        """
        ...

    def keep(self, content: bytes, type: str, name: str = "") -> Artefact:
        """Keep a file that the program made. `type` is its media type, `name` its name without folders.

        Raises: LimitExceeded if it is too large, or the run has kept too many.
        """
        ...


class Sandbox(Protocol):
    """One isolated place in which the programs of one client run, one after the other."""

    async def run(self, program: Program, door: Door) -> ProgramResult:
        """Run one program to its end. This is cancelled at the deadline, or when the client goes: then everything that
        the program started must be gone before it returns, and the sandbox cannot be used again.

        Raises: Unsupported if the program needs something that this executor cannot do; SandboxDied if the sandbox
        died; LimitExceeded if a limit ended it. An error of the program itself is `ProgramResult.error`.
        """
        ...

    async def close(self) -> None:
        """End the sandbox and everything in it. May be called more than once."""
        ...


class Executor(Protocol):
    """Runs programs in isolation: it opens sandboxes. Never runs anything unisolated.

    It may have the abilities `HasSlots`, `HasWait`, `SupportsBuild` and `SupportsMachineCheck` as well.
    """

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    def capabilities(self) -> Capabilities:
        """What the executor can run and how it isolates, found without starting anything."""
        ...

    async def open(self, program: Program, *, session: bool = False) -> Sandbox:
        """A sandbox that no other client has used, for one run, or for a session of runs that keep their
        variables. `program` is the first that will run in it.

        Raises: ExecutorError if this machine cannot isolate; it says why, and what to install.
        """
        ...

    async def close(self) -> None:
        """End all sandboxes. Called once."""
        ...


class Observer(Protocol):
    """Tells others what happened: a tracing backend, a SIEM. No run and no call ever waits for it."""

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    async def observe(self, batch: Sequence[Event]) -> None:
        """Take a batch of events, in the order in which they happened; never called again before it returns. If it
        raises, or takes more than 30 seconds, the batch is dropped, and the next one comes after a pause.
        """
        ...

    async def close(self) -> None:
        """Give back what was opened, after the last batch. Called once."""
        ...
