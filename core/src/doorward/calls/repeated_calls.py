"""Ends what leads nowhere: a program that makes the same call again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward.data.json_writing import digest
from doorward.model.errors import DoorwardError, LimitExceeded

if TYPE_CHECKING:
    from doorward.model.calls import Call
    from doorward.model.programs import Limits

_MAX_CALLS = 1000
"""Different failed calls of a run that are told apart."""


class RepeatedCalls:
    """The calls of one run that are made again: how often in a row they failed, and how often they were made, where
    fewer of the same are allowed than calls at all."""

    def __init__(self, limits: Limits) -> None:
        self._most_failed, self._most = limits.repeats, limits.identical
        self._counts = limits.identical < limits.calls
        self._failed: dict[str, tuple[int, str]] = {}
        self._made: dict[str, int] = {}

    def check(self, call: Call) -> None:
        """Count a call, unless it is refused: it has failed, or was made, too often. Raises: LimitExceeded."""
        if not self._failed and not self._counts:
            return
        key, name = _key(call), call.function.qualified
        times, why = self._failed.get(key, (0, ""))
        if times >= self._most_failed:
            raise LimitExceeded(
                f"{name} has failed {times} times in a row with these arguments, with: {why}",
                hint="Change the arguments, or end the program: the same call is made no more in this run.",
            )
        if self._counts:
            made = self._made.get(key, 0)
            if made >= self._most:
                raise LimitExceeded(
                    f"{name} has been called {self._most} times with these arguments, the most in one run",
                    hint="Keep its answer, or change the arguments. The operator can raise [limits] identical.",
                )
            self._made[key] = made + 1

    def failed(self, call: Call, error: DoorwardError) -> None:
        """Count a call that failed; its error is scrubbed already."""
        key = _key(call)
        if key in self._failed or len(self._failed) < _MAX_CALLS:
            self._failed[key] = (self._failed.get(key, (0, ""))[0] + 1, error.message[:500])

    def succeeded(self, call: Call) -> None:
        """Count its failures from the beginning."""
        if self._failed:
            self._failed.pop(_key(call), None)


def _key(call: Call) -> str:
    return digest(call.function.qualified, call.arguments, call.link)
