"""What a run calls with success, as long as it takes to learn from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from doorward import Function

MAX_CALLS, MAX_FUNCTIONS = 500, 100
"""Calls, and different functions, that are recorded."""

MAX_ANSWER_BYTES = 2**21
"""Bytes of answers that one run's record refers to; of later ones it has the arguments only."""


class Done(NamedTuple):
    """A call that succeeded. `answer` is `None` where there was no room for it."""

    function: Function
    arguments: Mapping[str, Any]
    answer: Any


class RunRecord:
    """The calls of one run, in the order of their answers. It refers to what the run holds anyway, and is dropped
    soon after it."""

    __slots__ = ("_room", "calls", "functions", "principal")

    def __init__(self, principal: str) -> None:
        self.principal = principal
        self.calls: list[Done] = []
        self.functions: dict[str, None] = {}
        self._room = MAX_ANSWER_BYTES

    def called(self, function: Function, arguments: Mapping[str, Any], answer: Any, size: int) -> None:
        """Record a call that succeeded. It costs a microsecond: all else is done after the run."""
        if len(self.functions) < MAX_FUNCTIONS:
            self.functions[function.qualified] = None
        if len(self.calls) < MAX_CALLS:
            self._room -= size
            self.calls.append(Done(function, arguments, answer if self._room >= 0 else None))
