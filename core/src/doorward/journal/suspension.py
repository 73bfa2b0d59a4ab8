"""How a run is suspended: its calls in flight end, what waits stays undecided, and its sandbox ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NoReturn

from doorward.model.errors import DoorwardError, LimitExceeded

if TYPE_CHECKING:
    import anyio

    from doorward.model.outcomes import Awaited


class Suspension:
    """What the calls of one run wait for. Once all calls in flight wait, the run is suspended: the block around its
    sandbox is cancelled. `why_not` says why the run cannot be resumed, if it cannot."""

    __slots__ = ("_awaited", "_failed", "_in_flight", "_over", "_scope", "_stopping", "_waiting", "_why_not")

    def __init__(self, why_not: Callable[[], str]) -> None:
        self._why_not = why_not
        self._in_flight = self._waiting = 0
        self._awaited: list[tuple[Awaited, str]] = []
        self._stopping = ""
        self._over = False
        self._failed: DoorwardError | None = None
        self._scope: anyio.CancelScope | None = None

    @property
    def awaited(self) -> list[tuple[Awaited, str]]:
        """What is waited for, and a line about it, for each call that waits."""
        return self._awaited

    @property
    def failed(self) -> DoorwardError | None:
        """What stopped the run, whatever its program does about it."""
        return self._failed

    @property
    def possible(self) -> bool:
        """Whether `wait` may be called: there is a sandbox to end, and the run can be resumed."""
        return self._scope is not None and not self._why_not()

    @contextmanager
    def ends(self, scope: anyio.CancelScope) -> Iterator[None]:
        """A block around a sandbox: `scope` is cancelled when the run is suspended."""
        self._scope = scope
        try:
            yield
        finally:
            self._scope = None

    def call(self) -> AbstractContextManager[None]:
        """A block around a call in flight."""
        return _InFlight(self)

    async def wait(self, for_: Awaited, what: str) -> NoReturn:
        """Suspend the run as soon as all calls in flight wait. The call does not come back from here: it was not made,
        and is made when the run is resumed, or its outcome is `unknown`.

        Raises: LimitExceeded if the run cannot be suspended.
        """
        import anyio

        if not self.possible:
            why = "it is a single call, and no program" if self._scope is None else self._why_not()
            raise LimitExceeded(f"{what}; this run cannot wait for it: {why}", hint="Try again when it is there.")
        self._awaited.append((for_, what))
        self._waiting += 1
        self._look()
        await anyio.sleep_forever()
        raise AssertionError("cancelled with its sandbox")

    async def turn(self) -> None:
        """Begin a call, unless the run is to stop, or is being suspended: what begins while its sandbox ends must not
        go out, for the journal says of calls under way then that they were not made."""
        if self._over:
            import anyio

            await anyio.sleep_forever()
        if self._stopping:
            await self.wait("stop", self._stopping)

    def stop(self, what: str) -> bool:
        """Suspend the run once its calls in flight have ended. Returns: whether it can be."""
        if not self.possible:
            return False
        if not self._stopping:
            self._stopping = what
            self._awaited.append(("stop", what))
            self._look()
        return True

    def fail(self, error: DoorwardError) -> None:
        """End the run with this error."""
        self._failed = self._failed or error
        if self._scope is not None:
            self._scope.cancel()

    def _moved(self, calls: int) -> None:
        self._in_flight += calls
        if self._awaited:
            self._look()

    def _look(self) -> None:
        if self._scope is not None and self._in_flight == self._waiting:
            self._over = True
            self._scope.cancel()


class _InFlight:
    """See `Suspension.call`. A class, and no generator: one is around every call."""

    __slots__ = ("_suspension",)

    def __init__(self, suspension: Suspension) -> None:
        self._suspension = suspension

    def __enter__(self) -> None:
        self._suspension._moved(1)

    def __exit__(self, *raised: object) -> None:
        self._suspension._moved(-1)
