"""Finds out, while a call is made, by which call it can be undone later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from doorward.journal.recorder import JOURNAL
from doorward.model.errors import DoorwardError
from doorward.model.layers import CallLayer
from doorward.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from doorward.config.undo_settings import InverseSettings
    from doorward.model.calls import Call, Reply
    from doorward.model.functions import Function
    from doorward.model.layers import Proceed, Run
    from doorward.undo.inverse import KeepsInverses


class Undoable:
    """A call for whose function the operator declared an inverse."""

    __slots__ = ("_call", "_inverse", "_keeps", "_known", "_why_not")

    def __init__(self, call: Call, inverse: InverseSettings, keeps: KeepsInverses) -> None:
        self._call, self._inverse, self._keeps = call, inverse, keeps
        self._known: dict[str, Any] = {"args": call.as_given}
        self._why_not = ""

    async def read_before(self, run: Run) -> None:
        """Read what is there before the call, as the program itself could; where that fails, the call is made and
        cannot be undone. Raises: StateError."""
        kept = self._keeps.before(self._call.place)
        try:
            name = f"{self._call.function.server}.{self._inverse.before}"
            value = await run.read_beside(self._call, name, self._call.as_given) if kept is None else kept[0]
        except DoorwardError as error:
            self._why_not = f"what was there before could not be read: {error}"
            return
        self._keeps.read_before(self._call.place, value)
        self._known["before"] = value

    def answered(self, value: Any) -> None:
        """The call was made: keep what undoes it."""
        from doorward.undo.inverse import inverse_of  # for those who declare inverses

        self._known["answer"] = value
        said = {"why": self._why_not} if self._why_not else None
        server = self._call.function.server
        self._keeps.undone_by(self._call.place, said or inverse_of(self._inverse, server, self._known))


class Inverses:
    """Finds them for the calls of one gateway. `declared` has the inverses that there are now."""

    def __init__(self, declared: Callable[[], Mapping[str, InverseSettings]]) -> None:
        self._declared = declared

    @hookimpl(trylast=True)
    def call_layers(self) -> list[CallLayer]:
        """Inside of all others: nothing is read for a call that is not made."""
        return [CallLayer("undo", self._around, self._applies, after=("approvals", "budgets"))]

    def _applies(self, function: Function) -> bool:
        return not function.read_only and function.qualified in self._declared()

    async def _around(self, run: Run, call: Call, proceed: Proceed) -> Reply:
        """Find out what undoes a call, if its run is recorded."""
        inverse, keeps = self._declared().get(call.function.qualified), run.state[JOURNAL]
        if inverse is None or keeps is None:
            return await proceed()
        found = Undoable(call, inverse, keeps)
        if inverse.before:
            await found.read_before(run)
        reply = await proceed()
        found.answered(reply.value)
        return reply
