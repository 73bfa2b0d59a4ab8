"""How a run is suspended: its calls in flight end, what waits stays undecided, and its sandbox ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from doorward.model.errors import DoorwardError, LimitExceeded

if TYPE_CHECKING:
    import anyio

    from doorward.model.outcomes import Awaited


GATHER_SECONDS = 0.1
"""How long a run goes on once all its calls wait: calls that a program makes at once come out of its sandbox one after
the other, some of them after an answer, and people are to be asked about all of them together."""


class Suspension:
    """What the calls of one run wait for. Once all calls in flight wait, and no other has come for a moment, the run is
    suspended: the block around its sandbox is cancelled. `why_not` says why the run cannot be resumed, if it cannot; it
    can be until it `expires`, in seconds since the epoch."""

    __slots__ = (
        "_awaited", "_expires", "_failed", "_in_flight", "_over", "_scope", "_stopping", "_timer", "_until", "_waiting",
        "_why_not",
    )  # fmt: skip

    def __init__(self, why_not: Callable[[], str], expires: float = 0.0) -> None:
        self._why_not, self._expires = why_not, expires
        self._until = 0
        self._in_flight = self._waiting = 0
        self._awaited: list[tuple[Awaited, str]] = []
        self._stopping = ""
        self._over = False
        self._failed: DoorwardError | None = None
        self._timer: asyncio.TimerHandle | None = None
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

    @property
    def until(self) -> int:
        """When it is worth resuming the run, in seconds since the epoch, if that is known of all that it waits for."""
        return self._until if all(for_ == "limit" for for_, _ in self._awaited) else 0

    def possible_until(self, then: float) -> bool:
        """Whether the run can be suspended, and resumed then."""
        return self.possible and then < self._expires

    @contextmanager
    def ends(self, scope: anyio.CancelScope) -> Iterator[None]:
        """A block around a sandbox: `scope` is cancelled when the run is suspended."""
        self._scope = scope
        try:
            yield
        finally:
            self._scope = None
            self._set_timer(None)

    def __enter__(self) -> None:
        """Begin a block around a call in flight; there may be many at once."""
        self._in_flight += 1
        if self._awaited:
            self._look()

    def __exit__(self, *raised: object) -> None:
        self._in_flight -= 1
        if self._awaited:
            self._look()

    async def wait(self, for_: Awaited, what: str, until: int = 0) -> NoReturn:
        """Suspend the run as soon as all calls in flight wait. The call does not come back from here: it was not made,
        and is made when the run is resumed, or its outcome is `unknown`. `until`: it is not worth resuming before.

        Raises: LimitExceeded if the run cannot be suspended.
        """
        import anyio

        if not self.possible:
            why = "it is a single call, and no program" if self._scope is None else self._why_not()
            raise LimitExceeded(
                f"{what}; this run cannot wait for it: {why}", hint="The calls before it stay made, see `calls`."
            )
        self._awaited.append((for_, what))
        self._until = max(self._until, until)
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

    def _look(self) -> None:
        if self._scope is None or self._in_flight > self._waiting:
            self._set_timer(None)
        elif self._stopping:  # no further call is made
            self._end(self._scope)
        else:
            self._set_timer(self._scope)

    def _set_timer(self, ends: anyio.CancelScope | None) -> None:
        """Let a scope end in a moment, or none."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if ends is None else asyncio.get_running_loop().call_later(GATHER_SECONDS, self._end, ends)

    def _end(self, scope: anyio.CancelScope) -> None:
        self._over = True
        scope.cancel()
