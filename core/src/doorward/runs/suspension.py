"""How a run is suspended: its calls in flight end, what waits stays undecided, and its sandbox ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import anyio

    from doorward.model.outcomes import Awaited


class Suspension:
    """What the calls of one run wait for. Once all calls in flight wait, the run is suspended: the block around its
    sandbox is cancelled."""

    __slots__ = ("_awaited", "_in_flight", "_scope")

    def __init__(self) -> None:
        self._in_flight = 0
        self._awaited: list[tuple[Awaited, str]] = []
        self._scope: anyio.CancelScope | None = None

    @property
    def awaited(self) -> list[tuple[Awaited, str]]:
        """What is waited for, and a line about it, for each call that waits."""
        return self._awaited

    @property
    def possible(self) -> bool:
        """Whether there is a sandbox to end: a call without a program has none."""
        return self._scope is not None

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
        """Suspend the run as soon as no other call is in flight. The call does not come back from here."""
        import anyio

        self._awaited.append((for_, what))
        self._look()
        await anyio.sleep_forever()
        raise AssertionError("cancelled with its sandbox")

    def _moved(self, calls: int) -> None:
        self._in_flight += calls
        if self._awaited:
            self._look()

    def _look(self) -> None:
        if self._scope is not None and self._in_flight == len(self._awaited):
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
