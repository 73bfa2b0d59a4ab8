"""The question to the person at the client, and what their answer means. The client is not trusted: whatever is no
answer that was offered is none at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.approvals.shown import MAX_ASKED_CHARACTERS, as_text
from doorward.model.approvals import ApprovalRequest, ApprovalScope

_DENY = "deny"
_WORDS: dict[str, ApprovalScope] = {
    "approve once": "once",
    "approve every call of this function in this run": "run",
    "approve every call of this function in this session": "session",
}

Verdict = tuple[bool, ApprovalScope]
"""Whether the person approves, and how far that reaches."""


def question(request: ApprovalRequest) -> dict[str, Any]:
    """The parameters of `elicitation/create` for a request. No answer is chosen beforehand."""
    words = [word for word, scope in _WORDS.items() if scope in request.scopes]
    choice = {"type": "string", "title": "Your answer", "enum": [*words, _DENY]}
    return {
        "message": f"Doorward asks for your approval: {as_text(request, MAX_ASKED_CHARACTERS)}",
        "requestedSchema": {"type": "object", "properties": {"answer": choice}, "required": ["answer"]},
    }


def verdict(request: ApprovalRequest, answer: Mapping[str, Any]) -> Verdict | None:
    """What a client's answer says; `None` if it says neither yes nor no."""
    if answer.get("action") == "decline":
        return False, "once"
    content = answer.get("content")
    if answer.get("action") != "accept" or not isinstance(content, Mapping):
        return None
    said = content.get("answer")
    if said == _DENY:
        return False, "once"
    scope = _WORDS.get(said) if isinstance(said, str) else None
    return (True, scope) if scope in request.scopes and scope is not None else None
