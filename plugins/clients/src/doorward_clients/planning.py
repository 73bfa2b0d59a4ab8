"""The plan of an import: what to do with each server that was found, and doing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from doorward import ConfigError
from doorward.administration import starts_doorward
from doorward.configuration import module_name
from doorward.values import clean_text
from doorward_cli import Project, Variables, put_server, server_name, servers_of, write_env

from doorward_clients import mce
from doorward_clients.entries import Entry, parse
from doorward_clients.gateways import starts_gateway
from doorward_clients.search import FoundServer
from doorward_clients.tables import Tables, same_connection, used

Action = Literal["add", "replace", "there", "same", "hidden", "own", "differs", "unusable", "unasked"]
TAKEN_ACTIONS = ("add", "replace", "there", "same")
"""Actions after which the server is in the configuration."""


@dataclass(frozen=True, slots=True)
class Step:
    """One server that was found, and what happens to it.

    `name` and `table` are its name and table in the configuration. `uses` are the variables that it refers to, and the
    places in the table; `asks` are those of them whose values come from elsewhere.
    """

    found: FoundServer
    action: Action
    why: str
    name: str = ""
    table: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    uses: Mapping[str, str] = field(default_factory=dict)
    asks: frozenset[str] = frozenset()

    @property
    def goal(self) -> str:
        """Where the values of the server's variables go: its command, or its URL."""
        table = self.table or {}
        url = str(table.get("url") or table.get("base_url") or table.get("spec") or "")
        return " ".join(table.get("command", ())) or url.partition("?")[0]


class Plan:
    """Decides what happens to each server; of two with one name, the first counts. Only `write` writes anything."""

    def __init__(self, project: Project, home: Path, *, force: bool = False) -> None:
        """Raises: ConfigError if the configuration or `.env` cannot be read."""
        self.project = project
        self.there = servers_of(project)
        self.variables = Variables(project.env_file or project.config.parent / ".env")
        self.steps: list[Step] = []
        self._tables = Tables(self.variables, home)
        self._force = force
        self._modules = {module_name(name) for name in self.there}
        self._names: set[tuple[str, str]] = set()
        self._known: set[str] = set()

    @property
    def wanted(self) -> dict[str, str]:
        """Variables that the user must set: name → what the client had in its place."""
        used = {name for step in self.written for name in step.uses}
        return {name: was for name, was in self._tables.wanted.items() if name in used}

    @property
    def written(self) -> list[Step]:
        return [step for step in self.steps if step.action in ("add", "replace")]

    def secrets(self) -> dict[str, str]:
        """The variables that are added to `.env`."""
        used = {name for step in self.written for name in step.uses}
        return {name: value for name, value in self.variables.new.items() if name in used}

    def taken(self, step: Step) -> list[str]:
        """The variables whose values, from elsewhere, the server would get: it asks for them, and they are set."""
        return sorted(name for name in step.asks if self.variables.has(name))

    def leave(self) -> None:
        """Leave out servers that would get values from elsewhere: nobody is there to allow it."""
        for number, step in enumerate(self.steps):
            if step.table is not None and (names := self.taken(step)):
                why = f"is left out: it would get {', '.join(names)}; if it may, say --yes"
                self.steps[number] = replace(step, action="unasked", why=why, table=None)

    def add(self, found: Sequence[FoundServer]) -> None:
        """Plan these servers, too. Those in the configuration are recognised first,
        so that no other takes their names."""
        understood = [self._understood(each) for each in found]
        self._known |= {name for step in understood if step.table for name in self._there(step.table)}
        for step in understood:
            self.steps.append(self._decided(step, step.table) if step.table else step)

    def _understood(self, found: FoundServer) -> Step:
        """The step that adds a server, or why it is not added."""
        if (found.client, found.name) in self._names and found.scope == "global":
            return Step(found, "hidden", "the project has one of this name, which wins")
        self._names.add((found.client, found.name))
        try:
            entry = found.raw if isinstance(found.raw, mce.Swagger) else parse(found.raw)
            if isinstance(entry, Entry) and _is_own(found.name, entry):
                return Step(found, "own", "is Doorward itself")
            if isinstance(entry, Entry) and starts_gateway(entry.command):
                return Step(found, "own", "does what Doorward does, and is not taken over")
            left_out = entry.left_out if isinstance(entry, Entry) else mce.left_out(entry)
            notes = tuple(f"{printable(key)} is not taken over" for key in left_out)
            name = server_name(found.name)
            table = self._table(name, found, entry)
            notes += tuple(f"agents will read {guide}" for guide in [table.get("skills")] if guide)
            uses = used(table)
            return Step(found, "add", "is added", name, table, notes, uses, frozenset(uses) - self._tables.own)
        except ValueError as error:
            return Step(found, "unusable", f"cannot be used: {error}")

    def _decided(self, step: Step, table: Mapping[str, Any]) -> Step:
        """The step with its final action and name: the server may be in the configuration,
        or have been found before."""
        found, plain = step.found, step.name
        if known := self._there(table):
            return Step(found, "there", f"is there already: [servers.{known[0]}]", known[0])
        for other in self.written:
            if other.table is not None and same_connection(table, other.table):
                return Step(
                    found, "same", f"is the same as {printable(other.found.name)} of {other.found.origin}", other.name
                )
        longer = f"{plain}-{found.client.lower()}"
        for name in (plain, server_name(longer)):
            if name in self.there and name not in self._known:
                if not self._force:
                    return Step(
                        found, "differs", f"differs from [servers.{name}]; `doorward import --force` replaces that"
                    )
                del self.there[name]
                return replace(step, action="replace", why=f"replaces [servers.{name}]", name=name)
        name = plain if module_name(plain) not in self._modules else server_name(longer, self._modules)
        self._modules.add(module_name(name))
        return replace(step, why="is added" if name == found.name else f"is added as {name}", name=name)

    def _there(self, table: Mapping[str, Any]) -> list[str]:
        """The servers of the configuration with the same connection, whatever else they have."""
        return [name for name, other in self.there.items() if same_connection(table, other)]

    def _table(self, name: str, found: FoundServer, entry: Entry | mce.Swagger) -> dict[str, Any]:
        """Raises: ValueError."""
        tables, config = self._tables, self.project.config.resolve()
        tables.own = set()
        if isinstance(entry, Entry):
            elsewhere = found.folder.resolve() != config.parent
            return tables.of(
                name, entry, found.folder, elsewhere=elsewhere, starts_there=found.scope.startswith("project")
            )

        def keep(what: str, secret: str) -> str:
            return tables.keep(secret, f"{name}_{what}")

        return mce.table(entry, found.file, config, keep, lambda text: tables.read(text, found.folder))

    def write(self) -> None:
        """Write the secrets, then the servers. One that the configuration refuses becomes unusable, and the others go
        on.

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


def _is_own(name: str, entry: Entry) -> bool:
    """Whether an entry starts Doorward, or has its name and a URL on this machine."""
    if entry.command:
        return starts_doorward(entry.command)
    host = urlsplit(entry.url).hostname or ""
    return "doorward" in name.lower() and (host in ("localhost", "::1") or host.startswith("127."))


def printable(text: str) -> str:
    """Untrusted text in one line, without terminal controls and invisible characters."""
    return " ".join(clean_text(text).split())[:200]
