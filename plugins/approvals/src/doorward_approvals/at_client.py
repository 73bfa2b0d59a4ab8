"""Asks the person at the client of a run: once about all calls that wait at the same moment."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from doorward import DoorwardError, log

from doorward_approvals import asking
from doorward_approvals.answering import answer_together
from doorward_approvals.turns import ToAsk

if TYPE_CHECKING:
    from doorward_approvals.asking import Ask
    from doorward_approvals.request import ApprovalRequest
    from doorward_approvals.stored_approvals import StoredApprovals
    from doorward_approvals.turns import Turns

_MAX_LOGGED = 200


class AtClient:
    """The person at one client. A run waits `patience` seconds in all for answers that do not come."""

    def __init__(self, client: Ask, store: StoredApprovals, patience: float) -> None:
        self._client, self._store, self._patience = client, store, patience

    async def ask(self, turns: Turns, request: ApprovalRequest, alike: str) -> None:
        """Ask about a call, together with others of its run, and store the answer, which is one to each of them."""
        mine = ToAsk(request, alike)
        turns.to_ask.append(mine)
        try:
            async with turns.asking:
                while not (mine.over or turns.silent or alike in turns.covered):
                    await self._ask(turns)
        finally:
            turns.to_ask.remove(mine)

    async def _ask(self, turns: Turns) -> None:
        together = await self._open(await turns.gathered())
        left = self._patience - turns.in_vain
        if not together:
            return
        verdict = await self._said([each.request for each in together], left) if left > 0 else None
        turns.silent = verdict is None
        if verdict is not None and verdict[1] != "once":
            turns.covered.update(each.alike for each in together)
        for each in together:
            each.over = True

    async def _open(self, together: list[ToAsk]) -> list[ToAsk]:
        """Those that nobody has answered yet: the call that asked first may be gone because somebody did."""
        try:
            stored = await self._store.all()
        except DoorwardError:  # they are asked about all the same: an answer to what is not open counts for nothing
            return together
        open_ = {each.id for each in stored if each.state == "open"}
        for each in together:
            each.over = each.request.id not in open_
        return [each for each in together if not each.over]

    async def _said(self, requests: Sequence[ApprovalRequest], patience: float) -> asking.Verdict | None:
        """What the person said of these calls; `None` if they said neither yes nor no in time."""
        import anyio

        verdict = None
        with anyio.move_on_after(patience):
            try:
                said = await self._client("elicitation/create", asking.question(requests))
                verdict = asking.verdict(requests, said)
            except Exception as error:  # whatever a client does, it is no yes, and others may still answer
                log.info("approval_not_asked", error=str(error)[:_MAX_LOGGED])
            if verdict is not None:
                with anyio.CancelScope(shield=True):
                    verdict = await self._stored(requests, verdict)
        return verdict

    async def _stored(self, requests: Sequence[ApprovalRequest], verdict: asking.Verdict) -> asking.Verdict:
        """Store it as the answer to each. Returns: what it reaches, which is nothing if others answered all of them."""
        approve, scope = verdict
        by = f"{requests[0].principal} (at the client)"
        with contextlib.suppress(DoorwardError):  # what could not be stored is no answer
            if await answer_together(self._store, requests, approve, by=by, scope=scope):
                return verdict
        return False, "once"
