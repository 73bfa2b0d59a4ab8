"""Audit: the lines that fit, and whether the log is whole."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from doorward import DoorwardError

from doorward_console.panel import Found, Question

if TYPE_CHECKING:
    from doorward_audit_jsonl import AuditReader

MAX_LINES = 200
_FIELDS = ("run", "principal", "function", "event")


async def view(question: Question) -> Found:
    """The last lines with the fields that are asked for. Whether the log is whole is looked for when an operator asks:
    it reads all of it."""
    from doorward_audit_jsonl import AUDIT

    reader, query = question.gateway.services[AUDIT], question.query
    only: dict[str, Any] = {name: query[name] for name in _FIELDS if query.get(name)}
    if question.names is not None:
        only["principal"] = question.names
    lines, wrong = [], ""
    try:
        lines = await anyio.to_thread.run_sync(partial(reader.last, failed=bool(query.get("failed"))), MAX_LINES, only)
    except OSError as error:
        wrong = f"The log cannot be read: {error.strerror}"
    verdict = await _verdict(reader) if query.get("verify") and question.visitor.is_operator else None
    shown = {name: query.get(name, "") for name in (*_FIELDS, "failed")}
    return Found({"lines": lines[::-1], "filters": shown, "verdict": verdict, "wrong": wrong, "most": MAX_LINES})


async def _verdict(reader: AuditReader) -> dict[str, Any]:
    try:
        found = await anyio.to_thread.run_sync(reader.verify)
    except (OSError, DoorwardError) as error:
        return {"ok": False, "lines": 0, "problems": [str(error)], "last": 0, "chain": ""}
    return {
        "ok": found.ok, "lines": found.lines, "problems": found.problems[:20], "last": found.last.n,
        "chain": found.last.chain.hex(),
    }  # fmt: skip
