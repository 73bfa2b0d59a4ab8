"""Use: calls, cost and tokens by day, server and principal: of the audit log, or else of what this process has seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import anyio.lowlevel
import anyio.to_thread
from doorward import DoorwardError
from doorward.administration import dump_json
from doorward.texts import closure

from doorward_console.panel import Found, Question
from doorward_console.services import service

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward_budgets import UsedBudgets

MAX_LINES = 50_000
"""Lines of the audit log that are counted, the last ones."""

MAX_DAYS, MAX_NAMES = 31, 12

BYTES_PER_TOKEN = 4
"""What is counted is bytes; models differ in how many a token is, of JSON and English about so many."""

_listed: WeakKeyDictionary[Gateway, dict[str, tuple[float, int, int]]] = WeakKeyDictionary()
"""Of each server: when it was compiled, and the functions and bytes of its list of tools."""


@dataclass
class Counted:
    """Amounts by days, servers, functions and principals."""

    calls: int = 0
    failed: int = 0
    asked: int = 0
    answers: int = 0
    """Bytes of the answers to calls."""
    told: int = 0
    """Bytes of what runs gave agents: values and printed text, as far as they are not cut."""
    runs: int = 0
    by: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    """Of `days`, `servers`, `functions` and `principals`, of each name: `calls`, `failed` and `cost`."""

    def add(self, amounts: Mapping[str, float], **names: str) -> None:
        for kind, name in names.items():
            counter = self.by.setdefault(kind, {}).setdefault(name, Counter())
            for unit, amount in amounts.items():
                counter[unit] += amount  # type: ignore[assignment]

    def call(
        self, day: str, principal: str, function: str, decision: str, bytes: int, price: float, *, ok: bool
    ) -> None:
        self.calls, self.failed, self.answers = self.calls + 1, self.failed + (not ok), self.answers + bytes
        self.asked += decision == "confirm"
        server = function.partition(".")[0]
        about = {"days": day, "servers": server, "functions": function, "principals": principal}
        self.add({"calls": 1, "failed": int(not ok), "cost": price}, **about)

    def run(self, day: str, principal: str, bytes: int, usage: Mapping[str, Mapping[str, float]]) -> None:
        self.runs, self.told = self.runs + 1, self.told + bytes
        for server, amounts in usage.items():
            if cost := amounts.get("cost", 0.0):
                self.add({"cost": cost}, days=day, servers=server, principals=principal)


async def view(question: Question) -> Found:
    """Counts, the largest first, and the days of the last month that have any."""
    counted, of = await _of_the_log(question), "the audit log"
    if counted is None:
        counted, of = _of_this_process(question), "this process since its start"
    functions, listed = await _listing(question)
    days = sorted(counted.by.get("days", {}).items())[-MAX_DAYS:]
    tokens = {
        "what Doorward answered": counted.told, "what the calls answered": counted.answers,
        f"{functions} functions as tools, once": listed,
    }  # fmt: skip
    return Found(
        {
            "of": of, "calls": counted.calls, "failed": counted.failed, "asked": counted.asked, "runs": counted.runs,
            "days": _columns(days),
            **{kind: _bars(_most(counted.by.get(kind, {}))) for kind in ("servers", "functions", "principals")},
            "tokens": _bars([(name, {"calls": bytes // BYTES_PER_TOKEN}) for name, bytes in tokens.items()]),
            "listed_functions": functions,
            "budgets": await _budgets(question),
        }
    )  # fmt: skip


async def _budgets(question: Question) -> list[dict[str, Any]]:
    """What is used of budgets, with the widths of bars."""
    used: UsedBudgets | None = service(question.gateway, "doorward_budgets:USED_BUDGETS")
    try:
        rows = await used.rows(question.visitor.whose) if used is not None else []
    except DoorwardError:
        return []
    return [{**row, "width": round(min(1.0, max(0.0, row["used"] / row["limit"])) * 1000, 1)} for row in rows]


def _most(names: Mapping[str, Mapping[str, float]]) -> list[tuple[str, Mapping[str, float]]]:
    return sorted(names.items(), key=lambda each: (-each[1].get("calls", 0), each[0]))[:MAX_NAMES]


def _bars(counts: Iterable[tuple[str, Mapping[str, float]]]) -> list[dict[str, Any]]:
    """Counts with the widths of their bars, of 1,000."""
    counts = [*counts]
    most = max((amounts.get("calls", 0) for _, amounts in counts), default=0) or 1
    return [
        {"name": name, "count": amounts.get("calls", 0), "cost": round(amounts.get("cost", 0.0), 6),
         "width": round(amounts.get("calls", 0) / most * 1000, 1)}
        for name, amounts in counts
    ]  # fmt: skip


def _columns(days: list[tuple[str, Counter[str]]]) -> list[dict[str, Any]]:
    """Days with their columns, in a plot that is 1,000 wide, 100 high for calls and 100 for cost."""
    most = {unit: max((amounts[unit] for _, amounts in days), default=0) or 1 for unit in ("calls", "cost")}
    step = 1000 / max(len(days), 7)
    rows = []
    for number, (day, amounts) in enumerate(days):
        heights = {unit: round(amounts[unit] / most["cost" if unit == "cost" else "calls"] * 100, 1)
                   for unit in ("calls", "failed", "cost")}  # fmt: skip
        rows.append({
            "name": day, "count": amounts["calls"], "failed": amounts["failed"], "cost": round(amounts["cost"], 6),
            "x": round(number * step + step * 0.1, 1), "width": round(step * 0.8, 1), "heights": heights,
        })  # fmt: skip
    return rows


async def _of_the_log(question: Question) -> Counted | None:
    reader = service(question.gateway, "doorward_audit_jsonl:AUDIT")
    if reader is None:
        return None
    only: dict[str, Any] = {"event": ("call_finished", "run_finished")}
    if question.names is not None:
        only["principal"] = question.names
    try:
        lines = await anyio.to_thread.run_sync(reader.last, MAX_LINES, only)
    except (OSError, DoorwardError):
        return None
    counted, price, inline = Counted(), question.gateway.servers.key_of, question.gateway.limits.inline_bytes
    for line in lines:
        day, principal = str(line.get("time", ""))[:10], str(line.get("principal", ""))
        if line["event"] == "run_finished":
            told = min(line.get("value_bytes", 0), inline) + min(line.get("printed_bytes", 0), inline)
            counted.run(day, principal, told, line.get("usage", {}))
            continue
        function = str(line.get("function", ""))
        counted.call(
            day, principal, function, line.get("decision", ""), line.get("bytes_out", 0),
            price(function.partition(".")[0], "price") or 0.0, ok=line.get("ok") is not False,
        )  # fmt: skip
    return counted


def _of_this_process(question: Question) -> Counted:
    counted, price = Counted(), question.gateway.servers.key_of
    for run in question.recent.all(question.names):
        day = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d")
        counted.run(day, run.principal, run.told_bytes, run.usage)
        for call in run.calls:
            counted.call(
                day, run.principal, call.function, call.decision, call.bytes_out,
                price(call.function.partition(".")[0], "price") or 0.0, ok=call.ok,
            )  # fmt: skip
    return counted


async def _listing(question: Question) -> tuple[int, int]:
    """How many functions the servers have that the visitor may use, and the bytes of their names, texts and schemas in
    a list of tools."""
    gateway = question.gateway
    known, reports = _listed.setdefault(gateway, {}), gateway.catalog.reports()
    servers = await gateway.list_servers(principal=str(question.visitor.principal))
    functions = bytes = 0
    for server in (each["name"] for each in servers["servers"]):
        compiled = report.compiled if (report := reports.get(server)) is not None else 0.0
        if known.get(server, (-1.0,))[0] != compiled:
            known[server] = compiled, *await _size(gateway, server)
        functions, bytes = functions + known[server][1], bytes + known[server][2]
    return functions, bytes


async def _size(gateway: Gateway, server: str) -> tuple[int, int]:
    sizes: dict[str, int] = {}
    functions = bytes = 0

    def definition(name: str) -> Any:
        found = gateway.catalog.definition(server, name)
        if name not in sizes:
            sizes[name] = len(dump_json(found)) + len(name)
        return found

    for function in gateway.catalog.functions(server):
        functions += 1
        texts = function.qualified + function.summary + function.description
        bytes += len(texts.encode(errors="replace")) + len(dump_json(function.parameters))
        bytes += sum(sizes.get(name, 0) for name in closure(function.parameters, definition))
        if functions % 50 == 0:  # a large document takes its time: others have theirs
            await anyio.lowlevel.checkpoint()
    return functions, bytes
