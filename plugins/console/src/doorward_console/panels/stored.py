"""What other distributions do with stored runs, where they are installed and in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorward import DoorwardError, Outcome

from doorward_console.panel import Question
from doorward_console.services import service

if TYPE_CHECKING:
    from doorward_cache_sqlite import SavesPrograms
    from doorward_durable_runs import StoredRun, StoredRuns, UndoesRuns


def stored_runs(question: Question) -> StoredRuns | None:
    """What resumes stored runs, and plays them again."""
    return service(question.gateway, "doorward_durable_runs:STORED_RUNS")  # type: ignore[no-any-return]


def undoes(question: Question) -> UndoesRuns | None:
    """Who undoes runs: for operators alone."""
    if not question.visitor.is_operator:
        return None
    return service(question.gateway, "doorward_durable_runs:UNDOES")  # type: ignore[no-any-return]


def saves_programs(question: Question) -> SavesPrograms | None:
    """What saves programs as scripts, beside the configuration: for operators alone."""
    if not question.visitor.is_operator:
        return None
    return service(question.gateway, "doorward_cache_sqlite:SAVES")  # type: ignore[no-any-return]


def stored_row(stored: StoredRun) -> dict[str, Any]:
    """A stored run in a list."""
    given = stored.given
    state = ("ok" if stored.ok else "failed") if stored.state == "ended" else stored.state
    return {
        "run": given.run, "principal": given.principal, "description": given.about, "started": given.created,
        "state": state, "waits": [*stored.what], "stored": True,
    }  # fmt: skip


async def stored_run(question: Question, run: str) -> dict[str, Any]:
    """What is stored of a run that the visitor may see, with its calls; empty if there is nothing."""
    stored = stored_runs(question)
    if stored is None:
        return {}
    from doorward_durable_runs import run_calls, run_state, run_timeline

    try:
        found = await stored.journals.store.show(run)
        calls, timeline = run_calls(found), run_timeline(found)
    except DoorwardError:
        return {}
    given = found.given
    if not question.visitor.sees(given.principal):
        return {}
    return stored_row(found) | {
        "code": given.code, "params": dict(given.params), "made": calls, "timeline": timeline,
        "in_words": run_state(found),
        "can_resume": not found.lost and found.state in ("waiting", "interrupted", "died") and found.for_ != "plan",
        "can_cancel": found.state in ("waiting", "interrupted", "died") and found.for_ != "plan",
        "can_replay": found.state == "ended" and not given.plan,
    }  # fmt: skip


async def stored_outcome(question: Question, run: str, principal: str) -> Outcome | None:
    """How a stored run of a principal ended, if it has."""
    stored = stored_runs(question)
    try:
        return await stored.journals.outcome(run, principal) if stored is not None else None
    except DoorwardError:
        return None
