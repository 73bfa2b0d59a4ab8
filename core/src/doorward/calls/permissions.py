"""Whether a program may call a function at all: by policy, and by the configuration of its server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward.access.policy import wanted
from doorward.model.decisions import ALLOWED, Decision
from doorward.model.errors import Refused
from doorward.model.functions import Function

if TYPE_CHECKING:
    from doorward.access.policy import Policy
    from doorward.catalog.catalog import Catalog
    from doorward.model.calls import Call
    from doorward.model.programs import Program
    from doorward.servers.registry import Servers


class Permissions:
    """What programs may call."""

    def __init__(self, catalog: Catalog, servers: Servers, policy: Policy) -> None:
        self._catalog, self._servers, self.policy = catalog, servers, policy

    def check(self, program: Program, function: Function) -> None:
        """Check the policy and the configuration of the server. Raises: Refused; DoorwardError if it cannot be told."""
        if refusal := self.policy.refusal(program, function):
            hidden = self.policy.hidden(function, program.principal)
            raise _refused(refusal, hidden.rule if hidden else "")
        if not self._is_included(function):
            raise Refused(
                f"{function.qualified} is left out by the configuration of {function.server}",
                hint="Do without it: `include`, `exclude` and `read_only` of a server are the operator's.",
            )

    def decide(self, program: Program, call: Call, made: int, size: int) -> Decision:
        """The same for one call, with its arguments of `size` bytes; `made` calls of its run came before. Returns: what
        was decided, perhaps that a person is to be asked. Raises: as `check` does."""
        self.check(program, call.function)
        decision = self.policy.decide(call, made, size) if self.policy.decides else ALLOWED
        if decision.then == "deny":
            from doorward.policy.tables import denied

            raise _refused(denied(call.function, decision), decision.rule)
        return decision

    def lets(self, program: Program, server: str, id: str, route: str) -> bool:
        """Whether a program may also call the function with this original id and route, whatever the arguments."""
        function = self._catalog.function(server, id)
        if function is None or function.route != route or not self._is_included(function):
            return False
        if self.policy.refusal(program, function) is not None:
            return False
        return not self.policy.by_call(function, program.principal)

    def _is_included(self, function: Function) -> bool:
        """Whether the configuration still includes a function, which may have been compiled under an earlier one."""
        name = self._servers.modules.get(function.server)
        return name is None or wanted(function, self._servers.configured[name].settings)


def _refused(why: str, rule: str) -> Refused:
    refused = Refused(why)
    refused.rule = rule
    return refused
