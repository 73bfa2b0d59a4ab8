"""Answers a request, for whoever does: the person at the client, a command, a plugin. The first answer counts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from doorward.data.clean_text import visible
from doorward.model.errors import InvalidArguments, UnknownName

if TYPE_CHECKING:
    from doorward.approvals.store import ApprovalStore
    from doorward.model.approvals import ApprovalRequest, ApprovalScope

_MAX_CHARACTERS = 300
"""Characters of a name, and of what somebody says: agents are told both."""


def answer(
    store: ApprovalStore,
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
    if approve and scope not in request.scopes:
        raise InvalidArguments(f"a yes to this request is for {' or '.join(request.scopes)}, not for {scope!r}")
    by, said = visible(by)[:_MAX_CHARACTERS], visible(said)[:_MAX_CHARACTERS]
    if not store.answered(id, "approved" if approve else "denied", scope if approve else "once", by, said, now):
        request = store.found(id, now) or request
        raise InvalidArguments(f"the request has been answered already: {described(request)}")
    return request


def described(request: ApprovalRequest) -> str:
    """What came of a request, in a few words."""
    if request.state == "open":
        return "open"
    word = "approved and used" if request.state == "used" else request.state
    scope = {"once": "", "run": ", for its run", "session": ", for its session"}[request.scope]
    return f"{word} by {request.by}{scope}"
