"""`doorward cache`: the programs that `run_cached_code` knows by an id, for the operator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import anyio
import click
from doorward import Gateway, UnknownName
from doorward.sandboxing import CachedProgram, json_type
from doorward_cli import Project, common, note, print_json, say, table

from doorward_cache_sqlite.kept_programs import KeptPrograms
from doorward_cache_sqlite.plugin import KEPT

T = TypeVar("T")

IDS = {"ignore_unknown_options": True}
"""The settings of a command with ids, which may begin with a dash."""


@click.group()
def cache() -> None:
    """Programs that worked, which agents run again with `run_cached_code`."""


@cache.command("list")
@common
@click.option("--principal", metavar="NAME", help="Of this principal alone.")
def list_(project: Project, principal: str | None) -> None:
    """List them, those used last first."""
    found = with_kept(project, lambda kept, gate: kept.all(principal))
    if project.json:
        print_json({"programs": [described(each) for each in found]})
    elif found:
        table(["id", "principal", "kept", "parameters", "about"], [_row(each) for each in found])
    else:
        note("no program is kept: one that succeeds is, for an hour after its last use")


@cache.command(context_settings=IDS)
@common
@click.argument("cache_id")
def show(project: Project, cache_id: str) -> None:
    """Show the program CACHE_ID, its parameters, and what it calls."""
    kept = with_kept(project, lambda kept, gate: find(kept, cache_id))
    if project.json:
        print_json(described(kept) | {"code": kept.code})
        return
    shown = described(kept)
    say(f"{cache_id} of {kept.principal}, kept {shown['kept']}: {kept.description or 'no description'}")
    for name, value in kept.params.items():
        say(f"  parameter {name}: {json_type(value)}")
    for function in kept.uses:
        say(f"  calls {function}")
    say(f"\n{kept.code.strip()}")


@cache.command(context_settings=IDS)
@common
@click.argument("cache_ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="All that are kept, of all principals.")
def forget(project: Project, cache_ids: tuple[str, ...], everything: bool) -> None:
    """Forget the programs CACHE_IDS. Saved programs stay."""
    if everything == bool(cache_ids):
        raise click.UsageError("say which: ids of programs, or --all")

    async def remove(kept: KeptPrograms, gate: Gateway) -> list[str]:
        found = await kept.all() if everything else [await find(kept, each) for each in cache_ids]
        for program in found:
            await kept.forget(program)
        return [program.cache_id for program in found]

    forgotten = with_kept(project, remove)
    if project.json:
        print_json({"forgotten": forgotten})
    else:
        say("\n".join(f"{each} is forgotten" for each in forgotten) or "nothing was kept")


def with_kept(
    project: Project,
    work: Callable[[KeptPrograms, Gateway], Awaitable[T]],
    *,
    ready: bool = False,
    record: bool = False,
) -> T:
    """What `work` does with the kept programs of a gateway, which records runs (`record`)."""

    async def at_work() -> T:
        always = {"runs": {"durable": "always"}} if record else None
        async with project.gateway(project.load(options=always), ready=ready) as gate:
            return await work(gate.services[KEPT], gate)

    return anyio.run(at_work)


async def find(kept: KeptPrograms, cache_id: str) -> CachedProgram:
    """The program of this id, whosever it is. Raises: UnknownName."""
    for program in await kept.all():
        if program.cache_id == cache_id:
            return program
    raise UnknownName(f"there is no kept program {cache_id[:80]!r} (any more)", hint="See doorward cache list.")


def described(program: CachedProgram) -> dict[str, Any]:
    """A program for `--json`."""
    kept = datetime.fromtimestamp(program.created, UTC).isoformat(timespec="seconds")
    return {
        "cache_id": program.cache_id,
        "principal": program.principal,
        "kept": kept,
        "description": program.description,
        "params": {**program.params},
        "calls": [*program.uses],
        "language": program.language,
    }


def _row(program: CachedProgram) -> Sequence[object]:
    said = described(program)
    first = next((line for line in program.code.splitlines() if line.strip()), "")
    return program.cache_id, program.principal, said["kept"], " ".join(program.params), program.description or first
