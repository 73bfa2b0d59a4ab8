"""What keeps programs that succeeded, so that they can be run again with other parameters."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from doorward.model.programs import CachedProgram, Outcome, Program
from doorward.model.services import Service


class KeepsPrograms(Protocol):
    """Keeps programs, each for its principal."""

    async def keep(self, program: Program, known: Mapping[str, Any], outcome: Outcome) -> Outcome:
        """The outcome of a program that succeeded; with how it is run again, if it is kept now. `known` are its
        parameters with their values."""
        ...

    async def get(self, cache_id: str, principal: str) -> CachedProgram:
        """A kept program.

        Raises: UnknownName; InvalidProgram if a function that it uses is gone or has changed; ConfigError if it cannot
        be read.
        """
        ...

    async def find(self, queries: Sequence[str], principal: str) -> Sequence[Mapping[str, Any]]:
        """The programs with names that fit any of the queries, best first, of those whose functions a principal may
        call: `{"cache_id", "summary", "params"}`, with the parameters as they stand in the program."""
        ...

    async def using(self, functions: Collection[str]) -> Sequence[Mapping[str, Any]]:
        """The kept programs of all principals that use any of these functions: `{"program", "principal", "uses",
        "advice"}`, with the hash of the schemas of each function that it uses, and what to do when that is another
        one."""
        ...

    def repeated(self, outcome: Outcome, cache_id: str, params: Mapping[str, Any]) -> Outcome:
        """The outcome of a kept program that ran with these values for its parameters."""
        ...


KEPT_PROGRAMS = Service[KeepsPrograms]("what keeps programs")
