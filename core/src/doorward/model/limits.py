"""The limits of one run: the one place where each has its name, its default and its meaning.

`[limits]` of the configuration is made from it, and a test compares the documentation with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def _limit(default: float, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use. A field has the name of its key in `[limits]`; only a size ends in `_bytes` here."""

    timeout: float = _limit(30.0, "Seconds a run may take, if the caller does not say")
    max_timeout: float = _limit(300.0, "The most seconds that a caller may ask for")
    memory_bytes: int = _limit(512 * 2**20, "Memory of one run")
    output_bytes: int = _limit(2**20, "Printed output of one run")
    code_bytes: int = _limit(64 * 2**10, "Source text of a program")
    calls: int = _limit(1000, "Calls of one run")
    repeats: int = _limit(20, "Calls of one run that fail in a row with the same arguments")
    identical: int = _limit(100_000, "Calls of one run with the same arguments, whatever they answer")
    processes: int = _limit(128, "Processes of one run, where the executor has processes")
    rate: int = _limit(60, "Runs a minute for one principal")
    result_bytes: int = _limit(50 * 2**20, "One result of a call")
    inline_bytes: int = _limit(
        16 * 2**10, "A value, or printed text, shown whole; a larger one is cut, with a handle to the rest"
    )
    cut_bytes: int = _limit(
        2560, "What is shown of a value, or of printed text, that is cut: its beginning and its end"
    )
    asking: float = _limit(600.0, "Seconds that a run may wait, in all, for answers of its client")

    @property
    def shown_bytes(self) -> int:
        """What is shown of what is cut: no more than would be shown whole."""
        return min(self.cut_bytes, self.inline_bytes)

    @property
    def questions(self) -> int:
        """How often a program may ask its host for anything: its calls, also refused ones, and its look-ups."""
        return 20 * self.calls + 1000
