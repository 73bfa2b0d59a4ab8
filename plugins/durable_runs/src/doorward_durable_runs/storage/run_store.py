"""Where journals are stored: what a store of them can do, and a run as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from doorward_durable_runs.storage.given import Given

if TYPE_CHECKING:
    from doorward_durable_runs.storage.frames import Frame

State = Literal["running", "waiting", "interrupted", "died", "ended"]
"""What became of a run: a process runs it, it waits for something, its client left or Doorward was stopped, its process
died, or it is over."""

RESUMABLE = {
    "waiting": "it waits",
    "interrupted": "it was interrupted: its client left, or Doorward was stopped",
    "died": "its process died, or had no room to store the end",
}
"""States of runs that can go on, in words."""


Place = tuple[float, str]
"""Where a run stands among all, the newest first: when it was created, to the millisecond, and its id."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run as it is stored; of what it was given, a list has no more than it shows. `lost` says why it cannot be
    resumed, `until` when that is worth it, in seconds since the epoch; `frames` are all, where they were asked for."""

    given: Given
    state: State
    for_: str = ""
    what: tuple[str, ...] = ()
    ok: bool | None = None
    lost: str = ""
    until: int = 0
    frames: Sequence[Frame] = ()
    bytes: int = 0


class RunFile(Protocol):
    """The journal of one run, held by one process."""

    @property
    def count(self) -> int:
        """How many frames it has."""

    async def append(self, frames: Sequence[Frame]) -> int:
        """Store frames, all or none, also if the caller is cancelled meanwhile. Returns: how many there are now.

        Raises: StateError.
        """

    async def close(self) -> None:
        """Let go of it: others may claim the run."""


class RunStore(Protocol):
    """The journals of all runs."""

    async def create(self, given: Given, frames: Sequence[Frame] = ()) -> RunFile:
        """A journal for a new run, with its first frames: all of it is stored, or nothing. Raises: StateError,
        ConfigError."""

    async def claim(self, run: str, principal: str | None) -> tuple[RunFile, StoredRun]:
        """Hold the journal of a stored run; with a principal only theirs. Raises: UnknownName; StateError if it
        runs."""

    async def show(self, run: str, principal: str | None = None) -> StoredRun:
        """A stored run with its frames. Raises: UnknownName, StateError."""

    async def look(self) -> None:
        """Find out whether a run is stored. Raises: StateError."""

    def any(self) -> bool:
        """Whether a run is stored, as far as is known without asking."""

    async def all(self, principal: str | None = None) -> list[StoredRun]:
        """The stored runs, the newest first, without their frames."""

    async def page(
        self, principal: str | None = None, *, before: Place | None = None, limit: int = 100
    ) -> tuple[list[StoredRun], Place | None]:
        """Some of them, those before a place: no more are read. Returns: with the place before which the next ones
        are, if there may be any. Runs that cannot be read, or were removed meanwhile, are left out."""

    async def equal(self, given: Given) -> list[StoredRun]:
        """Other runs of the same program, with the same parameters, of the same principal, with their frames: those
        that no process has, and that have not ended. What cannot be read is left out."""

    async def unread(self) -> int:
        """How many stored runs cannot be read: they were encrypted with another key, or are damaged."""

    async def remove(self, run: str, principal: str | None = None) -> None:
        """Forget a run. Raises: UnknownName, StateError if it runs."""

    async def sweep(self, principal: str | None = None) -> None:
        """Forget runs whose time is over, and the oldest of principals who have too many: of one, or of all."""

    async def close(self) -> None:
        """Give back what was opened."""
