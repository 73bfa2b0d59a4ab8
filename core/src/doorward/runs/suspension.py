"""How a run is suspended: its calls in flight end, what waits stays undecided, and its sandbox ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from doorward.config.install_hints import owner_brought
from doorward.data.offload import to_its_end
from doorward.model.errors import DoorwardError, LimitExceeded
from doorward.model.programs import Wait

if TYPE_CHECKING:
    import anyio

    from doorward.model.recording import KeepsRun

GATHER_SECONDS = 0.1
"""How long a run goes on once all its calls wait: calls that a program makes at once come out of its sandbox one after
the other, some of them after an answer, and people are to be asked about all of them together."""

GATHER_TURNS = 10
"""The turns of the event loop in which that time passes. On a busy machine it passes while neither this process nor the
sandbox runs: what has come meanwhile is heard before the next turn."""


class Suspension:
    """What the calls of one run wait for. Once all calls in flight wait, and no other has come for a moment, the run is
    suspended: the block around its sandbox is cancelled. Without a `keeper` it cannot be.
    `stored`: whether any run is stored here. `failed` is what stopped the run, whatever its program does about it."""

    __slots__ = (
        "_in_flight", "_keeper", "_over", "_scope", "_stopping", "_stored", "_timer", "_waiting", "failed",
        "parked", "waits",
    )  # fmt: skip

    def __init__(self, keeper: KeepsRun | None, *, stored: bool = True) -> None:
        self._keeper, self._stored = keeper, stored
        self._in_flight = self._waiting = 0
        self.waits: list[Wait] = []
        """What is waited for, for each call that waits."""
        self.parked: set[int] = set()
        """The places of calls that have gone out and were not made."""
        self._stopping = ""
        self._over = False
        self.failed: DoorwardError | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._scope: anyio.CancelScope | None = None

    def possible(self, until: float = 0.0) -> bool:
        """Whether `wait` may be called: there is a sandbox to end, and the run can be resumed then."""
        return not self._why_not() and self._keeper is not None and until < self._keeper.expires

    def _why_not(self) -> str:
        if self._scope is None:
            return "it is a single call, and no program"
        return "nothing is stored of it" if self._keeper is None else self._keeper.why_not

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
        if self.waits:
            self._look()

    def __exit__(self, *raised: object) -> None:
        self._in_flight -= 1
        if self.waits:
            self._look()

    async def wait(self, wait: Wait) -> NoReturn:
        """Suspend the run as soon as all calls in flight wait. The call does not come back from here: it was not made,
        and is made when the run is resumed, or its outcome is unknown.

        Raises: LimitExceeded if the run cannot be suspended.
        """
        import anyio

        if why := self._why_not():
            hint = "The calls before it stay made, see `calls`."
            if not self._stored:
                hint += f" Nothing here stores runs: {owner_brought('mode', 'wait')}"
            raise LimitExceeded(f"{wait.what}; this run cannot wait for it: {why}", hint=hint)
        self.waits.append(wait)
        self._waiting += 1
        self._look()
        await anyio.sleep_forever()
        raise AssertionError("cancelled with its sandbox")

    async def turn(self) -> None:
        """Begin a call, unless the run is to stop, or is being suspended: what begins while its sandbox ends must not
        go out, for a recorder says of calls under way then that they were not made."""
        if self._over:
            import anyio

            await anyio.sleep_forever()
        if self._stopping:
            await self.wait(Wait("stop", self._stopping))

    def stop(self, what: str) -> bool:
        """Suspend the run once its calls in flight have ended. Returns: whether it can be."""
        if not self.possible():
            return False
        if not self._stopping:
            self._stopping = what
            self.waits.append(Wait("stop", what))
            self._look()
        return True

    def fail(self, error: DoorwardError) -> None:
        """End the run with this error."""
        self.failed = self.failed or error
        if self._scope is not None:
            self._scope.cancel()

    def consume(self, id: str) -> bool:
        """See `Run.consume`."""
        return self._keeper is None or self._keeper.consume(id)

    async def store(self) -> None:
        """Store the run, because it waits. Raises: StateError."""
        if self._keeper is not None:
            await to_its_end(self._keeper.suspend(self.waits, self.parked))

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
            self._timer = None
        if ends is not None:
            self._pass(ends, GATHER_TURNS)

    def _pass(self, ends: anyio.CancelScope, left: int) -> None:
        """Let a scope end after so many turns."""
        if left:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(GATHER_SECONDS / GATHER_TURNS, self._pass, ends, left - 1)
        else:
            self._end(ends)

    def _end(self, scope: anyio.CancelScope) -> None:
        self._over = True
        scope.cancel()
