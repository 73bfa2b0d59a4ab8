"""What an import would do with each server that was found, and doing it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from doorward import ConfigError, module_name, starts_doorward
from doorward.commands import Project, Variables, put_server, server_name, servers_of, write_env

from doorward_clients import mce
from doorward_clients.entries import Entry, parse
from doorward_clients.found import Found
from doorward_clients.references import translate
from doorward_clients.tables import Tables, same_connection

Action = Literal["add", "replace", "there", "same", "hidden", "own", "differs", "unusable"]
TAKEN = ("add", "replace", "there", "same")
"""Servers that are in the configuration afterwards."""


@dataclass(frozen=True, slots=True)
class Step:
    """One server that was found, and what becomes of it: `name` and `table` are its own in the configuration."""

    found: Found
    action: Action
    why: str
    name: str = ""
    table: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


class Plan:
    """Decides on one server after the other; those that win come first. Nothing is written before `write`."""

    def __init__(self, project: Project, home: Path, *, force: bool = False) -> None:
        """Raises: ConfigError if the configuration or `.env` cannot be read."""
        self.project = project
        self.there = servers_of(project)
        self.variables = Variables(project.env_file or project.config.parent / ".env")
        self.steps: list[Step] = []
        self._tables = Tables(self.variables, home)
        self._home, self._force = home, force
        self._modules = {module_name(name) for name in self.there}
        self._names: set[tuple[str, str]] = set()
        self._known: set[str] = set()

    @property
    def wanted(self) -> dict[str, str]:
        """Variables that somebody must set: name → what the client had in its place."""
        used = self._used()
        return {name: was for name, was in self._tables.wanted.items() if any(f"${{{name}}}" in text for text in used)}

    @property
    def written(self) -> list[Step]:
        return [step for step in self.steps if step.action in ("add", "replace")]

    def secrets(self) -> dict[str, str]:
        """What is added to `.env`."""
        return self.variables.used(self._used())

    def add(self, found: Sequence[Found]) -> None:
        """Decide on these, too. What is there already is recognised first: no other of its name takes its place."""
        understood = [self._understood(each) for each in found]
        self._known |= {name for step in understood if step.table for name in self._there(step.table)}
        for step in understood:
            self.steps.append(self._decided(step, step.table) if step.table else step)

    def _understood(self, found: Found) -> Step:
        """The server as a table, if it has to be one; else why not."""
        if (found.client, found.name) in self._names and found.scope == "global":
            return Step(found, "hidden", "the project has one of this name, which wins")
        self._names.add((found.client, found.name))
        try:
            entry = found.raw if isinstance(found.raw, mce.Swagger) else parse(found.raw)
            if isinstance(entry, Entry) and _is_own(found.name, entry):
                return Step(found, "own", "is Doorward itself")
            notes = tuple(f"{key} is not taken over" for key in entry.left_out) if isinstance(entry, Entry) else ()
            name = server_name(found.name)
            return Step(found, "add", "is added", name, self._table(name, found, entry), notes)
        except ValueError as error:
            return Step(found, "unusable", f"cannot be used: {error}")

    def _decided(self, step: Step, table: Mapping[str, Any]) -> Step:
        """Is it there already, or has it been found before, and what will it be called?"""
        found, plain = step.found, step.name
        if known := self._there(table):
            return Step(found, "there", f"is there already: [servers.{known[0]}]", known[0])
        for other in self.written:
            if other.table is not None and same_connection(table, other.table):
                return Step(found, "same", f"is the same as {printable(other.found.name)} of {other.found.what}", other.name)
        longer = f"{plain}-{found.client.lower()}"
        for name in (plain, server_name(longer)):
            if name in self.there and name not in self._known:
                if not self._force:
                    return Step(found, "differs", f"differs from [servers.{name}]; `doorward import --force` replaces that")
                del self.there[name]
                return replace(step, action="replace", why=f"replaces [servers.{name}]", name=name)
        name = plain if module_name(plain) not in self._modules else server_name(longer, self._modules)
        self._modules.add(module_name(name))
        return replace(step, why="is added" if name == found.name else f"is added as {name}", name=name)

    def _there(self, table: Mapping[str, Any]) -> list[str]:
        """The servers of the configuration that are this one, whatever else is said of them."""
        return [name for name, other in self.there.items() if same_connection(table, other)]

    def _table(self, name: str, found: Found, entry: Entry | mce.Swagger) -> dict[str, Any]:
        """Raises: ValueError."""
        config = self.project.config.resolve()
        if isinstance(entry, Entry):
            elsewhere = found.folder.resolve() != config.parent
            return self._tables.of(name, entry, found.folder, elsewhere=elsewhere, starts_there=found.scope.startswith("project"))

        def read(text: str) -> str:
            return translate(text, self._home, found.folder, self._tables.want)

        def keep(what: str, secret: str) -> str:
            return self.variables.keep(secret, f"{name}_{what}")

        return mce.table(entry, found.file, config, keep, read)

    def write(self) -> None:
        """Write the secrets, then the servers. One that the configuration refuses becomes unusable, and the others go on.

        Raises: ConfigError if nothing can be written.
        """
        if secrets := self.secrets():
            write_env(self.variables.file, secrets)
        for number, step in enumerate(self.steps):
            if step.table is not None:
                try:
                    put_server(self.project, step.name, step.table, replace=step.action == "replace", later=True)
                except ConfigError as error:
                    self.steps[number] = replace(step, action="unusable", why=str(error), table=None)

    def _used(self) -> list[str]:
        return [text for step in self.written for text in _texts(step.table)]


def _is_own(name: str, entry: Entry) -> bool:
    """Whether an entry starts Doorward, or leads to one on this machine that is called so."""
    if entry.command:
        return starts_doorward(entry.command)
    host = urlsplit(entry.url).hostname or ""
    return "doorward" in name.lower() and (host in ("localhost", "::1") or host.startswith("127."))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from _texts(each)
        case list():
            for each in value:
                yield from _texts(each)


def printable(text: str) -> str:
    """A text of a stranger on one line, without what steers a terminal."""
    return "".join(c if c.isprintable() else "�" for c in re.sub(r"\s+", " ", text))[:200]
