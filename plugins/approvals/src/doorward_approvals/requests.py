"""The requests of a gateway, for whoever shows them to people and takes their answers: a page, a chat, a desk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doorward import Service

if TYPE_CHECKING:
    from doorward_approvals.request import ApprovalRequest, ApprovalScope
    from doorward_approvals.stored_approvals import StoredApprovals

REQUESTS = Service["Requests"]("who shows and answers requests for approval", "doorward-approvals")


class Requests:
    """The requests of all processes that share a store. Who may see or answer one is left to the caller. Each method
    raises StateError if the store fails, and ConfigError if there is none."""

    def __init__(self, store: Callable[[], StoredApprovals]) -> None:
        self._store = store

    async def all(self) -> Sequence[ApprovalRequest]:
        """Those that are not forgotten yet, answered ones too."""
        return await self._store().all()

    async def found(self, id: str) -> ApprovalRequest | None:
        """The request of an id."""
        return await self._store().found(id)

    async def answer(
        self, id: str, approve: bool, *, by: str, said: str = "", scope: ApprovalScope = "once"
    ) -> ApprovalRequest:
        """Approve of a request, or deny it, as `by`.

        Returns: the request as it was. Raises: UnknownName if there is none (any more); InvalidArguments if it has an
        answer already, or offers no such scope.
        """
        from doorward_approvals.answering import answer

        return await answer(self._store(), id, approve, by=by, said=said, scope=scope)

    def proposed_rule(self, request: ApprovalRequest) -> str:
        """The rule that would let calls like this one through, as `doorward approvals approve ID --always` writes it;
        empty if there is none that is narrow enough."""
        from doorward_approvals.rules import rule_text

        return rule_text(request.always) if request.always else ""
