"""The question to the person at the client, and what their answer means. The client is not trusted: whatever is no
answer that was offered is none at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from doorward_approvals.request import ApprovalRequest, ApprovalScope
from doorward_approvals.shown import MAX_ASKED_CHARACTERS, as_list, as_text

_DENY = "deny"
_WORDS: dict[str, ApprovalScope] = {
    "approve once": "once",
    "approve every call of this function in this run": "run",
    "approve every call of this function in this session": "session",
}

Ask = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Asks the client of a run, see `Run.ask`."""

Verdict = tuple[bool, ApprovalScope]
"""Whether the person approves, and how far that reaches."""


def question(requests: Sequence[ApprovalRequest]) -> dict[str, Any]:
    """The parameters of `elicitation/create` for requests of one run. No answer is chosen beforehand."""
    choice = {"type": "string", "title": "Your answer", "enum": [*_choices(requests)]}
    if len(requests) == 1:
        message = f"Doorward asks for your approval: {as_text(requests[0], MAX_ASKED_CHARACTERS)}"
    else:
        message = f"Doorward asks for your approval of {len(requests)} calls at once: {as_list(requests)}"
    return {
        "message": message,
        "requestedSchema": {"type": "object", "properties": {"answer": choice}, "required": ["answer"]},
    }


def verdict(requests: Sequence[ApprovalRequest], answer: Mapping[str, Any]) -> Verdict | None:
    """What a client's answer says of all requests; `None` if it says neither yes nor no."""
    if answer.get("action") == "decline":
        return False, "once"
    content = answer.get("content")
    if answer.get("action") != "accept" or not isinstance(content, Mapping):
        return None
    said = content.get("answer")
    return _choices(requests).get(said) if isinstance(said, str) else None


def _choices(requests: Sequence[ApprovalRequest]) -> dict[str, Verdict | None]:
    """What a person may answer, and what that means. For a yes that reaches further, all calls are of one function."""
    words: dict[str, Verdict | None] = {
        word: (True, scope) for word, scope in _WORDS.items() if all(scope in each.scopes for each in requests)
    }
    if len(requests) == 1:
        return {**words, _DENY: (False, "once")}
    count = len(requests)
    further = {word: said for word, said in words.items() if said != (True, "once")}
    return {
        f"approve these {count} calls, each once": (True, "once"),
        **(further if len({each.function for each in requests}) == 1 else {}),
        f"deny these {count} calls": (False, "once"),
        "neither: each is answered by `doorward approvals`": None,
    }
