"""The calls of one run that wait for a person's yes at the same moment, and how long that run has waited in vain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import anyio

    from doorward_approvals.request import ApprovalRequest

GATHER_SECONDS = 0.1
"""How long is waited for further calls: those that a program makes at once come out of its sandbox one after the other.
They come while this process and the sandbox run, so the time passes in `GATHER_TURNS` of the event loop."""

GATHER_TURNS = 10

MOST_TOGETHER = 25
"""Calls in one question: more of them nobody reads."""


@dataclass(eq=False)
class ToAsk:
    """A call about which the client's person is to be asked. `alike`: as in its `Binding`; `over`: that is done."""

    request: ApprovalRequest
    alike: str
    over: bool = False


@dataclass
class Turns:
    """The calls of one run that wait: its client is asked one question at a time, until one gets no answer. `covered`
    are calls that need no question any more, as `Binding.alike`; `in_vain` are seconds for which nobody answered; of
    `coming` calls it is not stored yet that they wait."""

    asking: anyio.Lock
    opening: anyio.Lock
    calls: int = 0
    coming: int = 0
    silent: bool = False
    covered: set[str] = field(default_factory=set)
    to_ask: list[ToAsk] = field(default_factory=list)
    in_vain: float = 0.0
    _counted: tuple[float, float] = (0.0, 0.0)

    @contextmanager
    def one(self) -> Iterator[None]:
        """A block for one call that waits."""
        self.calls += 1
        try:
            yield
        finally:
            self.calls -= 1
            if not self.calls:
                self.silent = False

    @contextmanager
    def comes(self) -> Iterator[None]:
        """A block for one call in which is found out whether it waits, and stored that it does."""
        self.coming += 1
        try:
            yield
        finally:
            self.coming -= 1

    def nobody_answered(self, since: float) -> None:
        """A call has waited in vain since a `time.monotonic()`; calls that waited together count once."""
        begun, ended = self._counted
        now = time.monotonic()
        if since < ended:  # this one waited beside those that are counted, and perhaps before them
            self.in_vain += now - ended + max(0.0, begun - since)
            self._counted = min(begun, since), now
        else:
            self.in_vain += now - since
            self._counted = since, now

    async def gathered(self) -> list[ToAsk]:
        """The calls to ask about next, once no further one has come for a moment."""
        import anyio

        while True:
            before, coming = len(self.to_ask), self.coming
            for _ in range(GATHER_TURNS):
                await anyio.sleep(GATHER_SECONDS / GATHER_TURNS)
            if len(self.to_ask) >= MOST_TOGETHER or (len(self.to_ask) == before and not (coming or self.coming)):
                left = [each for each in self.to_ask if not each.over and each.alike not in self.covered]
                return left[:MOST_TOGETHER]
