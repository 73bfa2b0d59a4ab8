"""The requests of a gateway, for whoever shows them to people and takes their answers: a page, a chat, a desk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from doorward import InvalidArguments, Service
from doorward.administration import run_in_thread

if TYPE_CHECKING:
    from doorward import Gateway

    from doorward_approvals.request import ApprovalRequest, ApprovalScope
    from doorward_approvals.stored_approvals import StoredApprovals

REQUESTS = Service["Requests"]("who shows and answers requests for approval", "doorward-approvals")


class Requests:
    """The requests of all processes that share a store. Who may see or answer one is left to the caller. Each method
    raises StateError if the store fails, and ConfigError if there is none."""

    def __init__(self, store: Callable[[], StoredApprovals], gateway: Gateway) -> None:
        self._store, self._gateway = store, gateway

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

    async def allow_always(self, id: str, rule: str, *, by: str) -> None:
        """Approve of a request, and write the rule that it proposes into the configuration, where it holds from the
        next start. `rule` is what a person has seen of it.

        Raises: UnknownName, InvalidArguments as `answer` does, or if another rule is proposed; ConfigError.
        """
        from doorward_cli import Project

        from doorward_approvals.rules import put_before

        request = await self.found(id)
        if request is not None and request.state == "open":
            if not rule or rule != self.proposed_rule(request):
                raise InvalidArguments("this is not the rule that is proposed", hint="Look at the request again.")
            made = {**request.always, "reason": f"approved by {by}, {datetime.now(UTC):%Y-%m-%d}"}
            loaded = self._gateway.loaded
            env_file = loaded.secrets.env_file
            project = Project(loaded.path, env_file if env_file and env_file.is_file() else None, json=False)
            await run_in_thread(put_before, project, made, request.rule)
        await self.answer(id, True, by=by)

    def proposed_rule(self, request: ApprovalRequest) -> str:
        """The rule that would let calls like this one through, as `doorward approvals approve ID --always` writes it;
        empty if there is none that is narrow enough."""
        from doorward_approvals.rules import rule_text

        return rule_text(request.always) if request.always else ""
