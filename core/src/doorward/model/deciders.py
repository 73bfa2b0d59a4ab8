"""What decides of calls beside the lists `allow` and `deny`: deciders, which plugins give by the hook `deciders`.

A decider may only tighten what the lists and other deciders say. It is asked of single calls, and of functions whatever
the arguments: nobody finds a function that every call would be denied of.
"""

from __future__ import annotations

from collections.abc import Awaitable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from doorward.model.decisions import ALLOWED, Decision

if TYPE_CHECKING:
    from doorward.model.calls import Call
    from doorward.model.functions import Function
    from doorward.model.principals import Principal

ANYTHING = (ALLOWED, Decision("deny"))
"""What may be decided of calls, where nothing is known without their arguments."""


class Scope(NamedTuple):
    """What it depends on which functions a principal may call: principals whose `key` is the same may call the same.
    `principal` is the one that was asked for, where it also depends on upstreams, which may be different for each."""

    key: Hashable
    principal: str = ""


class Decider:
    """Decides of calls. Derive from it: what is left out says nothing. Whatever a method raises denies the call, with
    the name of the plugin; of what the principal is, beside its name, `call.caller` knows."""

    def decide(self, call: Call) -> Decision | Awaitable[Decision | None] | None:
        """What is decided of a call, with its arguments; `None`: nothing. May be `async def`, to ask a service: it has
        the time that the call has, and 30 seconds at most. Asked once more after the call has waited for a person."""
        return None

    def possible(self, function: Function, principal: Principal) -> Sequence[Decision]:
        """All that may be decided of calls of a function, whatever their arguments. If each is `deny`, the principal
        does not see the function, and the last one says why; if any is not `allow`, calls are decided one by one, and
        nothing else becomes such a call on its way. Of what it depends on, `scope` tells."""
        return ANYTHING

    def scope(self, principal: Principal) -> Scope | None:
        """What `possible` depends on for a principal; `None` if it hides no function of theirs. It is asked often, and
        `possible` of all functions when the answer is a new one."""
        return None

    def decide_route(self, function: Function, principal: Principal, route: str) -> Decision | None:
        """What is decided of a request that a source makes for a call of a function, by its method and whole path
        (`GET /v1/users`), where that says more than the function does."""
        return None
