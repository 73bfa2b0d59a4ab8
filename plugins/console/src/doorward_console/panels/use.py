"""Use: calls and runs by day, server and principal: of the audit log, or else of what this process has seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import anyio.to_thread
from doorward import DoorwardError

from doorward_console.panel import Found, Question
from doorward_console.services import service

MAX_LINES = 50_000
"""Lines of the audit log that are counted, the last ones."""

MAX_DAYS, MAX_NAMES = 31, 12


async def view(question: Question) -> Found:
    """Counts, the largest first, and the days of the last month that have any."""
    lines, of = await _lines(question), "the audit log"
    if lines is None:
        of = "this process since its start"
        lines = [
            {"day": datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d"), "principal": run.principal,
             "function": call.function, "ok": call.ok, "decision": call.decision, "bytes": call.bytes_out}
            for run in question.recent.all(question.names) for call in run.calls
        ]  # fmt: skip
    days = sorted(Counter(line["day"] for line in lines).items())[-MAX_DAYS:]
    return Found(
        {
            "of": of, "calls": len(lines), "failed": sum(not line["ok"] for line in lines),
            "asked": sum(line["decision"] == "confirm" for line in lines),
            "days": _bars(days),
            "servers": _bars(_most(line["function"].partition(".")[0] for line in lines)),
            "functions": _bars(_most(line["function"] for line in lines)),
            "budgets": await _budgets(question),
            "principals": _bars(_most(line["principal"] for line in lines)),
        }
    )  # fmt: skip


async def _budgets(question: Question) -> list[dict[str, Any]]:
    """What is used of budgets, with the widths of bars."""
    used = service(question.gateway, "doorward_budgets:USED_BUDGETS")
    try:
        rows = await used.rows(question.visitor.whose) if used is not None else []
    except DoorwardError:
        return []
    return [{**row, "width": round(min(1.0, max(0.0, row["used"] / row["limit"])) * 1000, 1)} for row in rows]


def _most(names: Iterable[str]) -> list[tuple[str, int]]:
    return Counter(names).most_common(MAX_NAMES)


def _bars(counts: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """Counts with the widths of their bars, of 1,000."""
    most = max((count for _, count in counts), default=1)
    return [{"name": name, "count": count, "width": round(count / most * 1000, 1)} for name, count in counts]


async def _lines(question: Question) -> list[dict[str, Any]] | None:
    reader = service(question.gateway, "doorward_audit_jsonl:AUDIT")
    if reader is None:
        return None
    only: dict[str, Any] = {"event": "call_finished"}
    if question.names is not None:
        only["principal"] = question.names
    try:
        found = await anyio.to_thread.run_sync(reader.last, MAX_LINES, only)
    except (OSError, DoorwardError):
        return None
    return [
        {"day": str(line.get("time", ""))[:10], "principal": str(line.get("principal", "")),
         "function": str(line.get("function", "")), "ok": line.get("ok") is not False,
         "decision": line.get("decision", ""), "bytes": line.get("bytes_out", 0)}
        for line in found
    ]  # fmt: skip
