"""One run: its program, its calls, its files and its end; and what can be done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward import DoorwardError, File, InvalidArguments, Refused, UnknownName, log

from doorward_console.pages import duration
from doorward_console.panel import Found, Moved, Question
from doorward_console.panels.outcomes import as_shown
from doorward_console.panels.run_cost import budgets_of_run, used_by_run
from doorward_console.panels.stored import saves_programs, stored_outcome, stored_run, stored_runs, undoes
from doorward_console.recent import MAX_CALLS, RecentCall, RecentRun, hashed

if TYPE_CHECKING:
    from doorward import Artefact
    from doorward_cache_sqlite import Draft

_ABOUT = ("run", "principal", "description", "started", "state", "waits", "stored")
_OF_CALL = ("function", "ms", "at", "error", "decision", "rule", "ok", "bytes_out", "bytes_in", "retries")
_WAITS = {"asked": "waited for a person", "paced": "paced", "retried": "before repeating"}
"""What a call waited for, in words."""
_GOING_ON: set[asyncio.Task[Any]] = set()


async def view(question: Question) -> Found | File:
    """The run; a file that it left (`ID/files/N`); or the script that its program would be saved as (`ID/save`)."""
    run, _, rest = question.rest.partition("/")
    what, _, which = rest.partition("/")
    if what == "files":
        return await _file(question, run, which)
    if what == "save":
        draft = await _draft(question, run, question.query)
        shown = {"run": run, "name": draft.name, "description": question.query.get("description", "")}
        data = {"file": str(draft.file), "text": draft.text, "calls": [*draft.calls]}
        return Found({**shown, **data, "recorded": draft.recorded}, "doorward_console/save.html")
    if rest:
        raise UnknownName("there is no such page")
    found = await _one(question, run)
    return Found(found, "doorward_console/run.html", live=found["run"]["state"] == "running")


async def post(question: Question) -> Moved | Found:
    """Let a run go on, give it up, play it again, undo it, or save its program."""
    run, what = question.rest, question.form.get("do", "")
    if what == "save":
        draft = await _draft(question, run, question.form)
        draft.save()
        return Moved(f"runs/{run}", "saved")
    stored = stored_runs(question)
    known = await stored_run(question, run)
    if stored is None or not known:
        raise UnknownName("there is no such stored run")
    principal = known["principal"]
    if what == "replay":
        if not known["can_replay"]:
            raise Refused("this run cannot be played again: it has not ended, or is a plan")
        await question.gateway.admission.admit(question.visitor.principal)
        before = await stored_outcome(question, run, principal)
        outcome = await stored.replay(run)
        same = before is not None and (before.ok, before.value) == (outcome.ok, outcome.value)
        return Found({"run": run, "outcome": as_shown(outcome), "same": same}, "doorward_console/replayed.html")
    if what == "resume":
        _in_background(stored.resume(run, principal=principal if question.visitor.whose else None), "run_not_resumed")
        return Moved(f"runs/{run}", "resumed")
    if what == "undo" and (undo := undoes(question)) is not None:
        _in_background(undo.undo(run), "run_not_undone")
        return Moved(f"runs/{run}", "undoing")
    if what == "cancel":
        await stored.journals.give_up(run, principal)
        return Moved(f"runs/{run}", "cancelled")
    raise InvalidArguments("a run can be resumed, played again, given up or, by an operator, undone and saved")


def recent_run(question: Question, run: str) -> RecentRun | None:
    """What this process remembers of a run that the visitor may see."""
    found = question.recent.find(run)
    return found if found is not None and question.visitor.sees(found.principal) else None


def recent_row(run: RecentRun) -> dict[str, Any]:
    """A run in a list."""
    return {
        "run": run.run, "principal": run.principal, "description": run.description or _first_line(run.code),
        "started": run.started, "state": run.state, "waits": [*run.waits], "ms": run.ms, "servers": run.servers,
        "calls": len(run.calls) + run.more_calls, "error": run.error, "stored": False,
    }  # fmt: skip


async def _one(question: Question, run: str) -> dict[str, Any]:
    recent, stored = recent_run(question, run), await stored_run(question, run)
    if recent is None and not stored:
        raise UnknownName(
            "there is no such run (any more)", hint="[runs] of the configuration says when runs are stored."
        )
    about = (recent_row(recent) if recent else {}) | {key: stored[key] for key in stored if key in _ABOUT}
    ended = None if recent else await stored_outcome(question, run, stored["principal"])
    end = as_shown(ended) if ended else {"printed": "", "value": "", "hint": "", "line": None, "error": "", "ms": 0.0}
    if recent is None:
        about |= {"error": end["error"], "ms": end["ms"]}
    drawn, is_rebuilt = recent, False
    if len(timeline := stored.get("timeline", ())) > (len(recent.calls) + recent.more_calls if recent else 0):
        drawn, is_rebuilt = _rebuilt(timeline, about), True  # it began before this process did
    made = [call.function.partition(".")[0] for call in drawn.calls if was_made(call)] if drawn else []
    usage = recent.usage if recent and not is_rebuilt else ended.usage if ended else _used(timeline)
    found: dict[str, Any] = {
        "run": about, "code": recent.code if recent else stored["code"],
        "bars": bars(drawn) if drawn else [], "more_calls": drawn.more_calls if drawn else 0, "is_rebuilt": is_rebuilt,
        "used": used_by_run(question, made, usage),
        "budgets": await budgets_of_run(question, about["principal"], about["started"], {*made}),
        "executor": recent.executor if recent else ended.executor if ended else "",
        "files": [asdict(each) for each in _left(recent, ended)],
        **{key: getattr(recent, key) if recent else end[key] for key in ("printed", "value", "hint", "line")},
        "made": stored.get("made", []), "params": stored.get("params", {}), "in_words": stored.get("in_words", ""),
        "undo": await _undo_steps(question, run) if stored else {},
        "can_save": about["state"] == "ok" and saves_programs(question) is not None,
    }  # fmt: skip
    return found | {key: stored.get(key, False) for key in ("can_resume", "can_cancel", "can_replay")}


def was_made(call: RecentCall) -> bool:
    """Whether a call got as far as its server: it was not refused here, and does not wait for a person."""
    return call.decision != "deny" and (call.decision != "confirm" or call.asked_ms > 0)


def _rebuilt(timeline: Sequence[Mapping[str, Any]], about: Mapping[str, Any]) -> RecentRun:
    """A run whose calls are those of its journal."""
    calls = [
        RecentCall(
            each["function"], each["at"], each["ms"], each["ok"], each["error"],
            "deny" if each["refused"] else "allow",
        )
        for each in timeline[:MAX_CALLS]
    ]  # fmt: skip
    return RecentRun(
        about["run"], about["principal"], "", "", "python", about["started"], ms=about.get("ms", 0.0), calls=calls,
        more_calls=len(timeline) - len(calls),
    )  # fmt: skip


def _used(timeline: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """What the calls of a run that has not ended have used, by server and name."""
    found: dict[str, dict[str, float]] = {}
    for each in timeline:
        of = found.setdefault(each["function"].partition(".")[0], {})
        for name, amount in each["used"].items():
            of[name] = of.get(name, 0.0) + amount
    return {server: amounts for server, amounts in found.items() if amounts}


def _left(recent: RecentRun | None, ended: Any) -> tuple[Artefact, ...]:
    return recent.files if recent else ended.artefacts if ended else ()


async def _file(question: Question, run: str, which: str) -> File:
    """A file of a run. Raises: UnknownName if the visitor may not see the run, or it is gone."""
    recent = recent_run(question, run)
    stored = {} if recent else await stored_run(question, run)
    principal = recent.principal if recent else stored.get("principal", "")
    files = _left(recent, await stored_outcome(question, run, principal) if stored else None)
    if not which.isdecimal() or int(which) >= len(files):
        raise UnknownName("there is no such file (any more)")
    return await question.gateway.file(files[int(which)].uri, principal=principal)


async def _draft(question: Question, run: str, asked: Any) -> Draft:
    saves = saves_programs(question)
    if saves is None:
        raise Refused("programs are saved by operators, where doorward-cache-sqlite keeps them")
    recent, stored = recent_run(question, run), await stored_run(question, run)
    if recent is None and not stored:
        raise UnknownName("there is no such run (any more)")
    principal = recent.principal if recent else stored["principal"]
    code = recent.code_sha256 if recent else hashed(stored["code"])
    return await saves.draft(principal, code, asked.get("name", "").strip(), asked.get("description", "").strip())


async def _undo_steps(question: Question, run: str) -> dict[str, Any]:
    """What an undo would do, if anything can be undone."""
    undo = undoes(question)
    try:
        return await undo.steps(run) if undo is not None else {}
    except DoorwardError:
        return {}


def bars(run: RecentRun) -> list[dict[str, Any]]:
    """The calls of a run as bars of a timeline that is 1,000 wide, in parts: what it waited for, and the rest."""
    whole = max([run.ms, 1.0, *(call.at + call.ms for call in run.calls)]) / 1000
    rows = []
    for call in run.calls:
        waits = {"asked": call.asked_ms, "paced": call.paced_ms, "retried": call.retry_ms}
        if call.decision == "confirm" and not call.asked_ms:  # nobody has said yes
            waits["asked"] = call.ms
        parts, at, words = [], call.at, []
        for kind, ms in [*waits.items(), ("ok" if call.ok else "failed", call.ms - sum(waits.values()))]:
            if ms > 0:
                parts.append({"kind": kind, "x": round(at / whole, 1), "width": max(4.0, round(ms / whole, 1))})
                at += ms
                if kind in _WAITS:
                    words.append(f"{_WAITS[kind]} {duration(ms)}")
        rows.append({
            **{name: getattr(call, name) for name in _OF_CALL}, "parts": parts, "words": words,
        })  # fmt: skip
    return rows


def _first_line(code: str) -> str:
    return next((line.strip() for line in code.splitlines() if line.strip()), "")[:200]


def _in_background(work: Coroutine[Any, Any, Any], failed: str) -> None:
    """A run that goes on does so whether its page is looked at or not. `failed` is logged if it does not."""
    task = asyncio.ensure_future(work)
    _GOING_ON.add(task)
    task.add_done_callback(partial(_ended, failed))


def _ended(failed: str, task: asyncio.Task[Any]) -> None:
    _GOING_ON.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning(failed, why=type(error).__name__)
