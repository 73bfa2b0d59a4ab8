"""What the last compile of each server changed, where this process made it: in the classes of `doorward refresh`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError
from doorward.administration import run_in_thread
from doorward.configuration import module_name
from doorward.deciding import Effects
from doorward.texts import closure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from doorward import Function, Gateway

MAX_KEPT = 200
"""Changes of one compile that are remembered; the others are counted."""


@dataclass(frozen=True, slots=True)
class CompileDifference:
    """When the compile was, how many changes of each class it brought, and the first of them: `{"kind", "function",
    "what"}`, those that break programs first."""

    compiled: float
    counts: Mapping[str, int]
    changes: Sequence[Mapping[str, str]]


class CompileChanges:
    """Compares what is stored of a server before its compile with what is stored after it."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._before: dict[str, tuple[list[Function], Mapping[str, Any]]] = {}
        self._last: dict[str, CompileDifference] = {}

    def last(self, module: str) -> CompileDifference | None:
        """The difference that the last compile made; `None` if this process made none."""
        return self._last.get(module)

    def remember(self, server: str) -> None:
        """Read what is stored of a server: a compile is about to replace it."""
        module = module_name(server)
        try:
            if self._gateway.catalog.report(module) is not None:  # else all of it would be new
                self._before[module] = self._stored(module)
        except DoorwardError:
            self._before.pop(module, None)

    async def compare(self, server: str) -> None:
        """Note what has changed, if the compile has replaced anything."""
        module = module_name(server)
        if (before := self._before.pop(module, None)) is None:
            return
        try:
            report, after = self._gateway.catalog.report(module), self._stored(module)
            found = await run_in_thread(self._changes, before, after)
        except (DoorwardError, ModuleNotFoundError):  # doorward-cli, which knows the classes, is not installed
            return
        if report is None:
            return
        counts: dict[str, int] = {}
        for change in found:
            counts[change["kind"]] = counts.get(change["kind"], 0) + 1
        self._last[module] = CompileDifference(report.compiled, counts, found[:MAX_KEPT])

    def _stored(self, module: str) -> tuple[list[Function], Mapping[str, Any]]:
        catalog = self._gateway.catalog
        functions = [*catalog.functions(module)]
        return functions, catalog.reached(module, [[each.parameters, each.returns] for each in functions])

    def _changes(self, *states: tuple[list[Function], Mapping[str, Any]]) -> list[dict[str, str]]:
        from doorward_cli import Known, changes

        effects = Effects(self._gateway.config.policy.classes)
        before, after = (
            {
                each.qualified: Known(each, closure([each.parameters, each.returns], reached.get), effects.of(each))
                for each in functions
            }
            for functions, reached in states
        )
        return [{"kind": each.kind, "function": each.function, "what": each.what} for each in changes(before, after)]
