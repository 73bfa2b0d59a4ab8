"""Ends what leads nowhere: a program that makes the same call again and again, though it fails each time."""

from __future__ import annotations

from doorward.data.json_writing import digest
from doorward.model.calls import Call
from doorward.model.errors import DoorwardError, LimitExceeded

_MAX_CALLS = 1000
"""Different failed calls of a run that are told apart."""


class RepeatedFailures:
    """The calls of one run that failed, each with how often in a row."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._failed: dict[str, tuple[int, str]] = {}

    def check(self, call: Call) -> None:
        """Refuse a call that has failed too often. Raises: LimitExceeded."""
        if not self._failed:
            return
        times, why = self._failed.get(_key(call), (0, ""))
        if times >= self._most:
            raise LimitExceeded(
                f"{call.function.qualified} has failed {times} times in a row with these arguments, with: {why}",
                hint="Change the arguments, or end the program: the same call is made no more in this run.",
            )

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
