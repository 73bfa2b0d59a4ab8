"""`doorward setup`: the guided first set-up, which does what `init`, `import`,
`compile` and `connect --move` do one by one, and asks what else matters."""

from __future__ import annotations

from pathlib import Path

import anyio
import click
from doorward import ConfigError
from doorward_cli import Project, begin, client_command, common, compile_now, note, say, servers_of

from doorward_clients import questions
from doorward_clients.clients import CLIENTS, Client, Machine
from doorward_clients.connect import connected, here, without_taken
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
@click.option(
    "--move", is_flag=True, help="Take servers that Doorward has out of the clients that are connected, without asking."
)
@click.option("--reset", is_flag=True, help="Begin with a new configuration; a copy of the one that is there is kept.")
@click.option("--yes", is_flag=True, help="Ask nothing: take over every server, and connect only what --connect names.")
def setup(project: Project, clients: tuple[str, ...], move: bool, reset: bool, yes: bool) -> int:
    """Set up Doorward: choose where programs run, their limits, their model and what waits for a person; take over the
    servers that MCP clients have, compile them, run a first program, connect the clients, and take those servers out
    there.

    It asks before each step, and may be run again. Compiling starts the servers that were taken over.
    """
    asks = not yes
    if asks and (project.json or not at_a_terminal()):
        raise click.UsageError("there is nobody to ask: --yes takes over and starts every server that was found")
    new = reset or not project.config.exists()
    if new:
        for file in begin(project, lambda line: say(line, err=project.json)):
            say(f"wrote {file}", err=project.json)
    if asks:
        say(questions.summary(project))
        if click.confirm("Change where programs run, their limits, model and safety?", default=False):
            questions.ask(project)
        questions.ask_apis(project)
    search, plan = planned(project, (), ())
    code = carry_out(plan, search, dry_run=False, yes=not asks, compile_too=False, next_step="")
    if servers_of(project):
        code = compile_now(project, (), snippet=False) or code
    ours: set[str] = set()
    for client, scope, file in here(Machine.here()):
        try:
            if scope == "global" and _connect(project, client, file, wanted=client.name in clients, asks=asks):
                ours.add(client.name)
            if client.name in ours and (move or asks):
                _take_out(project, client, scope, file, asks=not move, well=not code)
        except ConfigError as error:
            say(f"warning: {printable(str(error))}", err=True)
            code = 1
    anyio.run(_first_program, project, not code)
    return code


async def _first_program(project: Project, well: bool) -> None:
    """Run a program that needs no server, so that a sandbox that does not work is seen now and not by an agent; and say
    what is next. `well`: nothing else is wrong."""
    async with project.gateway(ready=False) as gate:
        outcome = await gate.execute("result = 6 * 7")
    if outcome.error is not None:
        say(f"warning: a first program failed: {outcome.error.message}\nNext: doorward doctor says why", err=True)
        return
    step = (
        "start your client again and ask your agent, or doorward search WORDS" if well else "doorward doctor says why"
    )
    note(f"A first program ran in {outcome.executor}.\nNext: {step}")


def _connect(project: Project, client: Client, file: Path, *, wanted: bool, asks: bool) -> bool:
    """Connect a client, if the user wants that. Returns: whether it is connected. Raises: ConfigError."""
    before = read(file)
    after = connected(before, client, "doorward", client.entry(client_command(project.config), None))
    if after.data == before.data:
        said = f"{client.title} is connected already"
    elif wanted or (asks and click.confirm(f"Connect {client.title} ({place(file)})?", default=True)):
        after.save()
        said = f"{client.title} is connected: {place(file)}"
    else:
        say(f"To connect {client.title}: doorward connect {client.name}", err=project.json)
        return False
    say(said, err=project.json)
    return True


def _take_out(project: Project, client: Client, scope: str, file: Path, *, asks: bool, well: bool) -> None:
    """Take the servers that Doorward has out of a client's file, if the user wants that. `well`: all of them compile.
    Raises: ConfigError."""
    after, names = without_taken(project, Machine.here(), client, read(file), scope)
    if not names:
        return
    listed = ", ".join(map(printable, names))
    if asks and not click.confirm(
        f"Doorward has {listed}: take them out of {client.title} ({place(file)})?", default=well
    ):
        return
    copy = after.save()
    say(
        f"{client.title} reaches {listed} through Doorward alone; {place(file)} as it was: {copy and copy.name}",
        err=project.json,
    )
    say("That copy still has what was taken out, secrets too: delete it once all works", err=project.json)
