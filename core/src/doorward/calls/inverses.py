"""Finds out, while a call is made, by which call it can be undone later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from doorward.model.errors import DoorwardError, Refused
from doorward.model.layers import CallLayer
from doorward.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from doorward.calls.call_context import CallContext
    from doorward.calls.function_lookup import FunctionLookup
    from doorward.config.undo_settings import InverseSettings
    from doorward.model.calls import Call, Reply
    from doorward.model.functions import Function
    from doorward.model.layers import Proceed
    from doorward.undo.inverse import KeepsInverses


class Calls(Protocol):
    """What makes calls: `Broker`."""

    functions: FunctionLookup

    async def call(
        self,
        run: CallContext,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        place: int = 0,
        *,
        large: bool,
    ) -> Reply: ...


class _Beside:
    """A run, for a read that is no call of its program: it is no part of a plan that the run makes or commits."""

    changes = None

    def __init__(self, run: CallContext) -> None:
        self._run = run

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)


class Undoable:
    """A call for whose function the operator declared an inverse."""

    __slots__ = ("_call", "_inverse", "_keeps", "_known", "_why_not")

    def __init__(self, call: Call, inverse: InverseSettings, keeps: KeepsInverses) -> None:
        self._call, self._inverse, self._keeps = call, inverse, keeps
        self._known: dict[str, Any] = {"args": call.as_given}
        self._why_not = ""

    async def read_before(self, calls: Calls, run: CallContext) -> None:
        """Read what is there before the call, as the program itself could; where that fails, the call is made and
        cannot be undone. Raises: StateError."""
        kept = self._keeps.before(self._call.place)
        try:
            value = await self._read(calls, cast("CallContext", _Beside(run))) if kept is None else kept[0]
        except DoorwardError as error:
            self._why_not = f"what was there before could not be read: {error}"
            return
        self._keeps.read_before(self._call.place, value)
        self._known["before"] = value

    async def _read(self, calls: Calls, run: CallContext) -> Any:
        call, name = self._call, f"{self._call.function.server}.{self._inverse.before}"
        function = calls.functions.find(name, call.principal, near=False)
        if not function.read_only:
            raise Refused(f"{name} does not only read")
        taken = function.parameters.get("properties", {})
        arguments = {key: value for key, value in call.as_given.items() if key in taken}
        return (await calls.call(run, name, (), arguments, call.place, large=False)).value

    def answered(self, value: Any) -> None:
        """The call was made: keep what undoes it."""
        from doorward.undo.inverse import inverse_of  # for those who declare inverses

        self._known["answer"] = value
        said = {"why": self._why_not} if self._why_not else None
        server = self._call.function.server
        self._keeps.undone_by(self._call.place, said or inverse_of(self._inverse, server, self._known))


class Inverses:
    """Finds them for the calls of one gateway. `calls` makes calls; `declared` has the inverses that there are now."""

    calls: Calls

    def __init__(self, declared: Callable[[], Mapping[str, InverseSettings]]) -> None:
        self._declared = declared

    @hookimpl(trylast=True)
    def call_layers(self) -> list[CallLayer]:
        """Inside of all others: nothing is read for a call that is not made."""
        return [CallLayer("undo", self._around, self._applies, after=("approvals", "budgets"))]

    def _applies(self, function: Function) -> bool:
        return not function.read_only and function.qualified in self._declared()

    async def _around(self, run: Any, call: Call, proceed: Proceed) -> Reply:
        """Find out what undoes a call, if its run is recorded."""
        inverse, keeps = self._declared().get(call.function.qualified), run.keeps_inverses
        if inverse is None or keeps is None:
            return await proceed()
        found = Undoable(call, inverse, keeps)
        if inverse.before:
            await found.read_before(self.calls, run)
        reply = await proceed()
        found.answered(reply.value)
        return reply
