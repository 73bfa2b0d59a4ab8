"""Runs: the last ones of this process, and those that are stored; one with its program, its calls and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError, InvalidArguments, UnknownName, log

from doorward_console.panel import Found, Moved, Question

if TYPE_CHECKING:
    from doorward_durable_runs import StoredRun, StoredRuns, UndoesRuns

    from doorward_console.recent import RecentRun

PER_PAGE = 50
_STATES = ("running", "waiting", "ok", "failed", "interrupted", "died")
_GOING_ON: set[asyncio.Task[Any]] = set()


async def view(question: Question) -> Found:
    """The runs that fit; or one of them."""
    if question.rest:
        found = await _one(question)
        return Found(found, "doorward_console/run.html", live=found["run"]["state"] == "running")
    query = question.query
    rows = {each.run: _recent_row(each) for each in question.recent.all(question.visitor.whose)}
    for run, row in (await _stored_rows(question)).items():
        rows[run] = rows.get(run, {}) | row
    wanted = [row for row in rows.values() if _fits(row, query)]
    wanted.sort(key=lambda row: row["started"], reverse=True)
    page = int(query["page"]) if query.get("page", "").isdecimal() else 1
    shown = wanted[(page - 1) * PER_PAGE : page * PER_PAGE]
    return Found(
        {
            "runs": shown, "total": len(wanted), "page": page, "more": len(wanted) > page * PER_PAGE,
            "states": [*_STATES], "filters": {key: query.get(key, "") for key in ("state", "principal", "text")},
        },
        live=not any(query.values()),
    )  # fmt: skip


async def post(question: Question) -> Moved:
    """Let a run go on, or give it up."""
    stored = _service(question)
    run, what = question.rest, question.form.get("do", "")
    if stored is None or not await stored_run(question, run):
        raise UnknownName("there is no such stored run")
    if what == "resume":
        _in_background(stored.resume(run, principal=question.visitor.whose))
        return Moved(f"runs/{run}", "resumed")
    if what == "undo" and (undoes := _undoes(question)) is not None:
        _in_background(undoes.undo(run))
        return Moved(f"runs/{run}", "undoing")
    if what == "cancel":
        await stored.journals.give_up(run, question.visitor.whose)
        return Moved(f"runs/{run}", "cancelled")
    raise InvalidArguments("a run can be resumed, given up or, by an operator, undone")


async def stored_run(question: Question, run: str) -> dict[str, Any]:
    """What is stored of a run that the visitor may see, with its calls; empty if there is nothing."""
    stored = _service(question)
    if stored is None:
        return {}
    from doorward_durable_runs import run_calls, run_state

    try:
        found = await stored.journals.store.show(run, question.visitor.whose)
        calls = run_calls(found)
    except DoorwardError:
        return {}
    given = found.given
    return _stored_row(found) | {
        "code": given.code, "params": dict(given.params), "made": calls, "in_words": run_state(found),
        "can_resume": not found.lost and found.state in ("waiting", "interrupted", "died") and found.for_ != "plan",
        "can_cancel": found.state in ("waiting", "interrupted", "died") and found.for_ != "plan",
        "wrote": any(each["ended"].startswith("ok") for each in calls),
    }  # fmt: skip


def _service(question: Question) -> StoredRuns | None:
    try:
        from doorward_durable_runs import STORED_RUNS
    except ModuleNotFoundError:
        return None
    return question.gateway.services.get(STORED_RUNS)


def _undoes(question: Question) -> UndoesRuns | None:
    """Who undoes runs: for operators alone."""
    if not question.visitor.is_operator:
        return None
    try:
        from doorward_durable_runs import UNDOES
    except ModuleNotFoundError:
        return None
    return question.gateway.services.get(UNDOES)


async def _undo_steps(question: Question) -> dict[str, Any]:
    """What an undo would do, if anything can be undone."""
    undoes = _undoes(question)
    try:
        return await undoes.steps(question.rest) if undoes is not None else {}
    except DoorwardError:
        return {}


async def _stored_rows(question: Question) -> dict[str, dict[str, Any]]:
    stored = _service(question)
    if stored is None:
        return {}
    try:
        found = await stored.journals.store.all(question.visitor.whose)
    except DoorwardError as error:
        log.warning("stored_runs_not_listed", why=str(error))
        return {}
    return {each.given.run: _stored_row(each) for each in found}


def _stored_row(stored: StoredRun) -> dict[str, Any]:
    given = stored.given
    state = ("ok" if stored.ok else "failed") if stored.state == "ended" else stored.state
    return {
        "run": given.run, "principal": given.principal, "description": given.about, "started": given.created,
        "state": state, "waits": [*stored.what], "stored": True,
    }  # fmt: skip


def _recent_row(run: RecentRun) -> dict[str, Any]:
    return {
        "run": run.run, "principal": run.principal, "description": run.description or _first_line(run.code),
        "started": run.started, "state": run.state, "waits": [*run.waits], "ms": run.ms, "servers": run.servers,
        "calls": len(run.calls) + run.more_calls, "error": run.error, "stored": False,
    }  # fmt: skip


def _first_line(code: str) -> str:
    return next((line.strip() for line in code.splitlines() if line.strip()), "")[:200]


def _fits(row: dict[str, Any], query: Any) -> bool:
    state, principal, text = (query.get(key, "") for key in ("state", "principal", "text"))
    words = " ".join(map(str, (row["description"], row["run"], row.get("error", ""), *row.get("servers", ()))))
    return (
        (not state or row["state"] == state)
        and (not principal or row["principal"] == principal)
        and text.casefold() in words.casefold()
    )


async def _one(question: Question) -> dict[str, Any]:
    recent, stored = question.recent.find(question.rest), await stored_run(question, question.rest)
    if recent is not None and not question.visitor.sees(recent.principal):
        recent = None
    if recent is None and not stored:
        raise UnknownName(
            "there is no such run (any more)", hint="[runs] of the configuration says when runs are stored."
        )
    about = (_recent_row(recent) if recent else {}) | {key: stored[key] for key in stored if key in _ABOUT}
    found: dict[str, Any] = {
        "run": about, "code": recent.code if recent else stored["code"], "line": recent.line if recent else None,
        "bars": bars(recent) if recent else [], "more_calls": recent.more_calls if recent else 0,
        "printed": recent.printed if recent else "", "value": recent.value if recent else "",
        "hint": recent.hint if recent else "", "executor": recent.executor if recent else "",
        "made": stored.get("made", []), "params": stored.get("params", {}), "in_words": stored.get("in_words", ""),
    }  # fmt: skip
    found["undo"] = await _undo_steps(question) if stored else {}
    return found | {key: stored.get(key, False) for key in ("can_resume", "can_cancel", "wrote")}


_ABOUT = ("run", "principal", "description", "started", "state", "waits", "stored")


def bars(run: RecentRun) -> list[dict[str, Any]]:
    """The calls of a run as bars of a timeline that is 1,000 wide."""
    whole = max([run.ms, 1.0, *(call.at + call.ms for call in run.calls)])
    return [
        {
            "function": call.function, "ms": call.ms, "at": call.at, "error": call.error, "decision": call.decision,
            "rule": call.rule, "ok": call.ok, "bytes_out": call.bytes_out, "bytes_in": call.bytes_in,
            "x": round(call.at / whole * 1000, 1), "width": max(4.0, round(call.ms / whole * 1000, 1)),
            "kind": "failed" if not call.ok else "asked" if call.decision == "confirm" else "ok",
        }
        for call in run.calls
    ]  # fmt: skip


def _in_background(work: Coroutine[Any, Any, Any]) -> None:
    """A run that goes on does so whether its page is looked at or not."""
    task = asyncio.ensure_future(work)
    _GOING_ON.add(task)
    task.add_done_callback(_ended)


def _ended(task: asyncio.Task[Any]) -> None:
    _GOING_ON.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("run_not_resumed", why=type(error).__name__)
