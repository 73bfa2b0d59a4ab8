"""What is decided of a call before it is made, and by whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from doorward.model.functions import Function

Then = Literal["allow", "confirm", "deny"]
"""What happens with a call: it is made, a person is asked first, or it is refused."""

Effect = Literal["read", "write", "destructive"]
"""What calls of a function do to the world."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What policy says of a call. `rule` names the rule that decided, as a person finds it (`[[policy.rules]] 3`, the
    name of a plugin); it is empty if none did. `reason` is what the operator wrote there."""

    then: Then = "allow"
    rule: str = ""
    reason: str = ""


ALLOWED = Decision()
"""Nothing speaks against the call."""

_ORDER = ("allow", "confirm", "deny")


def stricter(one: Decision, other: Decision) -> Decision:
    """The stricter of two decisions; if they are alike, the one that names a rule."""
    if one.then == other.then:
        return one if one.rule else other
    return max(one, other, key=lambda decision: _ORDER.index(decision.then))


def denial(decision: Decision) -> str:
    """Why a call is refused, behind the name of its function."""
    why = f": {decision.reason}" if decision.reason else ""
    return f"is not allowed by the operator's policy: {decision.rule}{why}"


def effect(function: Function) -> Effect:
    """What calls of a function do, as its document or its annotations say, or else conventions."""
    if function.read_only or function.guessed_read:
        return "read"
    return "destructive" if function.destructive or function.guessed_destructive else "write"


def may_repeat(function: Function) -> bool:
    """Whether a call may be made twice: it only reads, or making it again changes nothing more (RFC 9110 section 9.2.2,
    `idempotentHint` of MCP)."""
    return function.read_only or function.idempotent
