"""The door of one run: what its sandbox may import, call and print, and what it has used of its limits."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doorward.calls.arguments import MOST_PARTS
from doorward.calls.artefacts import MOST_FILES, base_name
from doorward.data.json_writing import exceeds
from doorward.data.values import beginning, size
from doorward.describe.answered import Answered
from doorward.model.clock import Clock
from doorward.model.errors import DoorwardError, InvalidArguments, LimitExceeded, SecretWithheld, UnknownName
from doorward.model.types import Artefact, CallCount, File, Program, Reply
from doorward.program_api.helper_cards import written

if TYPE_CHECKING:
    from doorward.calls.artefacts import Artefacts
    from doorward.calls.broker import Broker
    from doorward.calls.withholding import Withholding
    from doorward.compat.aliases import Aliases
    from doorward.model.drivers import Client
    from doorward.program_api.discovery import Discovery
    from doorward.runs.sessions import Session

IN_FLIGHT = 64
"""Calls of one run at once; more of them wait."""

MOST_NOTES = 20
"""Of one run: a program may get a thousand lists of which each has more."""

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}(; ?charset=[\w-]{1,40})?", re.ASCII)


class RunDoor:
    """A `Door` for one run. Lives on the host; what it keeps survives the sandbox."""

    def __init__(
        self,
        program: Program,
        broker: Broker,
        discovery: Discovery,
        artefacts: Artefacts,
        session: Session | None = None,
        client: Client | None = None,
    ) -> None:
        import anyio

        from doorward.calls.client_requests import RunClient

        self.program = program
        self.session = session
        self.clock = Clock()
        self.client = RunClient(client, self.clock, program.limits.asking) if client else None
        self.made = 0
        self.uses: dict[str, str] = {}
        self.failures: dict[str, DoorwardError] = {}
        self.artefacts: list[Artefact] = []
        self.notes: list[str] = []
        self.unlike: set[str] = set()
        self.answered = Answered()
        self.withheld: SecretWithheld | None = None
        self._broker = broker
        self._discovery = discovery
        self._store = artefacts
        self._slots = anyio.Semaphore(IN_FLIGHT, fast_acquire=True)
        self._printed: list[str] = []
        self._files = 0
        self._file_bytes = 0
        self._room = program.limits.output_bytes
        self._counts: dict[tuple[str, bool], list[float]] = {}

    def absent(self, server: str) -> tuple[str, list[str]]:
        """See `Discovery.absent`."""
        return self._discovery.absent(server, self.program.principal)

    def near(self, server: str, name: str) -> str:
        """What to say of functions like one that a server has not."""
        return self._discovery.near(f"{server}.{name}", self.program.principal)

    def members(self, server: str) -> Sequence[str] | None:
        return self._discovery.members(server, self.program.principal)

    def stub(self, server: str, names: Sequence[str]) -> str:
        return self._discovery.stub(server, names, self.program.principal)

    def aliases(self, code: str, *, everything: bool = False) -> Aliases:
        return self._discovery.aliases(code, self.program.principal, everything=everything)

    async def call(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return (await self.reply(function, args, kwargs)).value

    async def reply(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, link: str = "", headers: bool = False) -> Reply:
        """Make one call, as `call` does; with its value comes what its source says of a next page, whose `link` the call for that one gets.
        `headers`: those of the answer, too."""
        self.made += 1
        try:
            if self.made > 10 * self.program.limits.calls:
                raise LimitExceeded("the run makes nothing but calls that are refused")
            if not isinstance(function, str) or exceeds([args, kwargs], MOST_PARTS):
                raise LimitExceeded(f"the arguments of a call have more than {MOST_PARTS:,} parts", hint="Send less at once.")
            server, _, name = function.partition(".")
            if server == "doorward":
                return Reply(await self._help(name, args, kwargs))
            async with self._slots:
                return await self._broker.call(self, function, args, kwargs, link=link, headers=headers)
        except DoorwardError as error:
            if len(self.failures) < 100:
                self.failures[error.message] = error
            raise

    def following(self, function: str, arguments: Mapping[str, Any], value: Any) -> tuple[dict[str, Any] | None, str]:
        """How the page after an answer is got, where its source says nothing of it. See `following`."""
        return self._broker.following(function, self.program.principal, arguments, value)

    async def _help(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        helper = self._discovery.helper(name)
        try:
            inspect.signature(helper).bind(self, *args, **kwargs)
        except TypeError as error:
            raise InvalidArguments(f"doorward.{name}: {error}", hint=f"It is written doorward.{name}{written(helper)}.") from None
        try:
            return await helper(self, *args, **kwargs)
        except (TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise InvalidArguments(f"doorward.{name}: {error}") from None

    def note(self, text: str) -> None:
        """Tell the reader of the run's answer something beside its value, once, as long as there are few such notes."""
        if text not in self.notes and len(self.notes) < MOST_NOTES:
            self.notes.append(text if len(self.notes) + 1 < MOST_NOTES else "there is more to note, which is left out")

    def print(self, text: str) -> bool:
        if self._room <= 0:
            return False
        self._printed.append(beginning(text, self._room))
        self._room -= size(text)
        if self._room <= 0:
            self._printed.append(f"\n… more than {self.program.limits.output_bytes} bytes of output; the rest was dropped")
        return self._room > 0

    def print_anew(self) -> None:
        """Forget what was printed: another executor begins with the program."""
        self._printed.clear()
        self._room = self.program.limits.output_bytes

    @property
    def printed(self) -> str:
        return "".join(self._printed)

    def keep(self, content: bytes, type: str, name: str = "") -> Artefact:
        self._files += 1
        self._file_bytes += len(content)
        if self._files > MOST_FILES:
            raise LimitExceeded(f"the run left more than {MOST_FILES} files", hint="Put them into one, an archive for example.")
        if self._file_bytes > self.program.limits.result_bytes:
            hint = "Leave what is needed, and compress it."
            raise LimitExceeded(f"the run left files of more than {self.program.limits.result_bytes} bytes", hint=hint)
        artefact = self.hold(content, type if _MEDIA_TYPE.fullmatch(type) else "application/octet-stream", base_name(name))
        self.artefacts.append(artefact)
        return artefact

    def hold(self, content: str | bytes, type: str, name: str = "", *, is_text: bool = False) -> Artefact:
        """Keep for its principal what the host itself made of this run: the rest of a large value, an answer that is bytes."""
        return self._store.keep(content, type, self.program.principal, name, is_text=is_text)

    def left(self, named: Sequence[str] = ()) -> tuple[Artefact, ...]:
        """What the answer of this run lists: the files that it left, and those that its value names, not what only passed by."""
        own = {artefact.uri: artefact for artefact in self.artefacts}
        found = (self._store.about(uri, self.program.principal) for uri in named if uri not in own)
        return (*own.values(), *filter(None, found))

    def open(self, uri: str) -> File:
        """An artefact of this run's principal, by its URI.

        Raises: InvalidArguments if there is none (any more).
        """
        try:
            return self._store.open(uri, self.program.principal)
        except UnknownName as error:
            hint = (
                "Pass the handle of a file or result that this program, or an earlier one of yours, was answered; each is kept for a while."
            )
            raise InvalidArguments(error.message, hint=hint) from None

    @property
    def withholding(self) -> Withholding:
        return self._broker.withholding

    @property
    def reached(self) -> frozenset[str]:
        """The servers that programs of this principal have called: what these were sent may have reached this run."""
        return self._broker.reached(self.program.principal)

    def count(self, function: str, *, ok: bool, ms: float) -> None:
        """Add a call that was made to the run's account."""
        at = self._counts.setdefault((function, ok), [0, 0.0])
        at[0] += 1
        at[1] += ms

    def calls(self) -> tuple[CallCount, ...]:
        """The calls made: by function and result, how many, and the milliseconds they took together."""
        return tuple({"function": f, "ok": ok, "count": int(n), "ms": round(ms, 1)} for (f, ok), (n, ms) in self._counts.items())
