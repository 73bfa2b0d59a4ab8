"""Servers: which there are, what each offers, and what is wrong with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from doorward import InvalidArguments, UnknownName
from doorward.administration import Report

from doorward_console.logins import login_rows
from doorward_console.panel import Found, Question
from doorward_console.panels import add
from doorward_console.panels.run import was_made

MAX_LISTED = 20
"""Warnings of a server, operations that were skipped, and changes, that are listed."""


@dataclass(slots=True)
class RecentCalls:
    """How the calls of a server went that this process remembers: those that were made, of which so many failed; those
    that waited for a limit that the server tells, for how long; and repeated requests."""

    calls: int = 0
    failed: int = 0
    paced: int = 0
    paced_ms: float = 0.0
    retries: int = 0


async def view(question: Question) -> Found:
    """The servers that the visitor may use, or all that are configured."""
    gateway, visitor = question.gateway, question.visitor
    if question.query.get("add") and visitor.is_operator:  # a page of its own: this one is loaded again and again
        return Found({"name": ""}, "doorward_console/add.html")
    listed = await gateway.list_servers(principal=str(visitor.principal))
    reports = gateway.catalog.reports()
    recent = _recent_calls(question)
    logins = await login_rows(question.logins, [each["name"] for each in listed["servers"]], visitor)
    return Found(
        {
            "servers": [
                _row(each, reports)
                | {"logins": logins[each["name"]], "recent": asdict(recent.get(each["name"]) or RecentCalls())}
                | {"changes": _changes(question, each["name"])}
                for each in listed["servers"]
            ],
            "executors": listed["executors"],
            "chain": gateway.chain() if visitor.is_operator else [],
        },
        live=True,
    )


async def post(question: Question) -> Found:
    """Begin a login, or go on with one whose browser is on another machine; or look at a document."""
    if not question.rest:
        return await add.look(question)
    name, logins, form = question.rest, question.logins, question.form
    server = name.partition("@")[0]
    listed = await question.gateway.list_servers(principal=str(question.visitor.principal))
    whose = logins.whose(server, question.visitor) if server in [each["name"] for each in listed["servers"]] else None
    if whose is None or name not in logins.names(server, question.visitor):
        raise UnknownName("there is no such server for you to log in to")
    if form.get("do") == "login":
        login = await logins.begin(name, whose)
        host = urlsplit(login.url).hostname or ""
        shown = {"told": login.told, "url": login.url, "host": host, "failed": login.failed, "pasted": False}
    elif form.get("do") == "paste":
        begun = logins.find(name, whose)
        if begun is None or begun.pasted.done():
            raise UnknownName("no login goes on here (any more)", hint="Begin it again.")
        begun.pasted.set_result(form.get("address", ""))
        shown = {"told": [], "url": "", "host": "", "failed": "", "pasted": True}
    else:
        raise InvalidArguments("one can log in to a server")
    return Found({"server": name, "minutes": 5, **shown}, "doorward_console/login.html")


def _row(listed: dict[str, Any], reports: dict[str, Report]) -> dict[str, Any]:
    report = reports.get(listed["name"])
    compiled = (
        {
            "compiled": report.compiled, "ms": round(report.ms, 1), "warnings": [*report.warnings][:MAX_LISTED],
            "skipped": [dict(each) for each in report.skipped[:MAX_LISTED]], "skips": len(report.skipped),
        }
        if report is not None
        else {"compiled": 0.0, "ms": 0.0, "warnings": [], "skipped": [], "skips": 0}
    )  # fmt: skip
    return {"broken": "", "about": "", "note": "", **listed, **compiled}


def _recent_calls(question: Question) -> dict[str, RecentCalls]:
    """Of each server, of the runs that the visitor sees."""
    found: dict[str, RecentCalls] = {}
    for run in question.recent.all(question.names):
        for call in run.calls:
            if not was_made(call):
                continue
            of = found.setdefault(call.function.partition(".")[0], RecentCalls())
            of.calls, of.failed, of.retries = of.calls + 1, of.failed + (not call.ok), of.retries + int(call.retries)
            of.paced, of.paced_ms = of.paced + (call.paced_ms > 0), of.paced_ms + call.paced_ms
    return found


def _changes(question: Question, server: str) -> dict[str, Any]:
    """What the last compile changed: for operators, for it names functions that policy may hide from others."""
    difference = question.compiles.last(server) if question.visitor.is_operator else None
    if difference is None:
        return {"compiled": 0.0, "counts": {}, "listed": [], "more": 0}
    listed, count = [*difference.changes[:MAX_LISTED]], sum(difference.counts.values())
    return {
        "compiled": difference.compiled, "counts": difference.counts, "listed": listed, "more": count - len(listed),
    }  # fmt: skip
