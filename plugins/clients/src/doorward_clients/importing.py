"""`doorward import`: takes the servers of MCP clients over into doorward.toml."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from doorward.values import clean_text
from doorward_cli import Project, block, common, compile_now, note, print_json, say, table

from doorward_clients.clients import CLIENTS, Machine
from doorward_clients.planning import Plan, Step, printable
from doorward_clients.search import FOLDER, Search

MAX_LINE = 2_000
"""Characters of what is said of a setting that is not taken over: a line to copy."""


@click.command("import")
@common
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--client",
    "clients",
    multiple=True,
    type=click.Choice(list(CLIENTS)),
    help="Only this client's files; may be repeated.",
)
@click.option("--all", "everything", is_flag=True, help="Also the servers that Claude Code has for other projects.")
@click.option("--dry-run", "--print", "dry_run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--force", is_flag=True, help="Replace servers of the same name that differ.")
@click.option("--yes", is_flag=True, help="Do not ask, also where a server would get a variable that is set already.")
@click.option("--compile", "compile_too", is_flag=True, help="Compile what was added: this starts those servers.")
def import_(
    project: Project,
    files: tuple[Path, ...],
    clients: tuple[str, ...],
    everything: bool,
    dry_run: bool,
    force: bool,
    yes: bool,
    compile_too: bool,
) -> int:
    """Take over the servers of MCP clients into the configuration: those of FILES, or of all clients on this machine
    and in this project.

    Any JSON, JSONC or TOML file with `mcpServers`, `servers`, `context_servers`, `mcp_servers` or `mcp` will do, and
    `swaggers.yaml` of MCE. Secrets in them are copied to .env; the configuration refers to them. Nothing of the
    clients is changed: `doorward connect CLIENT --move` also takes the servers out there. What is not taken over is
    listed. Ends with 1 if something could not be read or used, or a list of allowed domains was left out.
    """
    search, plan = planned(project, files, clients, everything=everything, force=force)
    return carry_out(plan, search, dry_run=dry_run, yes=yes, compile_too=compile_too)


def planned(
    project: Project, files: Sequence[Path], clients: Sequence[str], *, everything: bool = False, force: bool = False
) -> tuple[Search, Plan]:
    """Search for servers, and plan their import. Raises: ConfigError."""
    machine = Machine.here()
    search = Search(machine, everything)
    for file in files:
        search.file(file)
    if clients or not files:
        search.clients([CLIENTS[name] for name in clients] or list(CLIENTS.values()))
    if not clients and not files:
        search.folder(machine.home / FOLDER)
    plan = Plan(project, machine.home, force=force)
    plan.add(search.servers)
    return search, plan


def carry_out(
    plan: Plan,
    search: Search,
    *,
    dry_run: bool,
    yes: bool,
    compile_too: bool,
    quiet: bool = False,
    next_step: str = "\nNext: doorward compile, then doorward connect CLIENT",
) -> int:
    """Show a plan, ask, write, and say what to do next. Returns: the exit code. Raises: ConfigError."""
    project, ask = plan.project, not yes and at_a_terminal() and not plan.project.json
    if not (ask or yes or dry_run):
        plan.leave()
    if not project.json:
        _show(plan, search)
    if plan.written and not dry_run:
        if ask:
            click.confirm(f"Write {_servers(len(plan.written))} to {project.config}?", default=True, abort=True)
        plan.write()
    if project.json and not quiet:
        print_json(_as_json(plan, search, dry_run))
    elif not project.json:
        _tell(plan, dry_run, next_step)
    failed = (
        bool(search.problems)
        or any(each.guards for each in search.left_out)
        or any(step.action in ("unusable", "unasked") for step in plan.steps)
    )
    if compile_too and plan.written and not dry_run:
        failed = bool(compile_now(project, tuple(step.name for step in plan.written))) or failed
    return 1 if failed else 0


def at_a_terminal() -> bool:
    """Whether a person is there to answer questions."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _show(plan: Plan, search: Search) -> None:
    """Show the servers that were found, what each starts or where it is, and what will happen to it."""
    if plan.steps:
        rows = [
            (
                printable(s.found.name),
                printable(s.found.origin),
                place(s.found.file),
                _target(s),
                printable("; ".join([s.why, *s.notes])),
            )
            for s in plan.steps
        ]
        table(["server", "client", "file", "is", ""], rows)
    if uses := list(_uses(plan)):
        say("\nWhat these servers would get:")
        table(
            ["variable", "", "server", "where", "goes to"],
            [(u["variable"], u["is"], u["server"], u["where"], u["to"]) for u in uses],
        )
    for problem in search.problems:
        say(f"warning: {printable(str(problem))}", err=True)
    for setting in search.left_out:
        say(f"warning: {' '.join(clean_text(str(setting)).split())[:MAX_LINE]}", err=True)
    if search.elsewhere:
        note(f"{_servers(search.elsewhere)} of other projects left out; --all takes them")
    if not plan.steps:
        say("no servers were found; `doorward add` adds one")


def _target(step: Step) -> str:
    """The command or URL of a server that is to be written. Its secrets are hidden already."""
    return printable(step.goal if len(step.goal) <= 80 else f"{step.goal[:79]}…")


def _uses(plan: Plan) -> Iterator[dict[str, str]]:
    """Every variable that a planned server refers to: whose value it has, and where that value goes."""
    for step in plan.written:
        taken = plan.taken(step)
        for name, where in step.uses.items():
            whose = "is set already" if name in taken else "to be set" if name in step.asks else "its own"
            yield {
                "variable": printable(name),
                "is": whose,
                "server": step.name,
                "where": printable(where),
                "to": _target(step),
            }


def _tell(plan: Plan, dry_run: bool, next_step: str) -> None:
    """Say what was written, and what to do next."""
    names = [step.name for step in plan.written]
    if not names:
        return
    if dry_run:
        for step in plan.written:
            say(f"\n{block(step.name, step.table or {}).rstrip()}")
    for step in (step for step in plan.steps if step.action == "unusable" and step.name):
        say(f"warning: {step.name} was not written: {printable(step.why)}", err=True)
    secrets = plan.secrets()
    say(
        f"\n{'Would write' if dry_run else 'Wrote'} {_servers(len(names))} to {plan.project.config}: {', '.join(names)}"
    )
    if secrets:
        say(f"{'Would write' if dry_run else 'Wrote'} to {plan.variables.file}: {', '.join(secrets)}")
    for line in (*_still_there(plan, secrets), *_to_set(plan)):
        say(line)
    if not dry_run and next_step:
        say(next_step)


def _still_there(plan: Plan, secrets: Collection[str]) -> Iterator[str]:
    """Where the secrets stand as well: they were copied."""
    files = {step.found.file: step.found.client for step in plan.written if {*step.uses} & {*secrets}}
    names = {client.title: client.name for client in CLIENTS.values()}
    for file, client in files.items():
        move = f": `doorward connect {names[client]} --move` takes these servers out there" if client in names else ""
        yield f"The secrets stand in {place(file)} as well{move}"


def _to_set(plan: Plan) -> Iterator[str]:
    for name, was in plan.wanted.items():
        yield f"{name} has no value yet: set it in {plan.variables.file}" + (
            f" (it was {printable(was)})" if was else ""
        )


def _as_json(plan: Plan, search: Search, dry_run: bool) -> dict[str, Any]:
    """The plan as JSON, for programs. Secrets are named, never shown."""
    return {
        "found": [
            {
                "server": s.found.name,
                "client": s.found.client,
                "scope": s.found.scope,
                "file": str(s.found.file),
                "action": s.action,
                "why": s.why,
            }
            | ({"name": s.name} if s.name else {})
            | ({"notes": list(s.notes)} if s.notes else {})
            for s in plan.steps
        ],
        "servers": {step.name: step.table for step in plan.written},
        "written": [] if dry_run else [step.name for step in plan.written],
        "variables": list(plan.secrets()),
        "to_set": plan.wanted,
        "uses": list(_uses(plan)),
        "problems": [str(problem) for problem in search.problems],
        "left_out": [str(setting) for setting in search.left_out],
    }


def _servers(count: int) -> str:
    return f"{count} server{'' if count == 1 else 's'}"


def place(file: Path) -> str:
    """A path as people write it, with `~` for the home folder."""
    try:
        return printable(f"~/{file.relative_to(Path.home()).as_posix()}")
    except ValueError:
        return printable(str(file))
