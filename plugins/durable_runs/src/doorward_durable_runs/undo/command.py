"""`doorward runs undo`: undoes the writes of a stored run, by the inverses that the configuration declares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio
import click
from doorward.texts import visible
from doorward_cli import EXIT_CODES, Project, common, described, note, print_json, say, table

from doorward_durable_runs.stored_runs import STORED_RUNS
from doorward_durable_runs.undo.steps import Steps
from doorward_durable_runs.undo.undoes import Undoes, steps_as_json
from doorward_durable_runs.undo.undoing import Undoing, Undone

if TYPE_CHECKING:
    from doorward_durable_runs.undo.steps import Step


@click.command()
@common
@click.argument("run")
@click.option("--dry-run", is_flag=True, help="Only say what would be undone.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--principal", metavar="NAME", help="Whose calls these are, if not those of the run's principal.")
@click.option("--done", type=int, multiple=True, metavar="N", help="You have looked: call N is undone.")
@click.option("--again", type=int, multiple=True, metavar="N", help="You have looked: call N is not undone yet.")
def undo(
    project: Project,
    run: str,
    dry_run: bool,
    yes: bool,
    principal: str | None,
    done: tuple[int, ...],
    again: tuple[int, ...],
) -> int:
    """Undo what RUN wrote, the last write first, each once. It stops at the first failure.

    The calls for it pass policy, limits, approvals and audit as all others do. A run that waits cannot be resumed
    afterwards.
    """
    if project.json and not (yes or dry_run):
        raise click.UsageError("--json does not ask: add --yes or --dry-run")
    looked = {**dict.fromkeys(done, True), **dict.fromkeys(again, False)}
    if dry_run and looked:
        raise click.UsageError("--dry-run keeps nothing: leave --done and --again out")
    return anyio.run(_undo, project, run, dry_run, yes, principal, looked)


async def _undo(
    project: Project, run: str, dry_run: bool, yes: bool, principal: str | None, looked: Mapping[int, bool]
) -> int:
    async with project.gateway(project.load()) as gate:
        store = gate.services[STORED_RUNS].journals.store
        stored = await store.show(run)
        whose = principal or stored.given.principal
        known = Undoes(gate).known(whose)
        if dry_run:
            steps = Steps.of(stored, known)
            print_json(steps_as_json(run, steps)) if project.json else _show(steps)
            return 0
        undoing = await Undoing.of(store, run, known)
        try:
            for place, made in looked.items():
                await undoing.answer(place, made=made)
            if not project.json:
                _show(undoing.all)
            if any(step.stands != "undone" for step in undoing.all.steps):
                if not yes:
                    click.confirm(f"Make these calls as {whose}?", abort=True, err=True)
                found = await undoing.undo(lambda name, given: gate.call(name, given, principal=whose))
            else:
                found = Undone()
        finally:
            await undoing.close()
    return _tell(project, run, undoing.all, found)


def _show(steps: Steps) -> None:
    if steps.steps:
        rows = [(step.place, step.stands, visible(step.made), visible(_call(step))) for step in steps.steps]
        table(["call", "stands", "made", "undone by"], rows)
    else:
        note("no call of this run can be undone")
    if steps.kept:
        say("\nNot undone:")
        table(["call", "made", "why"], [(each.place, visible(each.made), visible(each.why)) for each in steps.kept])


def _tell(project: Project, run: str, steps: Steps, found: Undone) -> int:
    if project.json:
        print_json(steps_as_json(run, steps, found, described))
    else:
        if found.done:
            say(f"undone: {', '.join(f'call {step.place}' for step in found.done)}")
        if found.error is not None and found.failed is not None:
            hint = f"\n    {found.error.hint}" if found.error.hint else ""
            say(f"call {found.failed.place} is not undone: {described(found.error)['message']}{hint}", err=True)
            say(f"left: {', '.join(f'call {step.place}' for step in found.left)}; --dry-run shows them", err=True)
    return 0 if found.error is None else EXIT_CODES.get(found.error.kind, 1)


def _call(step: Step) -> str:
    return f"{step.call} {json.dumps(step.arguments, ensure_ascii=False)}"
