"""`doorward setup`: the guided first set-up, which does what `init`, `import`,
`compile` and `connect` do one by one."""

from __future__ import annotations

from pathlib import Path

import click
from doorward import ConfigError
from doorward.commands import Project, begin, client_command, common, compile_now, say, servers_of

from doorward_clients.clients import CLIENTS, Client, Machine
from doorward_clients.connect import connected, here
from doorward_clients.document import read
from doorward_clients.importing import at_a_terminal, carry_out, place, planned
from doorward_clients.planning import printable


@click.command()
@common
@click.option(
    "--connect",
    "clients",
    multiple=True,
    type=click.Choice(list(CLIENTS)),
    help="Connect this client, without asking; repeatable.",
)
@click.option("--yes", is_flag=True, help="Ask nothing: take over every server, and connect only what --connect names.")
def setup(project: Project, clients: tuple[str, ...], yes: bool) -> int:
    """Set up Doorward: take over the servers that MCP clients have, compile them, and connect the clients.

    It asks before each step, and may be run again. Compiling starts the servers that were taken over.
    """
    asks = not yes
    if asks and (project.json or not at_a_terminal()):
        raise click.UsageError("there is nobody to ask: --yes takes over and starts every server that was found")
    search, plan = planned(project, (), ())
    code = carry_out(plan, search, dry_run=False, yes=not asks, compile_too=False)
    if not project.config.exists():
        for file in begin(project):
            say(f"wrote {file}", err=project.json)
    if servers_of(project):
        code = compile_now(project, ()) or code
    for client, scope, file in here(Machine.here()):
        if scope == "global":
            try:
                say(_connect(project, client, file, wanted=client.name in clients, asks=asks), err=project.json)
            except ConfigError as error:
                say(f"warning: {printable(str(error))}", err=True)
                code = 1
    return code


def _connect(project: Project, client: Client, file: Path, *, wanted: bool, asks: bool) -> str:
    """Connect a client, if the user wants that. Returns: what was done. Raises: ConfigError."""
    before = read(file)
    after = connected(before, client, "doorward", client.entry(client_command(project.config), None))
    if after.data == before.data:
        return f"{client.title} is connected already"
    if wanted or (asks and click.confirm(f"Connect {client.title} ({place(file)})?", default=False)):
        after.save()
        return f"{client.title} is connected: {place(file)}"
    return f"To connect {client.title}: doorward connect {client.name}"
