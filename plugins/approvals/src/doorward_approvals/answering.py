"""Answers a request, for whoever does: the person at the client, a command, a plugin. The first answer counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from doorward import InvalidArguments, UnknownName
from doorward.administration import visible

if TYPE_CHECKING:
    from doorward_approvals.request import ApprovalRequest, ApprovalScope
    from doorward_approvals.sqlite_approvals import SqliteApprovals

_MAX_CHARACTERS = 300
"""Characters of a name, and of what somebody says: agents are told both."""


def answer(
    store: SqliteApprovals,
    id: str,
    approve: bool,
    *,
    by: str,
    said: str = "",
    scope: ApprovalScope = "once",
    now: float | None = None,
) -> ApprovalRequest:
    """Approve of a request, or deny it, as `by`. Safe in any thread.

    Returns: the request as it was. Raises: UnknownName if there is none (any more); InvalidArguments if it has an
    answer already, or offers no such scope; StateError.
    """
    if not (isinstance(approve, bool) and isinstance(by, str) and isinstance(said, str)):  # "no" is no no
        raise InvalidArguments("an answer is True or False, and texts say by whom and why")
    now = time.time() if now is None else now
    request = store.found(id, now)
    if request is None:
        raise UnknownName(
            f"there is no request {visible(id[:80])!r} (any more)",
            hint="`doorward approvals list` shows all.",
        )
    if not answer_together(store, [request], approve, by=by, said=said, scope=scope, now=now):
        request = store.found(id, now) or request
        raise InvalidArguments(f"the request has been answered already: {answer_in_words(request)}")
    return request


def answer_together(
    store: SqliteApprovals,
    requests: Sequence[ApprovalRequest],
    approve: bool,
    *,
    by: str,
    said: str = "",
    scope: ApprovalScope = "once",
    now: float,
) -> list[ApprovalRequest]:
    """Answer those of some requests that are open, in one step: the run of the first would else go on, and perhaps end,
    while the others wait.

    Returns: which these were. Raises: InvalidArguments if one of them offers no such scope; StateError.
    """
    for request in requests:
        if approve and scope not in request.scopes:
            raise InvalidArguments(f"a yes to this request is for {' or '.join(request.scopes)}, not for {scope!r}")
    state: Literal["approved", "denied"] = "approved" if approve else "denied"
    ids = [request.id for request in requests]
    by, said = visible(by)[:_MAX_CHARACTERS], visible(said)[:_MAX_CHARACTERS]
    answered = store.answered(ids, state, scope if approve else "once", by, said, now)
    return [request for request in requests if request.id in answered]


def answer_in_words(request: ApprovalRequest) -> str:
    """What came of a request, in a few words."""
    if request.state == "open":
        return "open"
    word = "approved and used" if request.state == "used" else request.state
    scope = {"once": "", "run": ", for its run", "session": ", for its session"}[request.scope]
    return f"{word} by {request.by}{scope}"
