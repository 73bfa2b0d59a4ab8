"""The search for servers in the configurations of clients. What it finds is not yet parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doorward import ConfigError

from doorward_clients import gateways, mce
from doorward_clients.clients import CLIENTS, Client, Machine
from doorward_clients.document import Document, read
from doorward_clients.left_out import LeftOut, beside_servers

_KNOWN_KEYS = (("mcpServers",), ("servers",), ("context_servers",), ("mcp_servers",), ("mcp", "servers"), ("mcp",))
"""Keys under which servers may stand in a file of an unknown client."""

FOLDER = "MCPs"
"""The folder of the home in which another gateway has one file for some servers each."""

MAX_FILES = 200
"""Files of that folder that are read."""


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server as it stands in a file. `folder` is the project for which the client starts it."""

    name: str
    raw: Any
    client: str
    file: Path
    scope: str
    folder: Path

    @property
    def origin(self) -> str:
        return f"{self.client}, {self.scope}" if self.scope != "file" else self.client


@dataclass(slots=True)
class Search:
    """The servers that were found, and the problems. Of two servers with the same name and client, the first counts."""

    machine: Machine
    everything: bool = False
    """Also the servers of other projects, which Claude Code keeps in its one file."""
    servers: list[FoundServer] = field(default_factory=list)
    problems: list[ConfigError] = field(default_factory=list)
    elsewhere: int = 0
    """Servers of other projects that were left out."""
    left_out: list[LeftOut] = field(default_factory=list)
    """Settings beside the servers, which are not taken over."""
    _seen: set[Path] = field(default_factory=set)

    def clients(self, clients: Iterable[Client], scopes: Sequence[str] = ("project", "global")) -> None:
        """Search the files of these clients, in this project and on this machine."""
        for client in clients:
            for scope in scopes:
                for file in client.files(self.machine, scope):
                    self._look(file, client, scope)

    def file(self, file: Path) -> None:
        """Search one file, which must exist: that of a known client, or any other that holds servers."""
        if not file.exists():
            self.problems.append(ConfigError("there is no such file", place=str(file)))
            return
        whose = {
            path.resolve(): (c, scope)
            for c in CLIENTS.values()
            for scope in ("project", "global")
            for path in c.files(self.machine, scope)
        }
        client, scope = whose.get(file.resolve(), (None, "file"))
        found = len(self.servers) + len(self.problems) + self.elsewhere
        if file.resolve() not in self._seen:
            self._look(file, client, scope)
            if len(self.servers) + len(self.problems) + self.elsewhere == found:
                self.problems.append(ConfigError("holds no servers", place=str(file)))

    def folder(self, folder: Path) -> None:
        """Search the JSON files of a folder that hold `mcpServers`; the others are something else."""
        for file in sorted(folder.glob("*.json"))[:MAX_FILES]:
            with suppress(ConfigError, OSError):
                if file.resolve() not in self._seen and read(file).has(("mcpServers",)):
                    self._look(file, None, "file")

    def _look(self, file: Path, client: Client | None, scope: str) -> None:
        try:
            if not file.exists() or file.resolve() in self._seen:
                return
            self._seen.add(file.resolve())
            if file.suffix.lower() in (".yaml", ".yml"):
                data = mce.read(file)
                self.servers += [self._found(name, raw, mce.TITLE, file, scope) for name, raw in mce.entries(data)]
                self.left_out += [
                    *beside_servers(data, "servers", str(file)),
                    *mce.settings(file.resolve(), self.machine.environ),
                ]
                return
            document = read(file)
            if client is None:
                self._unknown(document)
            else:
                if client.name == "claude-code":
                    self._projects(document, client)
                self.table(document.has(client.keys), client.title, file, scope)
                if "mcp" in file.name:  # else it holds the client's own settings, too
                    self.left_out += beside_servers(document.data, client.keys[0], str(file))
        except (ConfigError, OSError) as error:
            self.problems.append(error if isinstance(error, ConfigError) else ConfigError(str(error), place=str(file)))

    def _found(
        self, name: str, raw: Any, client: str, file: Path, scope: str, folder: Path | None = None
    ) -> FoundServer:
        return FoundServer(
            name,
            raw,
            client,
            file,
            scope,
            folder or (file.resolve().parent if scope == "file" else self.machine.project),
        )

    def table(self, table: Any, client: str, file: Path, scope: str, folder: Path | None = None) -> None:
        """Add all servers of a table. Raises: ConfigError if it is no table."""
        if table is None:
            return
        if not isinstance(table, Mapping):
            raise ConfigError("the place of the servers does not hold a table", place=str(file))
        self.servers += [self._found(name, raw, client, file, scope, folder) for name, raw in table.items()]
        self.left_out += [setting for raw in table.values() for setting in gateways.settings(raw, str(file))]

    def _projects(self, document: Document, client: Client) -> None:
        """Add the servers that Claude Code keeps for single projects (its scope `local`)."""
        for folder, about in _items(document.has(("projects",))):
            table = about.get(client.keys[0]) if isinstance(about, Mapping) else None
            if not isinstance(table, Mapping) or not table:
                continue
            if here := Path(folder) == self.machine.project or self.everything:
                scope = "project" if Path(folder) == self.machine.project else f"project {folder}"
                self.table(table, client.title, document.file, scope, Path(folder))
            self.elsewhere += 0 if here else len(table)

    def _unknown(self, document: Document) -> None:
        """Add the servers of an unknown client's file. Raises: ConfigError if it holds none."""
        for keys in _KNOWN_KEYS:
            if isinstance(table := document.has(keys), Mapping):
                plausible = {name: raw for name, raw in table.items() if keys != ("mcp",) or isinstance(raw, Mapping)}
                self.table(plausible, document.file.name, document.file, "file")
                self.left_out += beside_servers(document.data, keys[0], str(document.file))
                if keys == ("mcpServers",):
                    self._projects(document, CLIENTS["claude-code"])
                return
        self.left_out += beside_servers(document.data, "", str(document.file))
        raise ConfigError(
            "holds no servers",
            place=str(document.file),
            hint="Looked for: " + ", ".join(".".join(keys) for keys in _KNOWN_KEYS),
        )


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    return iter(value.items() if isinstance(value, Mapping) else ())
