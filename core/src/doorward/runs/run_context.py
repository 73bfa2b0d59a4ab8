"""One run: what its sandbox may import, call and print, and what it has used of its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doorward.calls.arguments import MOST_PARTS
from doorward.calls.artefacts import MOST_FILES, base_name
from doorward.compat.aliases import aliases
from doorward.data.json_writing import exceeds
from doorward.data.values import beginning, size
from doorward.describe.results.last_answers import LastAnswers
from doorward.model.clock import Clock
from doorward.model.errors import DoorwardError, InvalidArguments, LimitExceeded, UnknownName
from doorward.model.types import Artefact, CallCount, Failure, File, Program, Reply

if TYPE_CHECKING:
    from doorward.calls.artefacts import Artefacts
    from doorward.calls.broker import Broker
    from doorward.calls.client_requests import RunClient
    from doorward.calls.withholding import Withholding
    from doorward.model.drivers import Aliases
    from doorward.model.errors import SecretWithheld
    from doorward.model.interaction import Client
    from doorward.program_api.modules import Modules
    from doorward.runs.sessions import Session

IN_FLIGHT = 64
"""Calls of one run at once; more of them wait."""

MOST_NOTES = 20
"""Of one run: a program may get a thousand lists of which each has more."""

MOST_FAILURES = 100
"""Failed calls of one run that are kept, to know them again in the program's error."""

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}(; ?charset=[\w-]{1,40})?", re.ASCII)


class RunContext:
    """A run, as the host knows it while it lasts, and the `Door` that its sandbox gets. What it keeps survives the
    sandbox.

    Whoever sees what happens to the run tells it by a method: nobody else writes what it knows.
    """

    __slots__ = (
        "_answers",
        "_artefacts",
        "_broker",
        "_client",
        "_clock",
        "_counts",
        "_failures",
        "_file_bytes",
        "_files",
        "_made",
        "_modules",
        "_noted",
        "_notes",
        "_printed",
        "_program",
        "_room",
        "_schema_hashes",
        "_session",
        "_slots",
        "_store",
        "_withheld",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        broker: Broker,
        modules: Modules,
        artefacts: Artefacts,
        session: Session | None = None,
        client: Client | None = None,
    ) -> None:
        import anyio

        from doorward.calls.client_requests import RunClient

        self._program = program
        self._broker = broker
        self._modules = modules
        self._store = artefacts
        self._session = session
        self._clock = Clock()
        self._client = RunClient(client, self._clock, program.limits.asking) if client else None
        self._slots = anyio.Semaphore(IN_FLIGHT, fast_acquire=True)
        self._made = 0
        self._counts: dict[tuple[str, bool], list[float]] = {}
        self._schema_hashes: dict[str, str] = {}
        self._failures: dict[str, DoorwardError] = {}
        self._answers = LastAnswers()
        self._withheld: SecretWithheld | None = None
        self._artefacts: list[Artefact] = []
        self._files = 0
        self._file_bytes = 0
        self._notes: list[str] = []
        self._noted: set[str] = set()
        self._printed: list[str] = []
        self._room = program.limits.output_bytes

    @property
    def program(self) -> Program:
        return self._program

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def client(self) -> RunClient | None:
        """Whom its calls may ask and tell of progress."""
        return self._client

    # What it may import

    def members(self, server: str) -> Sequence[str] | None:
        return self._modules.members(server, self._program.principal)

    def stub(self, server: str, names: Sequence[str]) -> str:
        return self._modules.stub(server, names, self._program.principal)

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        return aliases(code, self._modules.usable_by(self._program.principal), self._modules.has, everything=everything)

    def absent(self, server: str) -> tuple[str, list[str]]:
        """See `Modules.absent`."""
        return self._modules.absent(server, self._program.principal)

    def near(self, server: str, name: str) -> str:
        """What to say of functions like one that a server has not."""
        return self._broker.near(f"{server}.{name}", self._program.principal)

    # Its calls

    async def call(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return (await self.reply(function, args, kwargs)).value

    async def reply(
        self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, link: str = "", headers: bool = False
    ) -> Reply:
        """Make one call, as `call` does; with its value comes what its source says of a next page, whose `link` the
        call for that one gets. `headers`: those of the answer, too."""
        self._made += 1
        try:
            if self._made > 10 * self._program.limits.calls:
                raise LimitExceeded("the run makes nothing but calls that are refused")
            if not isinstance(function, str) or exceeds([args, kwargs], MOST_PARTS):
                raise LimitExceeded(
                    f"the arguments of a call have more than {MOST_PARTS:,} parts", hint="Send less at once."
                )
            server, _, name = function.partition(".")
            if server == "doorward":
                return Reply(await self._modules.help(self, name, args, kwargs))
            async with self._slots:
                return await self._broker.call(self, function, args, kwargs, link=link, headers=headers)
        except DoorwardError as error:
            if len(self._failures) < MOST_FAILURES:
                self._failures[error.message] = error
            raise

    def following(self, function: str, arguments: Mapping[str, Any], value: Any) -> tuple[dict[str, Any] | None, str]:
        """How the page after an answer is got, where its source says nothing of it. See `following`."""
        return self._broker.following(function, self._program.principal, arguments, value)

    def helper_makes_calls(self) -> None:
        """The calls that a helper makes are counted, the call of the helper is not."""
        self._made -= 1

    @property
    def made(self) -> int:
        """The calls that count so far."""
        return self._made

    @property
    def failed(self) -> int:
        """The calls that failed so far, each message once, up to `MOST_FAILURES`."""
        return len(self._failures)

    def cause(self, message: str) -> DoorwardError | None:
        """The failed call that a program's error with this message comes of."""
        return next((error for said, error in self._failures.items() if said and message.startswith(said)), None)

    def same_schema(self, function: str, schema_hash: str) -> str:
        """What a function promised when this run called it first; that is now, if it has not yet."""
        return self._schema_hashes.setdefault(function, schema_hash)

    def count(self, function: str, *, ok: bool, ms: float) -> None:
        """Add a call that was made to the run's account."""
        at = self._counts.setdefault((function, ok), [0, 0.0])
        at[0] += 1
        at[1] += ms

    def calls(self) -> tuple[CallCount, ...]:
        """The calls made: by function and result, how many, and the milliseconds they took together."""
        return tuple(
            {"function": f, "ok": ok, "count": int(n), "ms": round(ms, 1)} for (f, ok), (n, ms) in self._counts.items()
        )

    # What its calls were answered

    def answered(self, function: str, value: Any, size: int) -> None:
        """Keep in mind what a function answered, to explain mistakes about it."""
        self._answers.add(function, value, size)

    def hint(self, error: Failure) -> str | None:
        """What its calls were answered, if the error may come of taking that for something else."""
        return self._answers.hint(error)

    def note_on(self, value: Any) -> str | None:
        """What is to be said of a value that is an answer as it came."""
        return self._answers.note(value)

    @property
    def reached(self) -> frozenset[str]:
        """The servers that programs of this principal have called: what these were sent may have reached this run."""
        return self._broker.reached(self._program.principal)

    @property
    def withholding(self) -> Withholding:
        return self._broker.withholding

    @property
    def withheld(self) -> SecretWithheld | None:
        """Why this run is answered nothing any more."""
        return self._withheld

    def withhold(self, why: SecretWithheld) -> None:
        """Answer this run nothing any more."""
        self._withheld = why

    # What it leaves

    def print(self, text: str) -> bool:
        if self._room <= 0:
            return False
        self._printed.append(beginning(text, self._room))
        self._room -= size(text)
        if self._room <= 0:
            self._printed.append(
                f"\n… more than {self._program.limits.output_bytes} bytes of output; the rest was dropped"
            )
        return self._room > 0

    def print_anew(self) -> None:
        """Forget what was printed: another executor begins with the program."""
        self._printed.clear()
        self._room = self._program.limits.output_bytes

    @property
    def printed(self) -> str:
        return "".join(self._printed)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of its answer is told beside the value."""
        return tuple(self._notes)

    def note(self, text: str, *, about: str = "") -> None:
        """Tell the reader of the run's answer something beside its value, once, as long as there are few such notes;
        `about` what."""
        self._noted.add(about)
        if text not in self._notes and len(self._notes) < MOST_NOTES:
            self._notes.append(
                text if len(self._notes) + 1 < MOST_NOTES else "there is more to note, which is left out"
            )

    def noted(self, about: str) -> bool:
        """Whether something was told about this."""
        return about in self._noted

    def keep(self, content: bytes, type: str, name: str = "") -> Artefact:
        self._files += 1
        self._file_bytes += len(content)
        if self._files > MOST_FILES:
            raise LimitExceeded(
                f"the run left more than {MOST_FILES} files", hint="Put them into one, an archive for example."
            )
        if self._file_bytes > self._program.limits.result_bytes:
            hint = "Leave what is needed, and compress it."
            raise LimitExceeded(f"the run left files of more than {self._program.limits.result_bytes} bytes", hint=hint)
        artefact = self.hold(
            content, type if _MEDIA_TYPE.fullmatch(type) else "application/octet-stream", base_name(name)
        )
        self._artefacts.append(artefact)
        return artefact

    def hold(self, content: str | bytes, type: str, name: str = "", *, is_text: bool = False) -> Artefact:
        """Keep for its principal what the host itself made of this run: the rest of a large value, an answer that is
        bytes."""
        return self._store.keep(content, type, self._program.principal, name, is_text=is_text)

    def left(self, named: Sequence[str] = ()) -> tuple[Artefact, ...]:
        """What the answer of this run lists: the files that it left, and those that its value names, not what only
        passed by."""
        own = {artefact.uri: artefact for artefact in self._artefacts}
        found = (self._store.about(uri, self._program.principal) for uri in named if uri not in own)
        return (*own.values(), *filter(None, found))

    def open(self, uri: str) -> File:
        """An artefact of this run's principal, by its URI.

        Raises: InvalidArguments if there is none (any more).
        """
        try:
            return self._store.open(uri, self._program.principal)
        except UnknownName as error:
            hint = "Pass the handle of a file or result that this program, or an earlier one of yours, was answered; each is kept for a while."
            raise InvalidArguments(error.message, hint=hint) from None

    # Its session

    def close_session(self) -> None:
        """End the session of this run, once its answer is there. Raises: InvalidArguments if it has none."""
        if self._session is None:
            raise InvalidArguments(
                "this run has no session", hint="Only a run with a session_id can close its session."
            )
        self._session.end_after_run()
