"""How a run ends before its program does: with an error, or because it waits, which only a stored run can."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from doorward.model.errors import DoorwardError, LimitExceeded
from doorward.model.programs import Wait

if TYPE_CHECKING:
    import anyio


class Suspension:
    """What the calls of one run wait for: nothing, for nobody stores it. What records runs gives an heir of this class,
    which suspends them: `Recorder.suspension`.

    `brings` says what to install for that, where nothing stores any run. `failed` is what stopped the run, whatever its
    program does about it.
    """

    __slots__ = ("_brings", "failed", "parked", "scope", "waits")

    def __init__(self, brings: str = "") -> None:
        self._brings = brings
        self.scope: anyio.CancelScope | None = None
        """What ends its sandbox, as long as there is one."""
        self.waits: list[Wait] = []
        """What is waited for, for each call that waits."""
        self.parked: set[int] = set()
        """The places of calls that have gone out and were not made."""
        self.failed: DoorwardError | None = None

    @property
    def why_not(self) -> str:
        """Why the run cannot be suspended now; "" if it can."""
        return "nothing is stored of it" if self.scope is not None else "it is a single call, and no program"

    def possible(self, until: float = 0.0) -> bool:
        """See `Run.can_wait`."""
        return False

    @contextmanager
    def ends(self, scope: anyio.CancelScope) -> Iterator[None]:
        """A block around a sandbox: `scope` is cancelled when the run is suspended, or has failed."""
        self.scope = scope
        try:
            yield
        finally:
            self.scope = None

    def __enter__(self) -> None:
        """Begin a block around a call in flight; there may be many at once."""

    def __exit__(self, *raised: object) -> None: ...

    async def wait(self, wait: Wait) -> NoReturn:
        """Suspend the run as soon as all calls in flight wait. The call does not come back from here: it was not made,
        and is made when the run is resumed, or its outcome is unknown.

        Raises: LimitExceeded if the run cannot be suspended.
        """
        hint = "The calls before it stay made, see `calls`."
        if self._brings:
            hint += f" Nothing here stores runs: {self._brings}"
        raise LimitExceeded(f"{wait.what}; this run cannot wait for it: {self.why_not}", hint=hint)

    async def turn(self) -> None:
        """Begin a call, unless the run is to stop, or is being suspended."""

    def stop(self, what: str) -> bool:
        """Suspend the run once its calls in flight have ended. Returns: whether it can be."""
        return False

    def fail(self, error: DoorwardError) -> None:
        """End the run with this error."""
        self.failed = self.failed or error
        if self.scope is not None:
            self.scope.cancel()

    def consume(self, id: str) -> bool:
        """See `Run.consume`."""
        return True

    async def store(self) -> None:
        """Store the run, because it waits. Raises: StateError."""
