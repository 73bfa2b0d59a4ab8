"""What the calls of one run add up to: how many, how long, and what they used."""

from __future__ import annotations

from collections.abc import Mapping

from doorward.model.outcomes import CallCount
from doorward.model.usage import Usage


class RunTotals:
    """The calls of a run by function and success, and what they used by server."""

    __slots__ = ("_counts", "_usage")

    def __init__(self) -> None:
        self._counts: dict[tuple[str, bool], list[float]] = {}
        self._usage: dict[str, Usage] = {}

    def count(self, function: str, *, ok: bool, ms: float) -> None:
        at = self._counts.setdefault((function, ok), [0, 0.0])
        at[0] += 1
        at[1] += ms

    def calls(self) -> tuple[CallCount, ...]:
        """The calls made: their number and total milliseconds."""
        return tuple(
            {"function": f, "ok": ok, "count": int(n), "ms": round(ms, 1)} for (f, ok), (n, ms) in self._counts.items()
        )

    def usage_of(self, server: str) -> Usage:
        if (usage := self._usage.get(server)) is None:
            usage = self._usage[server] = Usage()
        return usage

    def usage(self) -> dict[str, Mapping[str, float]]:
        """What was used of each server."""
        return {server: amounts for server, usage in self._usage.items() if (amounts := usage.amounts())}

    def used(self, server: str) -> Mapping[str, float]:
        """What was used of one server so far; nothing for most."""
        usage = self._usage.get(server)
        return usage.amounts() if usage is not None else {}

    def used_before(self, server: str, amounts: Mapping[str, float]) -> None:
        """Count what a run had used of a server before it was resumed: that is paid for."""
        usage = self.usage_of(server)
        for name, amount in amounts.items():
            usage.add(name, amount - usage.of(name))
            usage.newly(name)
