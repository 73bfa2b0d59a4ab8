"""The modules that a Monty session may import: the servers of the catalog, looked up when a program imports one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pydantic_monty as monty
from doorward import Door

from doorward_sandbox_monty import api_errors


class Modules(Mapping[str, Any]):
    """Maps import names to factories of `ExternalModule`. A module has only the names that the program mentions, for a
    server may have thousands; a session gets `everything`, since later programs may mention other names."""

    def __init__(self, *, everything: bool, stubs: bool, ask: Callable[[Callable[[], Any]], Any]) -> None:
        """`ask` calls a function where everything else runs: Monty looks for modules in a thread."""
        self.functions: dict[str, str] = {}
        self.servers: dict[Any, str] = {}
        """The names of the modules that a program holds, by their ids."""
        self._stubs = stubs
        self._everything = everything
        self._ask = ask
        self._door: Door | None = None
        self._mentioned: set[str] = set()
        self._aliases: Mapping[str, str] = {}

    def begin(self, door: Door, code: str) -> str:
        """Start a program, whose calls this door answers. Returns: the text to run before it."""
        self._door = door
        aliases = door.aliases(code, everything=self._everything)
        self._mentioned = set(re.findall(r"\w+", code + aliases.before))
        self._aliases = aliases.modules
        return aliases.before

    @property
    def has_aliases(self) -> bool:
        """Whether the program uses names of other systems; a session might."""
        return bool(self._aliases)

    def mentioned(self, module: str) -> list[str]:
        """The names of a module that the program mentions; none if the module is not ours."""
        members = self._door.members(self._aliases.get(module, module)) if self._door else None
        return [name for name in members or () if name in self._mentioned]

    def __getitem__(self, name: str) -> Callable[[], monty.ExternalModule]:
        found: Callable[[], monty.ExternalModule] = self._ask(lambda: self._found(name))
        return lambda: self._ask(found)

    def _found(self, name: str) -> Callable[[], monty.ExternalModule]:
        door = self._door
        if name == api_errors.MODULE:
            return self._of_errors
        if door is None or (name not in self._aliases and door.members(name) is None):
            raise KeyError(name)
        return lambda: self._module(door, name)

    def _module(self, door: Door, name: str) -> monty.ExternalModule:
        """The module for an import name, with the modules that aliases put into it."""
        server = self._aliases.get(name, name)
        members = door.members(server) or () if server else ()
        names = [m for m in members if self._everything or m in self._mentioned]
        attributes: dict[str, Any] = {n: self._function(f"{name}.{n}", f"{server}.{n}") for n in names}
        if name == "doorward":
            attributes |= dict.fromkeys(
                api_errors.CLASSES, ()
            )  # only for the import: `rewriting` gives the name its meaning
        for alias in self._aliases:
            above, _, last = alias.rpartition(".")
            if above == name and (self._everything or last in self._mentioned):
                attributes[last] = self._module(door, alias)
        made = monty.ExternalModule(attributes, stubs=door.stub(server, names) if self._stubs else None)
        self.servers[made.id] = server
        return made

    def _of_errors(self) -> monty.ExternalModule:
        asked = {
            name.rpartition(".")[2]: stand_in(name) for name in (api_errors.ERROR, api_errors.SERVER, api_errors.ABOUT)
        }
        return monty.ExternalModule(asked, stubs=api_errors.STUB)

    def meant(self, value: Any) -> str | None:
        """The name by which `doorward.describe` knows a program's value: that of a server, a function or an error."""
        if isinstance(value, monty.ExternalModule):
            return self.servers.get(value.id)
        if isinstance(value, type):
            return next(
                (f"doorward.{name}" for name, (_, stands) in api_errors.CLASSES.items() if stands == value.__name__),
                None,
            )
        return value if isinstance(value, str) and "." in value and value in self.functions.values() else None

    def _function(self, called: str, meant: str) -> Any:
        self.functions[called] = meant
        return stand_in(meant)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def stand_in(qualified: str) -> Callable[..., None]:
    """A function that carries the name by which the worker asks for it; it never runs."""

    def function(*args: Any, **kwargs: Any) -> None:
        raise AssertionError(qualified)

    function.__name__ = qualified
    return function
