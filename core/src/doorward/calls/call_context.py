"""What a call needs to know of its run. `RunContext` in the room `runs` implements it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from doorward.model.layers import Run

if TYPE_CHECKING:
    from doorward.calls.client_requests import RunClient
    from doorward.calls.repeated_calls import RepeatedCalls
    from doorward.learning.run_record import RunRecord
    from doorward.model.calls import Call, File, TextRule
    from doorward.model.clock import Clock
    from doorward.model.errors import DoorwardError, SecretWithheld
    from doorward.model.outcomes import Artefact
    from doorward.model.usage import Usage
    from doorward.plans.changes import Changes
    from doorward.undo.inverse import KeepsInverses


class CallContext(Run, Protocol):
    """A run as its calls see it: its principal, its limits, and where calls report what came of them."""

    @property
    def view(self) -> Run:
        """The same, as layers get it."""
        ...

    @property
    def clock(self) -> Clock: ...

    @property
    def client(self) -> RunClient | None: ...

    @property
    def suspended(self) -> bool:
        """Whether it waits for something, and ends for that."""
        ...

    def fail(self, error: DoorwardError) -> None:
        """End it with this error, whatever its program does about it."""
        ...

    def set_parked(self, call: Call, *, parked: bool) -> None:
        """A call that went out was not made, and may wait with its run; or it goes out again."""
        ...

    @property
    def made(self) -> int:
        """The calls counted so far, this one included."""
        ...

    @property
    def failed(self) -> int:
        """The failed calls so far, up to a limit."""
        ...

    @property
    def repeated(self) -> RepeatedCalls:
        """The calls that failed."""
        ...

    @property
    def withheld(self) -> SecretWithheld | None:
        """Why this run gets no more answers."""
        ...

    @property
    def keeps_inverses(self) -> KeepsInverses | None:
        """Where it keeps by which calls its own are undone; `None` if it is not recorded."""
        ...

    @property
    def changes(self) -> Changes | None:
        """What withholds the writes of a plan, or has them made as they were planned; `None` if there is no plan."""
        ...

    @property
    def record(self) -> RunRecord | None:
        """Where calls that succeeded are recorded, to learn from them after the run."""
        ...

    @property
    def wants_text(self) -> TextRule:
        """See `Call.wants_text`."""
        ...

    @property
    def resumed(self) -> bool:
        """Whether it was stored, and goes on: its calls may have gone out before."""
        ...

    async def settle(self, call: Call, known_by: Callable[[], str]) -> None:
        """Make sure that a call may go out which may not be repeated, unless its server knows it if it comes again, by
        a header. Raises: OutcomeUnknown if it may have been made."""
        ...

    def sending(self, call: Call, *, repeats: bool) -> None:
        """A write goes out now, which may or may not be repeated. Raises: StateError if it must not go out."""
        ...

    def withhold(self, why: SecretWithheld) -> None:
        """Give this run no more answers."""
        ...

    def same_schema(self, function: str, schema_hash: str) -> str:
        """The schema hash of a function at the first call of this run; if this is the first, the one given."""
        ...

    def answered(self, function: str, value: Any, size: int) -> None:
        """Remember the answer of a function, to explain mistakes about it."""
        ...

    def count(self, function: str, *, ok: bool, ms: float) -> None:
        """Count a call that was made."""
        ...

    def usage_of(self, server: str) -> Usage:
        """What the run has used of a server."""
        ...

    def open(self, uri: str) -> File:
        """See `doorward.Door.open`."""
        ...

    def is_foreign(self, uri: str) -> bool:
        """Whether this URI of a file stood in the data of an upstream, and there is no such file."""
        ...

    def note_upstream_uris(self, uris: Iterable[str]) -> None:
        """These URIs of files stood in the data of an upstream."""
        ...

    def hold(self, content: str | bytes, type: str, name: str = "") -> Artefact:
        """Keep a file of an answer for the run's principal."""
        ...

    def noted(self, about: str) -> bool:
        """Whether there is a note about this."""
        ...
