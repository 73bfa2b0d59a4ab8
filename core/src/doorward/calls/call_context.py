"""What a call needs to know of its run. `RunContext` in `runs` implements it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from doorward.model.layers import Run

if TYPE_CHECKING:
    from doorward.calls.client_requests import RunClient
    from doorward.calls.repeated_calls import RepeatedCalls
    from doorward.model.calls import Call, File, TextRule, Usage
    from doorward.model.clock import Clock
    from doorward.model.errors import DoorwardError, SecretWithheld
    from doorward.model.programs import Artefact
    from doorward.model.recording import Interceptor, Recorder


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
    def recorder(self) -> Recorder | None:
        """What records it; `None` if nothing does."""
        ...

    @property
    def interceptor(self) -> Interceptor | None:
        """What stands between its calls and the world; `None` for most runs."""
        ...

    @property
    def wants_text(self) -> TextRule:
        """See `Call.wants_text`."""
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

    async def open(self, uri: str) -> File:
        """See `doorward.Door.open`."""
        ...

    async def is_foreign(self, uri: str) -> bool:
        """Whether this URI of a file stood in the data of an upstream, and there is no such file."""
        ...

    def note_upstream_uris(self, uris: Iterable[str]) -> None:
        """These URIs of files stood in the data of an upstream."""
        ...

    def hold(self, content: str | bytes, type: str, name: str = "") -> Artefact:
        """Keep a file of an answer for the run's principal. It is stored before the run ends."""
        ...

    async def store_files(self, above: int = 0) -> None:
        """Store what it keeps, if that is more than so many bytes. Raises: StateError."""
        ...

    def noted(self, about: str) -> bool:
        """Whether there is a note about this."""
        ...
