"""What an executor is, what it is given to serve a program, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from doorward.model.calls import File
from doorward.model.programs import Artefact, Program, ProgramResult

if TYPE_CHECKING:
    from doorward.model.contexts import PluginContext
    from doorward.model.settings import Settings


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an executor can run and how it isolates.

    `language` and `isolation` are sentences for people; `languages` are the values of `Program.language` that it runs:
    `python`, `typescript`, `javascript`. `packages` can be imported besides the standard library, of which there is no
    more than `modules`, if any are named. `files`: programs have a folder of their own, with `./in` and `./out`.
    `shell`: the operator lets programs start commands, and there are some. `plans`: programs can be planned, which
    means that an answer may be `Planned`, of which a program can do nothing but hand it on; `plans_unread`: only
    programs that use no such answer can be planned, others end with `PlanStopped` where they do. `one_process`:
    programs may not start another process, because nothing could limit the memory of all of them together. `repeats`:
    it keeps to `Program.seed`, `Door.times` and `Door.seen`, so that a program runs a second time as it did the first;
    runs elsewhere cannot be suspended.
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
    languages: Sequence[str] = ("python",)
    plans: bool = False
    plans_unread: bool = False
    repeats: bool = False
    modules: Sequence[str] = ()
    shell: bool = False


@dataclass(frozen=True, slots=True)
class Aliases:
    """The names of other systems that one program uses.

    `modules` are import names, dotted ones too, each with the server that it means (as `Door.members` knows it; empty
    for a package that only holds others: those of a script's are `package/name`). `before` is code that defines the
    names which a program uses without importing them; names that the program defines itself are left alone. For Python
    it runs in the program's scope; for TypeScript and JavaScript it is a module of its own, which is evaluated first.
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
        """Make one call; `function` is `server.name`. Many may be in flight. A program without keywords (TypeScript,
        JavaScript) gives one object for them: it comes as the only one of `args`, or for `doorward` as the last.

        Returns: a plain JSON value; `Planned` for a call that a plan withholds, which comes back in arguments and in
        the result as `{PLANNED_KEY: [call, *path]}`; bytes where `doorward.read` reads a file that is neither JSON nor
        text.
        Raises: DoorwardError, to be raised with this message in the program, at the place of the call.
        """
        ...

    def stub(self, server: str, names: Sequence[str]) -> str:
        """The text of a stub that declares these functions of the server: `.pyi`, for a program in TypeScript or
        JavaScript `.d.ts`."""
        ...

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        """The names of other systems for servers and helpers that this program uses. `everything`: those that any
        program might use, for an executor that makes its modules once."""
        ...

    def print(self, text: str) -> bool:
        """Keep printed output. Returns: False if the limit is reached, and the rest is dropped."""
        ...

    def times(self) -> Sequence[float]:
        """What the program shall read from its clocks first, in this order, because it has read so before; nothing, if
        this is its first try. After these it reads the time as it is."""
        ...

    def seen(self, times: Sequence[float]) -> None:
        """Keep what the program newly read from its clocks, in order and without what `times` gave. Tell it before the
        next call of the program, and at its end."""
        ...

    def at(self, line: int) -> None:
        """Keep the line at which the program is, which is named if its time ends there. An executor that cannot see it
        never says it."""
        ...

    async def open(self, uri: str) -> File:
        """An artefact of the run's principal by its URI, `doorward://results/ID`.

        Raises: InvalidArguments if there is none (any more); StateError.
        """
        ...

    def keep(self, content: bytes, type: str, name: str = "") -> Artefact:
        """Keep a file that the program made, which is stored before the run ends. `type` is its media type, `name` its
        name without folders.

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

    It may have the abilities `HasSlots`, `HasWait`, `HasReady`, `SupportsBuild` and `SupportsMachineCheck` as well.
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
