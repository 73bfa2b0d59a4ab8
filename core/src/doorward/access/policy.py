"""Decides whether a program may make a call: the operator's policy, which the caller may narrow, never widen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from doorward.access.patterns import is_wild
from doorward.access.rules import Rules, narrowed, selected
from doorward.model.calls import ALLOWED, Decision, Effect, Scope, denial, effect
from doorward.model.errors import DoorwardError, InvalidArguments
from doorward.model.functions import ASKS_A_MODEL, Function
from doorward.model.names import some
from doorward.model.programs import Program

if TYPE_CHECKING:
    from doorward.access.principals import Principals
    from doorward.config.config import Loaded
    from doorward.config.settings import ServerSettings
    from doorward.config.upstream_patterns import Upstream
    from doorward.model.calls import Call
    from doorward.plugins.deciders import Deciders

MAX_PATTERNS = 100
"""Patterns by which a caller may narrow what a program may call."""

MAX_PATTERN_CHARACTERS = 2200
"""Characters of one pattern: an id may be a route."""

MAX_WILDCARD_CHARACTERS, MAX_WILDCARD_CHARACTERS_TOGETHER = 300, 5000
"""Characters of one pattern with wildcards, and of all such together: to compile them takes long, and far longer for
long ones."""


def narrowing(functions: Sequence[str] | None, sampling: bool | None = None) -> tuple[str, ...] | None:
    """Check the `functions` argument of a caller, and add what `sampling` says of those that ask a language model;
    `None` allows everything. Raises: InvalidArguments."""
    patterns = (functions,) if isinstance(functions, str) else None if functions is None else tuple(functions)
    if patterns and all(str(pattern).startswith("!") for pattern in patterns):
        patterns = ("*", *patterns)
    if sampling is not None:
        patterns = (*(("*",) if patterns is None else patterns), f"{'' if sampling else '!'}tag:{ASKS_A_MODEL}")
    if patterns is None:
        return None
    if len(patterns) > MAX_PATTERNS:
        raise InvalidArguments(
            f"`functions` has {len(patterns)} patterns; at most {MAX_PATTERNS} are allowed", hint="Use wildcards."
        )
    if not all(isinstance(pattern, str) for pattern in patterns):
        raise InvalidArguments("`functions` holds something that is no text", hint='For example ["github.issues_*"].')
    if any(len(pattern) > MAX_PATTERN_CHARACTERS for pattern in patterns):
        raise InvalidArguments(
            f"`functions` has a name of more than {MAX_PATTERN_CHARACTERS} characters", hint="No function is called so."
        )
    lengths = [len(pattern) for pattern in patterns if is_wild(pattern)]
    if max(lengths, default=0) > MAX_WILDCARD_CHARACTERS or sum(lengths) > MAX_WILDCARD_CHARACTERS_TOGETHER:
        raise InvalidArguments(
            f"patterns with wildcards may have {MAX_WILDCARD_CHARACTERS} characters each, "
            f"and {MAX_WILDCARD_CHARACTERS_TOGETHER} together",
            hint="Narrow by fewer `functions`.",
        )
    return patterns


class Policy:
    """`[policy]` of what manages the configuration and of the configuration itself, and within them the table of the
    principal in `[principals]`; then what `deciders` say. `upstreams` answers where a call of a principal may go."""

    decides = False
    """Whether calls are decided one by one, with their arguments."""

    def __init__(
        self, loaded: Loaded, principals: Principals, upstreams: Callable[[Function, str], Sequence[Upstream]]
    ) -> None:
        self._tables = tables(loaded)
        self._principals = principals
        self._upstreams = upstreams
        self._deciders: Deciders | None = None

    def use(self, deciders: Deciders) -> None:
        """Have these decide as well, if there are any."""
        if deciders.all:
            self._deciders, self.decides = deciders, True

    def scope(self, principal: str) -> Scope | None:
        """What `allows` depends on for a principal; `None` if it allows every function."""
        rules = self._rules(principal)
        own = None
        if (rights := self._principals.rights(principal)).endpoint or not all(each.everything for each in rules):
            own = Scope(rights, principal if any(each.by_upstream for each in rules) else "")
        if self._deciders is None or not (theirs := self._deciders.scopes(self._principals.known(principal))):
            return own
        scopes = [*theirs, *([(-1, own)] if own else ())]
        return Scope(
            tuple((number, scope.key) for number, scope in scopes),
            principal if any(scope.principal for _, scope in scopes) else "",
        )

    def allows(self, function: Function, principal: str) -> bool:
        """Whether a principal may call a function at all. If that cannot be told, no: the call would fail."""
        if not self.knows(function, principal):
            return False
        reached = Reached(self._upstreams, function, principal)
        with contextlib.suppress(DoorwardError):
            if not any(rules.forbids(function, reached) for rules in self._rules(principal)):
                return self.hidden(function, principal) is None
        return False

    def knows(self, function: Function, principal: str) -> bool:
        """Whether there is such a function for a principal, who may have come by an endpoint that lacks it."""
        endpoint = self._principals.rights(principal).endpoint
        return endpoint is None or endpoint.has(function)

    def _rules(self, principal: str) -> list[Rules]:
        """All that hold for a principal, its own last."""
        return [*self._tables.values(), self._principals.rights(principal).rules]

    def refusal(self, program: Program, function: Function) -> str | None:
        """Why the program may not call the function, or `None`. Raises: DoorwardError if that cannot be told."""
        if refusal := self.refusal_by_lists(program, function):
            return refusal
        hidden = self.hidden(function, program.principal) if self.decides else None
        return f"{function.qualified} {denial(hidden)}" if hidden else None

    def refusal_by_lists(self, program: Program, function: Function) -> str | None:
        """Why the lists `allow` and `deny`, or the caller's `functions`, do not let a program call a function."""
        who = program.principal
        if not self.knows(function, who):
            return f"there is no function {function.qualified!r}"
        reached = Reached(self._upstreams, function, who)
        for whose, rules in self._tables.items():
            if key := rules.forbids(function, reached):
                return f"{function.qualified} is not allowed by {whose}: [policy] {key}"
        if key := self._principals.rights(who).rules.forbids(function, reached):
            place = self._principals.place(who, key)
            return f"{function.qualified} is not allowed for {who!r} by the operator's policy: {place}"
        if program.functions is not None and not narrowed(function, program.functions):
            return (
                f"{function.qualified} is not among the `functions` that this run may call: {some(program.functions)}"
            )
        return None

    def refusal_of_route(self, program: Program, function: Function, route: str) -> str:
        """Why a request for a function may not be made, by its method and whole path; empty if it may. Raises:
        DoorwardError if that cannot be told."""
        who = program.principal
        reached = Reached(self._upstreams, function, who)
        for whose, rules in (*self._tables.items(), ("", self._principals.rights(who).rules)):
            if key := rules.forbids_route(function, route, reached):
                by = f"by {whose}: [policy]" if whose else f"for {who!r} by the operator's policy:"
                return f"{function.qualified}: {route[:200]} is not allowed {by} {key}"
        if self._deciders is None:
            return ""
        found = self._deciders.decide_route(function, self._principals.known(who), route)
        if found.then == "deny":
            return f"{function.qualified}: {route[:200]} {denial(found)}"
        if found.then == "confirm":
            return (
                f"{function.qualified}: {route[:200]} needs a person's approval by {found.rule}, and it is too late to "
                "ask: the rule does not name this function"
            )
        return ""

    def bases(self, function: Function, principal: str) -> set[str]:
        """The paths to which those of a server's functions are appended, "" included. Raises: DoorwardError if it
        cannot be told."""
        return {"", *(upstream.path for upstream in self._upstreams(function, principal))}

    async def decide(self, call: Call) -> Decision:
        """What is decided of a call that nothing else refuses, with its arguments. Raises: DoorwardError if it cannot
        be told."""
        if self._deciders is None:
            return ALLOWED
        caller = self._principals.known(call.principal)
        return await self._deciders.decide(call if caller is call.principal else replace(call, principal=caller))

    def possible(self, function: Function, principal: str) -> list[Sequence[Decision]]:
        """What each decider may decide of calls of a function: what is decided is the strictest of one of each.
        Raises: DoorwardError if it cannot be told."""
        return [] if self._deciders is None else self._deciders.possible(function, self._principals.known(principal))

    def by_call(self, function: Function, principal: str) -> bool:
        """Whether some calls of a function, which is allowed, may have to be asked for, or refused. Raises: as
        `possible` does."""
        return self._deciders is not None and self._deciders.by_call(function, self._principals.known(principal))

    def hidden(self, function: Function, principal: str) -> Decision | None:
        """The decision that denies every call of a function, if one does. Raises: as `possible` does."""
        for decisions in self.possible(function, principal):
            if all(each.then == "deny" for each in decisions):
                return decisions[-1]
        return None

    def told(self, function: Function, principal: str) -> str:
        """What whoever wants to call a function should know of that; empty if there is nothing."""
        asking = self.possible(function, principal)
        surely = [each for each in asking if all(decision.then != "allow" for decision in each)]
        for decisions in surely or asking:
            for decision in decisions:
                if decision.then == "confirm":
                    verb = "asks" if decisions in surely else "may ask"
                    why = f": {decision.reason}" if decision.reason else ""
                    which = "" if decisions in surely else ", depending on its arguments"
                    return f"A call {verb} a person first{which}{why}."
        return ""


class Reached:
    """The upstreams of a function, found out when a rule asks for them: for most calls, none does."""

    __slots__ = ("_ask", "_found", "_function", "_principal")

    def __init__(self, ask: Callable[[Function, str], Sequence[Upstream]], function: Function, principal: str) -> None:
        self._ask = ask
        self._function = function
        self._principal = principal
        self._found: Sequence[Upstream] | None = None

    def __call__(self) -> Sequence[Upstream]:
        if self._found is None:
            self._found = self._ask(self._function, self._principal)
        return self._found


def tables(loaded: Loaded) -> dict[str, Rules]:
    """The tables `[policy]` that hold, by what a refusal calls them."""
    return {
        f"the policy of {whose}" if whose else "the operator's policy": Rules(policy.allow, policy.deny)
        for whose, policy in loaded.policies.items()
    }


def wanted(function: Function, settings: ServerSettings, effect_of: Callable[[Function], Effect] = effect) -> bool:
    """Whether the configuration of its server keeps a function."""
    return not left_out_by(function, settings, effect_of)


def left_out_by(function: Function, settings: ServerSettings, effect_of: Callable[[Function], Effect] = effect) -> str:
    """The key of its server by which a function is left out; "" if it is not. What the operator says that it does
    (`effect_of`) can make a write of a read here, and no read of a write."""
    if settings.read_only and not effect(function) == effect_of(function) == "read":
        return "read_only"
    if settings.include is not None and not selected(function, settings.include):
        return "include"
    return "exclude" if selected(function, settings.exclude) else ""
