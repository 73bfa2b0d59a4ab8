"""What a person is asked before a call is made, what came of it, and the hook by which others ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

from doorward import hookspec

ApprovalScope = Literal["once", "run", "session"]
"""How far a yes reaches: to this very call, or to all calls of the function in its run or in its session."""

APPROVAL_SCOPES: tuple[ApprovalScope, ...] = ("once", "run", "session")

ApprovalKind = Literal["call", "plan"]
"""What a person approves of: one call, or all that a plan would write."""

ApprovalState = Literal["open", "approved", "denied", "used"]
"""A request waits for an answer, has one, or let its call through, which it does once."""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for a person's yes.

    `arguments` is their JSON as a person may read it: without credentials, and with nothing in it that a terminal
    obeys. `rule` and `reason` are those of the `Decision`. `lines` are the lines of the program that name the function.
    `scopes` are those that a yes may have; `always` is a rule of the configuration that would let calls like this
    through, empty if there is none that is narrow enough. `by` answered, for all calls in `scope`, saying `said`. Times
    are seconds since the epoch.
    """

    id: str
    function: str
    effect: Literal["read", "write", "destructive"]
    arguments: str
    principal: str
    run: str
    rule: str = ""
    reason: str = ""
    lines: tuple[str, ...] = ()
    scopes: tuple[ApprovalScope, ...] = ("once",)
    always: Mapping[str, Any] = field(default_factory=dict)
    created: float = 0.0
    expires: float = 0.0
    state: ApprovalState = "open"
    scope: ApprovalScope = "once"
    by: str = ""
    said: str = ""
    kind: ApprovalKind = "call"

    @property
    def wants(self) -> str:
        """What its principal wants, in words."""
        return "make all calls of a plan, at once" if self.kind == "plan" else f"call {self.function}"


class ApprovalHooks:
    """Hooks of this capability."""

    observers = ("approval_wanted",)

    @hookspec
    def approval_wanted(self, request: ApprovalRequest, answer: Callable[..., Future[ApprovalRequest]]) -> None:
        """Learn that a call waits for a person's yes, to ask somebody by another way: a chat, a webhook. Whoever
        answers calls `answer(True, by="ann", said="…")`, or with `False`, from any thread. The future that it returns
        has the request as it was; the first answer counts, that of a later one raises InvalidArguments. Fires once for
        each request."""
