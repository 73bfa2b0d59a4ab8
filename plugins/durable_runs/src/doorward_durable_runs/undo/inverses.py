"""Finds out, while a call is made, by which call it can be undone later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doorward import CallLayer, DoorwardError, PluginContext, hookimpl
from doorward.configuration import module_name
from doorward.deciding import ACCOUNT

from doorward_durable_runs.journal.recorder import JOURNAL
from doorward_durable_runs.undoes_runs import UNDOES

if TYPE_CHECKING:
    from doorward import Call, Function, Gateway, Proceed, Reply, Run

    from doorward_durable_runs.undo.inverse import KeepsInverses
    from doorward_durable_runs.undo.settings import InverseSettings
    from doorward_durable_runs.undo.undoes import Undoes


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
        await self._keeps.read_before(self._call.place, value)
        self._known["before"] = value

    def answered(self, value: Any) -> None:
        """The call was made: keep what undoes it."""
        from doorward_durable_runs.undo.inverse import inverse_of

        self._known["answer"] = value
        said = {"why": self._why_not} if self._why_not else None
        server = self._call.function.server
        how: Mapping[str, Any] = said or inverse_of(self._inverse, server, self._known)
        if self._call.account and "arguments" in how:  # what an account made, the same one undoes
            how = {**how, "arguments": {**how["arguments"], ACCOUNT: self._call.account}}
        self._keeps.undone_by(self._call.place, how)


class Undo:
    """Finds them for the calls of one gateway, says what is wrong with those that are declared."""

    def __init__(self, context: PluginContext) -> None:
        self._server_key = context.server_key
        self._gateway: Gateway | None = None

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        """See `doorward.plugins.hookspecs`."""
        self._gateway = gateway
        gateway.services.give(UNDOES, self)

    async def steps(self, run: str) -> dict[str, Any]:
        """See `UndoesRuns`."""
        return await self._undoes.steps(run)

    async def undo(self, run: str) -> dict[str, Any]:
        """See `UndoesRuns`."""
        return await self._undoes.undo(run)

    @property
    def _undoes(self) -> Undoes:
        from doorward_durable_runs.undo.undoes import Undoes  # for those who undo something

        assert self._gateway is not None
        return Undoes(self._gateway)

    @hookimpl(trylast=True)
    def call_layers(self) -> list[CallLayer]:
        """Inside of all others: nothing is read for a call that is not made."""
        return [CallLayer("undo", self._around, self._applies, after=("approvals", "budgets"))]

    @hookimpl
    def compile_warnings(self, server: str, functions: Sequence[Function]) -> Sequence[str]:
        """See `doorward.plugins.hookspecs`."""
        if not (declared := self._server_key(module_name(server), "undo")):
            return ()
        from doorward_durable_runs.undo.checks import wrong_inverses  # for those who declare inverses

        return [*wrong_inverses(declared, {function.name: function for function in functions})]

    @hookimpl
    def doctor_checks(self) -> Sequence[tuple[str, bool, str]]:
        """See `doorward.plugins.hookspecs`."""
        from doorward_durable_runs.undo.doctor import about_undo

        return [*about_undo(self._gateway)] if self._gateway is not None else ()

    def _declared(self, function: Function) -> InverseSettings | None:
        declared: Mapping[str, InverseSettings] = self._server_key(function.server, "undo") or {}
        return declared.get(function.name)

    def _applies(self, function: Function) -> bool:
        return not function.read_only and self._declared(function) is not None

    async def _around(self, run: Run, call: Call, proceed: Proceed) -> Reply:
        """Find out what undoes a call, if its run is recorded."""
        inverse, keeps = self._declared(call.function), run.state[JOURNAL]
        if inverse is None or keeps is None:
            return await proceed()
        found = Undoable(call, inverse, keeps)
        if inverse.before:
            await found.read_before(run)
        reply = await proceed()
        found.answered(reply.value)
        return reply
