"""The modules that a Monty session may import: the servers of the catalog, looked up when a program imports one."""

from __future__ import annotations

import csv
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import pydantic_monty as monty
from doorward import Door

from doorward_sandbox_monty import api_errors


class Modules(Mapping[str, Any]):
    """Import names to factories of `ExternalModule`. Only names that a program mentions are handed over, for a server
    may have thousands; a session, whose later programs may mention others, gets `everything`."""

    def __init__(self, *, everything: bool, stubs: bool) -> None:
        self.functions: set[str] = set()
        self._stubs = stubs
        self._everything = everything
        self._door: Door | None = None
        self._mentioned: set[str] = set()

    def begin(self, door: Door, code: str) -> None:
        """From now on it is this door that answers, for this program."""
        self._door = door
        self._mentioned = set(re.findall(r"\w+", code))

    def __getitem__(self, name: str) -> Callable[[], Awaitable[Any]]:
        door = self._door
        if name == api_errors.MODULE:
            return self._of_errors
        members = door.members(name) if door else None
        if door is None or members is None:
            raise KeyError(name)

        async def module() -> Any:
            names = [m for m in members if self._everything or m in self._mentioned]
            attributes = {n: self._function(f"{name}.{n}") for n in names}
            attributes |= {"ApiError": (csv.Error,)} if name == "doorward" else {}
            return monty.ExternalModule(attributes, stubs=door.stub(name, names) if self._stubs else None)

        return module

    async def _of_errors(self) -> Any:
        return monty.ExternalModule({"error": _stand_in(api_errors.ERROR)}, stubs=api_errors.STUB)

    def _function(self, qualified: str) -> Any:
        self.functions.add(qualified)
        return _stand_in(qualified)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _stand_in(qualified: str) -> Callable[..., None]:
    """It carries the name by which the worker asks; it is never run."""

    def function(*args: Any, **kwargs: Any) -> None:
        raise AssertionError(qualified)

    function.__name__ = qualified
    return function
