"""Where requests and their answers are kept, for all processes of a state folder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

from doorward.approvals.binding import Binding
from doorward.model.approvals import ApprovalRequest, ApprovalScope


class ApprovalStore(Protocol):
    """Requests of any number of processes. Each method is one step that others see as a whole. `now` is in seconds
    since the epoch: what has expired by then is not there any more. All raise StateError."""

    def version(self) -> object:
        """Something cheap that differs once anything has changed."""
        ...

    def opened(
        self, request: ApprovalRequest, binding: Binding, *, besides: Collection[str], most: int
    ) -> ApprovalRequest | None:
        """A request with this binding that is open already, `besides` those that other calls wait for; else this one,
        now stored; `None` if its principal has `most` that are open."""
        ...

    def settled(
        self, binding: Binding, now: float, *, id: str = "", besides: Collection[str] = ()
    ) -> ApprovalRequest | None:
        """The answer to a call, if there is one: to its request `id`, or to any `besides` those that other calls wait
        for. A yes to this call alone is used up by this."""
        ...

    def answered(
        self,
        ids: Collection[str],
        state: Literal["approved", "denied"],
        scope: ApprovalScope,
        by: str,
        said: str,
        now: float,
    ) -> Collection[str]:
        """Answer requests. Returns: the ids of those that were open; the first answer counts."""
        ...

    def withdrawn(self, id: str) -> None:
        """Remove a request that is open, because another answer covers it."""
        ...

    def found(self, id: str, now: float) -> ApprovalRequest | None:
        """The request of this id."""
        ...

    def all(self, now: float) -> Sequence[ApprovalRequest]:
        """All requests, the oldest first."""
        ...
