"""What a call needs of the run that makes it, which is a `RunContext` of the room `runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from doorward.calls.client_requests import RunClient
    from doorward.model.clock import Clock
    from doorward.model.errors import SecretWithheld
    from doorward.model.types import Artefact, File, Program


class CallContext(Protocol):
    """A run, as its calls know it: whose it is, what it may still do, and whom they tell what came of them."""

    @property
    def program(self) -> Program: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def client(self) -> RunClient | None: ...

    @property
    def made(self) -> int:
        """The calls that count so far, this one included."""
        ...

    @property
    def failed(self) -> int:
        """The calls that failed so far, of which the first are counted."""
        ...

    @property
    def withheld(self) -> SecretWithheld | None:
        """Why this run is answered nothing any more."""
        ...

    def withhold(self, why: SecretWithheld) -> None:
        """Answer this run nothing any more."""
        ...

    def same_schema(self, function: str, schema_hash: str) -> str:
        """What a function promised when this run called it first; that is now, if it has not yet."""
        ...

    def answered(self, function: str, value: Any, size: int) -> None:
        """Keep in mind what a function answered, to explain mistakes about it."""
        ...

    def count(self, function: str, *, ok: bool, ms: float) -> None:
        """Add a call that was made to the run's account."""
        ...

    def open(self, uri: str) -> File:
        """See `doorward.Door.open`."""
        ...

    def hold(self, content: str | bytes, type: str, name: str = "") -> Artefact:
        """Keep a file of an answer for the run's principal."""
        ...

    def note(self, text: str, *, about: str = "") -> None:
        """Tell the reader of the run's answer something beside its value; `about` what, so that it is told once."""
        ...

    def noted(self, about: str) -> bool:
        """Whether something was told about this."""
        ...
