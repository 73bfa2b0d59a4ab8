"""The protocols that drivers implement: Source, Auth, Cache, Executor and Sandbox.

A driver is what the configuration *names*, and exactly one answers: `source = "openapi"` is the entry point
`openapi` in the group `doorward.source`. Each driver class carries `Settings`, a `doorward.Settings` model with
which core validates the driver's part of the configuration. A constructor does nothing that can fail or wait:
files, sockets and processes are opened by the first method that needs them, and closed by `close`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

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
        """A string that changes whenever what `compile` reads has changed (a hash of the document). Called
        before `compile` on the same instance, which may keep what it read.

        Raises: ServerError or ConfigError if the document or the upstream cannot be had.
        """
        ...

    async def compile(self) -> Compiled:
        """All functions of the server. One bad operation is listed in `skipped`; it never loses the others.

        Raises: ConfigError if nothing at all can be made of what is there.
        """
        ...

    async def call(self, call: Call) -> Any:
        """Perform one call, whose arguments fit the function's schema, within `call.time_left` seconds.

        Returns: a plain JSON value, or `bytes`; or a `Reply` that holds either and says more of it. Bytes within lists
        and objects are artefacts too, each a `File` where its media type or name is known.
        Raises: ApiError or ServerError; InvalidArguments for what the schema cannot say. Anything else counts as a
        defect of the source.
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
        """The object that HTTP clients of this server use. Called once a server, before its first request.
        Secrets are revealed when a request is made (`await secret.get()`), not here.

        Raises: ConfigError if the settings cannot work together.
        """
        ...


class Cache(Protocol):
    """Keeps programs for `run_cached_code`. A program belongs to its principal; nobody else can name it."""

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    async def put(self, program: CachedProgram) -> str:
        """Keep a program. Returns the id in effect: that of an equal program (same principal and digest) kept
        before, whose time then starts anew, else `program.cache_id`."""
        ...

    async def get(self, cache_id: str, principal: str) -> CachedProgram | None:
        """The program, or `None` if there is none of that id (any more) for that principal."""
        ...

    async def close(self) -> None:
        """Give back what was opened. Called once."""
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an executor can run and how it isolates. `isolation` is a sentence for people; `packages` are importable
    besides the standard library; `files`: programs have a folder of their own, with `./in` and `./out`; `one_process`:
    they may start no other process, where nothing would count the memory of all."""

    language: str
    isolation: str
    packages: Sequence[str] = ()
    sessions: bool = False
    files: bool = False
    network: bool = False
    notes: str = ""
    one_process: bool = False
    limits: Mapping[str, str] = field(default_factory=dict)
    """Which limit is enforced by what, for example `{"memory": "cgroup"}`."""


@dataclass(frozen=True, slots=True)
class Aliases:
    """What one program's text needs of other systems' names.

    `modules` are import names, dotted ones too, each with the server that it means (as `Door.members` knows it; empty:
    a package that holds others). `before` is Python that makes the names which are simply there; a program's own are
    left alone.
    """

    modules: Mapping[str, str] = field(default_factory=dict)
    before: str = ""


class Door(Protocol):
    """What an executor is given to serve a program: the only way out of its sandbox.

    The host trusts nothing that comes in here: names and arguments are checked on the other side.
    """

    def members(self, server: str) -> Sequence[str] | None:
        """The function names of a server that this program may import; `None` if there is no such server.
        `doorward` is the server of the discovery functions, always there."""
        ...

    async def call(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Make one call, `function` as `server.name`. Many may be in flight.

        Returns: a plain JSON value; bytes where `doorward.read` reads a file that is neither JSON nor text.
        Raises: DoorwardError; to be raised in the program at the place of the call, with this message.
        """
        ...

    def stub(self, server: str, names: Sequence[str]) -> str:
        """The text of a `.pyi` stub that declares these functions of the server."""
        ...

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        """What this program needs of other systems' names for servers and helpers (`everything`: what any program
        might, for an executor whose modules are made once)."""
        ...

    def print(self, text: str) -> bool:
        """Keep printed output. False: the limit is reached, the rest is dropped."""
        ...

    def open(self, uri: str) -> File:
        """An artefact of the run's principal, by its URI `doorward://results/ID`.

        Raises: InvalidArguments if there is none (any more).
        """
        ...

    def keep(self, content: bytes, type: str, name: str = "") -> Artefact:
        """Keep a file that the program made: its media type, and its name without folders.

        Raises: LimitExceeded if it is too large, or the run has kept too many.
        """
        ...


class Sandbox(Protocol):
    """One isolated place in which one client's programs run, one after the other."""

    async def run(self, program: Program, door: Door) -> ProgramResult:
        """Run one program to its end. Cancelled at the deadline or when the client goes: then everything that
        the program started must be gone before this returns, and the sandbox cannot be used again.

        Raises: Unsupported if the program needs what this executor cannot do; SandboxDied if the sandbox
        died; LimitExceeded if a limit ended it. What the program itself raises is `ProgramResult.error`.
        """
        ...

    async def close(self) -> None:
        """End it and everything in it. Idempotent."""
        ...


class Executor(Protocol):
    """Runs programs in isolation: it opens sandboxes. Never runs anything unisolated.

    It may have the abilities `HasSlots`, `HasWait`, `SupportsBuild` and `SupportsMachineCheck` as well.
    """

    Settings: ClassVar[type[Settings]]

    def __init__(self, context: PluginContext) -> None: ...

    def capabilities(self) -> Capabilities:
        """What it can run and how it isolates. Known without starting anything."""
        ...

    async def open(self, program: Program, *, session: bool = False) -> Sandbox:
        """A sandbox that no other client has used, for one run, or for a session of runs that keep their
        variables. `program` is the first that will run in it.

        Raises: ExecutorError if isolation cannot be had on this machine, saying why and what to install.
        """
        ...

    async def close(self) -> None:
        """End all sandboxes. Called once."""
        ...
