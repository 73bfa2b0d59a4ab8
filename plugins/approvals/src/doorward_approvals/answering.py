"""Answers a request, for whoever does: the person at the client, a command, a plugin. The first answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Literal

from doorward import InvalidArguments, UnknownName
from doorward.texts import visible

if TYPE_CHECKING:
    from doorward_approvals.request import ApprovalRequest, ApprovalScope
    from doorward_approvals.stored_approvals import StoredApprovals

_MAX_CHARACTERS = 300
"""Characters of a name, and of what somebody says: agents are told both."""


class Answering:
    """Answers one request, for a plugin that has somebody asked: called in any thread, as `answer` is. Returns: a
    future of the request as it was. Raises: InvalidArguments for what is no answer at all."""

    def __init__(self, store: StoredApprovals, id: str) -> None:
        self._store, self._id, self._loop = store, id, asyncio.get_running_loop()
        self._given: list[Future[ApprovalRequest]] = []
        self._turn = asyncio.Lock()

    def __call__(
        self, approve: bool, *, by: str, said: str = "", scope: ApprovalScope = "once"
    ) -> Future[ApprovalRequest]:
        _require_answer(approve, by, said)

        async def in_turn() -> ApprovalRequest:
            async with self._turn:  # the first answer counts, also of those that come before it is stored
                return await answer(self._store, self._id, approve, by=by, said=said, scope=scope)

        self._given.append(asyncio.run_coroutine_threadsafe(in_turn(), self._loop))
        return self._given[-1]

    async def stored(self) -> None:
        """Wait for what was answered so far: who is asked and answers at once keeps no run waiting."""
        if self._given:
            await asyncio.wait([asyncio.wrap_future(given) for given in self._given])


def _require_answer(approve: object, by: object, said: object) -> None:
    if not (isinstance(approve, bool) and isinstance(by, str) and isinstance(said, str)):  # "no" is no no
        raise InvalidArguments("an answer is True or False, and texts say by whom and why")


async def answer(
    store: StoredApprovals,
    id: str,
    approve: bool,
    *,
    by: str,
    said: str = "",
    scope: ApprovalScope = "once",
) -> ApprovalRequest:
    """Approve of a request, or deny it, as `by`.

    Returns: the request as it was. Raises: UnknownName if there is none (any more); InvalidArguments if it has an
    answer already, or offers no such scope; StateError.
    """
    _require_answer(approve, by, said)
    request = await store.found(id)
    if request is None:
        raise UnknownName(
            f"there is no request {visible(id[:80])!r} (any more)",
            hint="`doorward approvals list` shows all.",
        )
    if not await answer_together(store, [request], approve, by=by, said=said, scope=scope):
        request = await store.found(id) or request
        raise InvalidArguments(f"the request has been answered already: {answer_in_words(request)}")
    return request


async def answer_together(
    store: StoredApprovals,
    requests: Sequence[ApprovalRequest],
    approve: bool,
    *,
    by: str,
    said: str = "",
    scope: ApprovalScope = "once",
) -> list[ApprovalRequest]:
    """Answer those of some requests that are open, in one step: the run of the first would else go on, and perhaps end,
    while the others wait.

    Returns: which these were. Raises: InvalidArguments if one of them offers no such scope; StateError.
    """
    for request in requests:
        if approve and scope not in request.scopes:
            raise InvalidArguments(f"a yes to this request is for {' or '.join(request.scopes)}, not for {scope!r}")
    state: Literal["approved", "denied"] = "approved" if approve else "denied"
    by, said = visible(by)[:_MAX_CHARACTERS], visible(said)[:_MAX_CHARACTERS]
    answered = await store.answered(requests, state, scope if approve else "once", by, said)
    return [request for request in requests if request.id in answered]


def answer_in_words(request: ApprovalRequest) -> str:
    """What came of a request, in a few words."""
    if request.state == "open":
        return "open"
    word = "approved and used" if request.state == "used" else request.state
    scope = {"once": "", "run": ", for its run", "session": ", for its session"}[request.scope]
    return f"{word} by {request.by}{scope}"
