"""Whether a program may call a function at all: by policy, and by the configuration of its server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from doorward.access.policy import left_out_by
from doorward.access.rules import asked_for, readings, selected, shorter
from doorward.calls.function_lookup import LEFT_OUT_HINT, left_out
from doorward.config.install_hints import capability_brought
from doorward.model.calls import ALLOWED, Decision, denial
from doorward.model.errors import Refused
from doorward.model.functions import ASKS_A_MODEL, Function

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.catalog.catalog import Catalog
    from doorward.config.settings import ServerSettings
    from doorward.model.calls import Call
    from doorward.model.programs import Program
    from doorward.servers.registry import Servers


def nobody_asks(what: str, decision: Decision) -> Refused:
    """The refusal of what needs a person's approval by a decision, where nothing in use asks people."""
    why = ": ".join(filter(None, (decision.rule, decision.reason)))
    hint = f"Tell the operator: {capability_brought('then', 'confirm')}"
    return Refused(f"{what} needs a person's approval ({why}), and nothing here asks for one", hint=hint)


class Permissions:
    """What programs may call."""

    def __init__(self, catalog: Catalog, servers: Servers, policy: Policy) -> None:
        self._catalog, self._servers, self.policy = catalog, servers, policy

    def check(self, program: Program, function: Function) -> None:
        """Check the policy and the configuration of the server. Raises: Refused; DoorwardError if it cannot be told."""
        policy = self.policy
        refusal = policy.refusal(program, function) if policy.decides else policy.refusal_by_lists(program, function)
        if refusal is not None:
            hidden = policy.hidden(function, program.principal)
            raise _refused(refusal, hidden.rule if hidden else "")
        if key := self._left_out_by(function):
            raise Refused(left_out(function.qualified, key), hint=LEFT_OUT_HINT)
        settings = self._settings(function)  # a call without a program is asked for by whoever makes it
        if settings and settings.on_request and program.code and not asked_for(function, program.functions or ()):
            how = "`sampling`: true, or " if ASKS_A_MODEL in function.tags else ""
            hint = f'Run it with {how}`functions`: ["*", "{function.server}.*"].'
            raise Refused(f"{function.qualified} is only for runs that ask for it", hint=hint)

    async def decide(self, program: Program, call: Call) -> Decision:
        """The same for one call, with its arguments. Returns: what was decided, perhaps that a person is to be asked.
        Raises: as `check` does."""
        self.check(program, call.function)
        decision = await self.policy.decide(call) if self.policy.decides else ALLOWED
        if decision.then == "deny":
            raise _refused(f"{call.function.qualified} {denial(decision)}", decision.rule)
        return decision

    def lets(self, program: Program, server: str, id: str, route: str) -> bool:
        """Whether a program may also call the function with this original id and route, whatever the arguments."""
        return not self._refusal_of(program, server, id, route)

    def refusal_of_further(
        self, program: Program, function: Function, request: str, functions: Sequence[tuple[str, str]]
    ) -> str:
        """Why a program may not make a further request for its call of a function, by its method and whole path;
        "" if it may. `functions` are the original ids and routes of those that it may be a request for.

        Raises: DoorwardError if it cannot be told.
        """
        for id, route in functions:
            if why := self._refusal_of(program, function.server, id, route):
                return why
        if not functions and (why := self._refusal_of_unknown(program, function, request)):
            return why
        return self.policy.refusal_of_route(program, function, request)

    def _refusal_of(self, program: Program, server: str, id: str, route: str) -> str:
        """Why a program may not call the function with this original id and route with any arguments, or ""."""
        function = self._catalog.function(server, id)
        if function is None or function.route != route or self._left_out_by(function):
            return f"{route[:200]} is left out of {server}"
        if (refusal := self.policy.refusal(program, function)) is not None:
            return refusal
        if self.policy.by_call(function, program.principal):
            return f"calls of {function.qualified} are decided one by one, or need a person's approval"
        return ""

    def _refusal_of_unknown(self, program: Program, function: Function, request: str) -> str:
        """Why a program may not make a request for its call of a function that belongs to no function, or "". It is
        decided as a function of that route would be which nothing names. What may change something is not made."""
        method, _, path = request.partition(" ")
        unknown = f"{request[:200]} is no function of {function.server}"
        if method not in ("GET", "HEAD", "OPTIONS"):
            return f"{unknown}, and may change something"
        everything = replace(program, functions=None)  # the caller's `functions` narrow nothing but functions
        settings, paths = self._settings(function), readings(path)

        def at(place: str) -> Function:
            route = f"{method} {place}"
            return Function(function.server, route, route, route=route, read_only=True, data=function.data)

        below = {
            part
            for full in paths
            for base in self.policy.bases(function, program.principal)
            for part in shorter(full, base)
        }
        if settings is not None and any(selected(at(place), settings.exclude) for place in below):
            return f"{request[:200]} is left out of {function.server}"
        for other in map(at, sorted(paths)):
            if refusal := self.policy.refusal(everything, other):
                return f"{unknown}: {refusal}"
            if self.policy.by_call(other, program.principal):
                return f"{unknown}, and may need a person's approval"
        return ""

    def _left_out_by(self, function: Function) -> str:
        """The key by which the configuration leaves out a function, which may have been compiled under an earlier one;
        "" if there is none."""
        settings = self._settings(function)
        return "" if settings is None else left_out_by(function, settings, self._servers.effect_of)

    def _settings(self, function: Function) -> ServerSettings | None:
        name = self._servers.modules.get(function.server)
        return None if name is None else self._servers.configured[name].settings


def _refused(why: str, rule: str) -> Refused:
    refused = Refused(why)
    refused.rule = rule
    return refused
