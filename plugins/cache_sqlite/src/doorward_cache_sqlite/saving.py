"""`doorward save`: gives a kept program a name, as a script with a recorded test."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from doorward import Gateway, StateError
from doorward.recording import RECORDINGS
from doorward_cli import Project, common, note, print_json, say

from doorward_cache_sqlite.command import IDS, find, with_kept
from doorward_cache_sqlite.drafts import draft_of
from doorward_cache_sqlite.kept_programs import KeptPrograms

_MAX_SHOWN = 20
"""Calls of a test that are shown before it is saved."""


@click.command(context_settings=IDS)
@common
@click.argument("cache_id")
@click.argument("name")
@click.option("--description", metavar="TEXT", default="", help="What it does, for people and for agents' search.")
@click.option("--record", is_flag=True, help="Run it now, so that its test has answers: this makes its calls.")
@click.option("--force", is_flag=True, help="Replace the saved program of this name.")
@click.option("--yes", is_flag=True, help="Do not ask: save it.")
def save(project: Project, cache_id: str, name: str, description: str, record: bool, force: bool, yes: bool) -> int:
    """Save the kept program CACHE_ID as NAME: a script in the folder `programs` beside the configuration, which agents
    find by search, and run with `run_cached_code`.

    The script is shown before it is saved. Its test has the answers of its last run, if the journal has them ([runs]
    durable = "always"), or of a run now (--record): read them before you share them.
    """

    async def made(kept: KeptPrograms, gate: Gateway) -> dict[str, object]:
        program = await find(kept, cache_id)
        check_somebody_to_ask(project, yes=yes)
        draft = await draft_of(gate, kept.saved, program, name, description, force=force)
        if record:
            gate.services[RECORDINGS]  # what records it is installed
            if (error := (await gate.run_cached(cache_id, principal=program.principal)).error) is not None:
                raise StateError(f"it fails now, and is not saved: {error.message}", hint=error.hint)
            draft = await draft_of(gate, kept.saved, program, name, description, force=force)
        if not project.json:
            show_script(draft.text, draft.calls, recorded=draft.recorded)
        saved = yes or click.confirm(f"Save this as {draft.file}?", default=True)
        if saved:
            draft.save()
        return {
            "saved": str(draft.file) if saved else None, "code": draft.text, "calls": [*draft.calls],
            "recorded": draft.recorded,
        }  # fmt: skip

    told = with_kept(project, made, ready=True, record=record)
    if project.json:
        print_json(told)
    elif told["saved"]:
        note(f"Saved: {told['saved']}\nRun it: doorward programs run {name} --help")
    return 0 if told["saved"] else 1


def check_somebody_to_ask(project: Project, *, yes: bool) -> None:
    """Raises: click.UsageError where a question has nobody to answer it."""
    if not yes and (project.json or not sys.stdin.isatty()):
        raise click.UsageError("there is nobody to ask: --yes saves it")


def show_script(text: str, calls: Sequence[str], *, recorded: bool) -> None:
    """Show a script, and the calls of its test."""
    say(text)
    if recorded:
        note("The test answers these calls as they were answered:")
        more = [f"… and {len(calls) - _MAX_SHOWN} more"] if len(calls) > _MAX_SHOWN else []
        for call in [*calls[:_MAX_SHOWN], *more]:
            note(f"  {call}")
    else:
        note("No run of it is recorded, so it has no test: --record runs it now and records it.")
