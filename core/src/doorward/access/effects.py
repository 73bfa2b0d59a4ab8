"""What calls of a function do to the world, as its document says it, or the operator in `[policy.classes]`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from doorward.access.rules import matches
from doorward.model.calls import Effect, effect
from doorward.model.functions import Function

_STRICTEST_FIRST: tuple[Effect, ...] = ("destructive", "write", "read")


class Effects:
    """The classes of functions. A function that the operator put into two has the stricter one."""

    def __init__(self, classes: Mapping[Effect, Iterable[str]]) -> None:
        self._corrected = [(each, tuple(classes[each])) for each in _STRICTEST_FIRST if each in classes]

    def of(self, function: Function) -> Effect:
        """The class of a function."""
        for corrected, patterns in self._corrected:
            if matches(function, patterns):
                return corrected
        return effect(function)
