"""`doorward runs`: the stored runs, for operators who ask what happened, let one go on, or play it again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
import click
from doorward_cli import Project, Stored, common, note, print_json, say, table, tell

from doorward_durable_runs.run_in_words import run_calls, run_state, run_summary, time_text

if TYPE_CHECKING:
    from doorward import Outcome
    from doorward.configuration import Loaded
    from doorward.engines import Store

    from doorward_durable_runs.journal.journals import Journals
    from doorward_durable_runs.storage.run_store import StoredRun

T = TypeVar("T")


class RunsGroup(click.Group):
    """The commands, which also tell `doorward upgrade` of stored runs."""

    async def stored_checks(self, loaded: Loaded, store: Store | None) -> AsyncIterator[Stored]:
        """Whether each stored run can be read to its end. Raises: StateError, ConfigError."""
        from doorward_durable_runs.stored_checks import stored_checks

        async for each in stored_checks(loaded, store):
            yield each


@click.group(cls=RunsGroup)
def runs() -> None:
    """Runs that wait, were interrupted, died with their process, or are over: see [runs] in the configuration."""


@runs.command("list")
@common
@click.option("--principal", metavar="NAME", help="Of this principal alone.")
def list_(project: Project, principal: str | None) -> None:
    """List them, the newest first."""
    found, unread = _of(project, lambda journals: _all(journals, principal))
    if project.json:
        print_json({"runs": [run_summary(each) for each in found]} | ({"unread": unread} if unread else {}))
    elif found:
        table(["run", "principal", "state", "created", "about"], [_row(each) for each in found])
    elif not unread:
        note("no runs are stored; [runs] of the configuration says when they are")
    if unread:
        say(f"cannot be read: {unread}, stored with another `vault_key` or without one, or damaged", err=True)


@runs.command()
@common
@click.argument("run")
def show(project: Project, run: str) -> None:
    """Show what RUN was given, its calls in order, and how each ended."""
    stored = _of(project, lambda journals: journals.store.show(run))
    if project.json:
        print_json({**run_summary(stored), "code": stored.given.code, "calls": run_calls(stored)})
        return
    say(f"{run} of {stored.given.principal}: {run_state(stored)}\n\n{stored.given.code.strip()}\n")
    table(["call", "ended", "ms", "function and arguments"], [
        (call["call"], call["ended"], call.get("ms", ""), call["made"]) for call in run_calls(stored)
    ])  # fmt: skip


@runs.command()
@common
@click.argument("run")
@click.option(
    "--unknown",
    type=click.Choice(["repeat", "fail", "made"]),
    help="Of calls whose answers are lost: send them again, let the program know that nobody knows, or they were made.",
)
@click.option("--call", type=int, metavar="N", help="Of this call alone.")
@click.option(
    "--answer", metavar="JSON", help="What a call that was made has answered; without it the program gets null."
)
def resume(
    project: Project, run: str, unknown: Literal["repeat", "fail", "made"] | None, call: int | None, answer: str | None
) -> int:
    """Let RUN go on where it stood, as its principal. No write is made twice.

    Ends as `doorward run` does, with 4 if it waits again.
    """
    if answer is not None and unknown != "made":
        raise click.UsageError("--answer is that of a call of which you say --unknown made")
    if unknown is not None:
        _answer(project, run, call, again=unknown == "repeat", made=(_read(answer),) if unknown == "made" else ())
    return anyio.run(partial(_run, project, run, None))


@runs.command()
@common
@click.argument("run")
def cancel(project: Project, run: str) -> None:
    """Forget RUN: it cannot be resumed any more."""
    _of(project, lambda journals: journals.store.remove(run))
    if project.json:
        print_json({"cancelled": run})
    else:
        say(f"{run} is forgotten")


@runs.command()
@common
@click.argument("run")
@click.option("--code", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="Run this program instead.")
@click.option(
    "--bundle", type=click.Path(path_type=Path, dir_okay=False), help="Write all that is known of it here instead."
)
def replay(project: Project, run: str, code: Path | None, bundle: Path | None) -> int:
    """Run RUN again, on its recorded answers alone: nothing is sent. A call that it has not made then fails.

    --bundle writes a file for a bug report, without credentials; read it before you send it.
    """
    if bundle is None:
        return anyio.run(partial(_run, project, run, "" if code is None else code.read_text(encoding="utf-8"), True))
    from doorward.files import write_file

    from doorward_durable_runs.recordings import recording_of

    stored = _of(project, lambda journals: journals.store.show(run))
    write_file(bundle, recording_of(stored).encode(errors="replace"), private=True)
    say(f"{bundle} is written; read it before you send it to anybody")
    return 0


async def _run(project: Project, run: str, code: str | None, offline: bool = False) -> int:
    from doorward_durable_runs.stored_runs import STORED_RUNS

    async with project.gateway(project.load()) as gate:
        stored = gate.services[STORED_RUNS]
        outcome: Outcome = await (
            stored.replay(run, code=code or None) if offline else stored.resume(run, principal=None)
        )
    return tell(project, outcome)


def _read(answer: str | None) -> Any:
    try:
        return None if answer is None else json.loads(answer)
    except ValueError as error:
        raise click.UsageError(f"--answer is no JSON: {error}") from None


def _answer(project: Project, run: str, call: int | None, **said: Any) -> None:
    if not _of(project, lambda journals: journals.answer(run, place=call, **said)):
        raise click.UsageError(f"the run {run} has no such call whose outcome is unknown")


def _of(project: Project, work: Callable[[Journals], Awaitable[T]]) -> T:
    """What `work` does with the stored runs of a project."""
    from doorward_durable_runs.journal.journals import open_journals

    async def done() -> T:
        async with open_journals(project.load()) as journals:
            return await work(journals)

    return anyio.run(done)


async def _all(journals: Journals, principal: str | None) -> tuple[list[StoredRun], int]:
    return await journals.store.all(principal), await journals.store.unread()


def _row(stored: StoredRun) -> tuple[str, ...]:
    given = stored.given
    about = "; ".join(stored.what) or given.about
    return given.run, given.principal, run_state(stored), time_text(given.created), about
