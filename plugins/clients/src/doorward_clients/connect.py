"""`doorward connect`: puts our entry into the configuration of an MCP client."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from doorward import ConfigError
from doorward.administration import starts_doorward
from doorward_cli import Project, client_command, common, print_json, say, table

from doorward_clients.clients import CLIENTS, Client, Machine
from doorward_clients.document import Document, read
from doorward_clients.entries import parse
from doorward_clients.importing import carry_out, place
from doorward_clients.planning import TAKEN_ACTIONS, Plan, printable
from doorward_clients.search import Search

_OWN_KEYS = {"command", "args", "url", "httpUrl", "serverUrl", "type", "transport", "disabled", "enabled", "source"}
"""Keys of an entry that say how Doorward is started. All others belong to the user, and stay."""


@click.command()
@common
@click.argument("client", required=False, metavar="[CLIENT]", type=click.Choice(list(CLIENTS)))
@click.option("--project", "scope", flag_value="project", help="In the client's configuration of the current folder.")
@click.option(
    "--global",
    "scope",
    flag_value="global",
    default="global",
    help="In its configuration for all folders, which is the default.",
)
@click.option("--name", default="doorward", show_default=True, help="What the entry is called.")
@click.option("--url", help="A Doorward that is served over HTTP; else the client starts one.")
@click.option("--print", "show", is_flag=True, help="Only show what would be written.")
@click.option("--remove", is_flag=True, help="Take the entry out.")
@click.option("--move", is_flag=True, help="Import the client's other servers, and take them out of its configuration.")
@click.option(
    "--yes", is_flag=True, help="With --move: do not ask, also where a server would get a variable that is set already."
)
def connect(
    project: Project,
    client: str | None,
    scope: str,
    name: str,
    url: str | None,
    show: bool,
    remove: bool,
    move: bool,
    yes: bool,
) -> int:
    """Write Doorward into the configuration of CLIENT, or list the clients of this machine.

    The file is changed in this one place, and a copy of it as it was is kept beside it.
    """
    machine = Machine.here()
    if client is None:
        _list(project, machine)
        return 0
    if move and remove:
        raise click.UsageError("--move and --remove exclude each other")
    if url and not re.match(r"https?://\S+$", url):
        raise click.UsageError(f"{url!r} is not an http or https URL")
    chosen = CLIENTS[client]
    before = read(chosen.file(machine, scope))
    if remove:
        return _done(project, chosen, before, without(before, chosen, name, url), show)
    entry = chosen.entry(client_command(project.config), url)
    after, code = _moved(project, machine, chosen, before, scope, show, yes) if move else (before, 0)
    if not url and not show and not project.config.is_file():
        raise ConfigError(
            "there is no such file", place=str(project.config), hint="Run `doorward init` or `doorward import` first."
        )
    return _done(project, chosen, before, connected(after, chosen, name, entry, url), show) or code


def connected(
    document: Document, client: Client, name: str, entry: Mapping[str, Any], url: str | None = None
) -> Document:
    """The document with our entry; the user's additions stay. Raises: ConfigError if another server has this name."""
    keys = (*client.keys, name)
    there = document.has(keys)
    if there is not None and not is_own(there, name, url):
        raise ConfigError(
            "is another server",
            place=f"{document.file} {'.'.join(keys)}",
            hint="--name gives ours another name; --move takes it over.",
        )
    kept = (
        {key: value for key, value in there.items() if key not in _OWN_KEYS and key not in entry}
        if isinstance(there, Mapping)
        else {}
    )
    wanted = {**entry, **kept}
    return document if there == wanted else document.put(keys, wanted)


def without(document: Document, client: Client, name: str, url: str | None = None) -> Document:
    """The document without our entry. Raises: ConfigError if another server has this name."""
    keys = (*client.keys, name)
    there = document.has(keys)
    if there is not None and not is_own(there, name, url):
        raise ConfigError(
            "is another server", place=f"{document.file} {'.'.join(keys)}", hint="--name says what ours is called."
        )
    return document.remove(keys)


def is_own(raw: Any, name: str, url: str | None = None) -> bool:
    """Whether an entry is Doorward: it starts Doorward, has this URL, or has any URL and the name `doorward`."""
    try:
        entry = parse(raw)
    except ValueError:
        return False
    return starts_doorward(entry.command) if entry.command else entry.url == url or name == "doorward"


def _moved(
    project: Project, machine: Machine, client: Client, document: Document, scope: str, show: bool, yes: bool
) -> tuple[Document, int]:
    """The document without the servers that our configuration has now, and the exit code of their import."""
    search = Search(machine)
    search.table(document.has(client.keys), client.title, document.file, scope)
    plan = Plan(project, machine.home)
    plan.add(search.servers)
    code = carry_out(plan, search, dry_run=show, yes=yes, compile_too=False, quiet=project.json)
    for step in plan.steps:
        if step.action in TAKEN_ACTIONS:
            document = document.remove((*client.keys, step.found.name))
    return document, code


def without_taken(
    project: Project, machine: Machine, client: Client, document: Document, scope: str
) -> tuple[Document, list[str]]:
    """The document without the servers that our configuration has already, and their names there."""
    search = Search(machine)
    search.table(document.has(client.keys), client.title, document.file, scope)
    plan = Plan(project, machine.home)
    plan.add(search.servers)
    names = [step.found.name for step in plan.steps if step.action == "there"]
    for name in names:
        document = document.remove((*client.keys, name))
    return document, names


def _done(project: Project, client: Client, before: Document, after: Document, show: bool) -> int:
    """Write or show the document, and say what was done."""
    changed = after.data != before.data
    copy = after.save() if changed and not show else None
    if project.json:
        about = {
            "client": client.name,
            "file": str(after.file),
            "changed": changed and not show,
            "servers": sorted(_servers(after, client)),
        }
        print_json(about | ({"copy": str(copy)} if copy else {}))
    elif show:
        say(f"# {after.file}\n{_shown(after, client)}")
    elif not changed:
        say(f"{after.file} is as it should be already")
    else:
        say(f"wrote {after.file}" + (f"; as it was: {copy.name}" if copy else ""))
        if copy and {*_servers(before, client)} - {*_servers(after, client)}:
            say("That copy still has what was taken out, secrets too: delete it once all works")
        say(f"\nNext: start {client.title} anew")
    return 0


def _shown(document: Document, client: Client) -> str:
    """Our entry as text in the format of the document. Other entries may hold secrets, and are not shown."""
    own = {name: raw for name, raw in _servers(document, client).items() if is_own(raw, name)}
    value: Any = own
    for key in reversed(client.keys):
        value = {key: value}
    if document.file.suffix == ".toml":
        import tomlkit

        return tomlkit.dumps(value).rstrip()
    return json.dumps(value, indent=2, ensure_ascii=False)


def _servers(document: Document, client: Client) -> Mapping[str, Any]:
    found = document.has(client.keys)
    return found if isinstance(found, Mapping) else {}


@dataclass(frozen=True, slots=True)
class _State:
    """A file of a client on this machine, and whether Doorward is in it."""

    client: Client
    scope: str
    document: Document | None
    says: str

    def as_dict(self) -> dict[str, Any]:
        return {"client": self.client.name, "scope": self.scope, "state": self.says} | (
            {"file": str(self.document.file)} if self.document else {}
        )


def _list(project: Project, machine: Machine) -> None:
    """List the clients of this machine, and whether they are connected."""
    states = list(_states(project, machine))
    if project.json:
        print_json({"clients": [state.as_dict() for state in states]})
    elif states:
        rows = [(s.client.name, s.client.title, place(s.document.file) if s.document else "", s.says) for s in states]
        table(["client", "", "file", "connected"], rows)
    else:
        say(f"no client was found; those that are known: {', '.join(CLIENTS)}")


def _states(project: Project, machine: Machine) -> Iterator[_State]:
    mine = client_command(project.config)
    for client, scope, file in here(machine):
        try:
            document = read(file)
        except ConfigError as error:
            yield _State(client, scope, None, printable(str(error)))
            continue
        own = [name for name, raw in _servers(document, client).items() if is_own(raw, name)]
        mine_too = any([*parse(document.has((*client.keys, name))).command] == mine for name in own)
        others = f"with another configuration or a URL: {', '.join(map(printable, own))}"
        yield _State(client, scope, document, "yes" if mine_too else others if own else "no")


def here(machine: Machine) -> Iterator[tuple[Client, str, Path]]:
    """The clients on this machine, as far as their files or folders show, each with its scope and the file to write."""
    for client in CLIENTS.values():
        own = client.file(machine, "global")
        if own.exists() or (own.parent.exists() and own.parent != machine.home):
            yield client, "global", own
        if client.project and (file := client.file(machine, "project")).exists() and file != own:
            yield client, "project", file
