"""What the journal of a run needs of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from doorward.journal.entries import Entry
    from doorward.model.errors import DoorwardError
    from doorward.model.waits import Wait
    from doorward.plans.changes import Changes


class Suspends(Protocol):
    """How a run waits, or ends."""

    def can_wait(self, until: float = 0.0) -> bool: ...

    async def wait(self, wait: Wait) -> NoReturn: ...

    def fail(self, error: DoorwardError) -> None: ...


class JournaledRun(Suspends, Protocol):
    """A run, as its journal knows it."""

    @property
    def changes(self) -> Changes | None: ...

    def replayed(self, entry: Entry) -> None:
        """A recorded call was made again, and is answered from the journal."""

    def scrubbed(self, function: str, value: Any) -> Any:
        """What a person says that a function has answered, without credentials."""

    def used(self, function: str) -> Mapping[str, float]:
        """What the run has used of the server of a function."""
