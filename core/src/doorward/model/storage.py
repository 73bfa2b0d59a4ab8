"""Storage: records, logs, blobs, leases and signals, and the protocol of an engine that stores them.

Whatever Doorward remembers is made of these few primitives, so that another engine is one class. All changes are made
by `commit`, all of one commit or none of them. A kind of data has a `table` of its own for its records, and names of
logs, blobs, leases and topics that begin with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from doorward.model.errors import StateError

if TYPE_CHECKING:
    from doorward.model.settings import Settings


class Conflict(StateError):
    """A commit expected another state of a record or log: somebody else was quicker. Nothing was changed; read again,
    and decide again."""


class StaleLease(StateError):
    """A lease was released, or somebody else has taken it since. Whatever it protects belongs to the later holder."""


@dataclass(frozen=True, slots=True)
class Record:
    """A stored record. No two states of one key have the same `version`, not even after it was deleted; later ones are
    higher. `expires` is in seconds since the epoch, by the engine's clock; `None`: never."""

    key: str
    value: bytes
    version: int
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Blob:
    """A part of a blob: `content`, of `size` bytes in all."""

    content: bytes
    size: int
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to be the only one who does something, until somebody takes it after its time is over. The `token` of a
    later holder of the same name is higher."""

    name: str
    token: int


@dataclass(frozen=True, slots=True)
class Put:
    """Store a record, for `ttl` seconds if given. `expected` is the version that it must have now, 0 if there must be
    none; `None`: whatever is there."""

    table: str
    key: str
    value: bytes
    expected: int | None = None
    ttl: float | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a record, if there is one. `expected`: as in `Put`."""

    table: str
    key: str
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """Append entries to a log, which must end at the position `at`: 0 if it is new."""

    log: str
    entries: Sequence[bytes]
    at: int


@dataclass(frozen=True, slots=True)
class Forget:
    """Delete a log, if there is one."""

    log: str


@dataclass(frozen=True, slots=True)
class PutBlob:
    """Store a blob, or replace it; for `ttl` seconds if given."""

    name: str
    content: bytes
    ttl: float | None = None


@dataclass(frozen=True, slots=True)
class DeleteBlob:
    """Delete a blob, if there is one."""

    name: str


@dataclass(frozen=True, slots=True)
class Notify:
    """Wake those who wait for a topic. It need not be quick, and may be one for several."""

    topic: str


Change = Put | Delete | Append | Forget | PutBlob | DeleteBlob | Notify
"""A part of a commit."""


Named = Literal["tables", "logs", "blobs"]
"""What has names in a store."""


class Store(Protocol):
    """Stores what Doorward remembers, for any number of processes that use the same place.

    Names and keys are any text, values any bytes. What has expired is not there any more. The engine's clock decides
    that for all processes. Nothing blocks the event loop.

    Raises: StateError, from every method, if the store is busy, full, broken or out of reach.
    """

    Settings: ClassVar[type[Settings]]

    lasts: bool
    """Whether what is stored outlasts the process, and is shared between processes. A store that processes of any
    number of machines share says so by `distributed = True`; one without is taken for one machine's."""

    def __init__(self, context: Any) -> None:
        """Do nothing that can fail or wait. `context` is a `PluginContext`, which has a store itself."""
        ...

    async def commit(self, *changes: Change, fences: Sequence[Lease] = (), sync: bool = False) -> int:
        """Make all changes or none, in one step that others see as a whole; it has survived a kill of the process when
        this returns, and with `sync` a power cut, too. One commit names each record, log and blob at most once. A
        commit that is cancelled may have been made or not. One of no changes is made every few minutes: it is the time
        to remove what has expired.

        Returns: the version of the records that it stored.
        Raises: Conflict; StaleLease if any of `fences` is stale; ValueError for something that is named twice.
        """
        ...

    async def get(self, table: str, key: str) -> Record | None:
        """A record, if there is one."""
        ...

    async def scan(
        self, table: str, prefix: str = "", *, after: str | None = None, limit: int = 1000
    ) -> Sequence[Record]:
        """The first records of a table whose keys begin with `prefix` and come behind `after`, ordered by the code
        points of their keys: for the next ones, give the last key as `after`."""
        ...

    async def end(self, log: str) -> int:
        """The number of entries in a log, which is where the next one goes; 0 if there is no such log."""
        ...

    async def read(self, log: str, start: int = 0, *, limit: int = 1000) -> Sequence[bytes]:
        """The entries of a log from a position on."""
        ...

    async def blob(self, name: str, start: int = 0, size: int | None = None) -> Blob | None:
        """A blob, or `size` bytes of it from `start` on, if there is one."""
        ...

    async def names(self, what: Named, *, after: str | None = None, limit: int = 1000) -> Sequence[str]:
        """The first names of tables, logs or blobs that hold something and come behind `after`, ordered by their code
        points."""
        ...

    async def acquire(self, name: str, seconds: float) -> Lease | None:
        """Take a lease for so many seconds; `None` if somebody else has it."""
        ...

    async def renew(self, lease: Lease, seconds: float) -> None:
        """Have a lease for so many seconds from now. Raises: StaleLease."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give a lease back, if it is not stale."""
        ...

    async def signal(self, topic: str, seen: int = -1, timeout: float = 0.0) -> int:
        """A number that rises with each `Notify` of a topic, 0 before the first one. If it is still `seen`, wait for a
        higher one, for up to `timeout` seconds. Between processes this may take some tenths of a second."""
        ...

    async def close(self) -> None:
        """Give back what was opened. Leases stay as they are. Called once."""
        ...


def require_once(changes: Sequence[Change]) -> None:
    """For engines: check that a commit names each record, log and blob once. Raises: ValueError."""
    named = [
        (change.table, change.key) if isinstance(change, (Put, Delete))
        else ("log", change.log, "") if isinstance(change, (Append, Forget))
        else ("blob", change.name, "")
        for change in changes if not isinstance(change, Notify)
    ]  # fmt: skip
    if len({*named}) < len(named):
        raise ValueError("a commit names each record, log and blob at most once")
