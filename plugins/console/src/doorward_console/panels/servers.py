"""Servers: which there are, what each offers, and what is wrong with it."""

from __future__ import annotations

from typing import Any

from doorward.administration import Report

from doorward_console.panel import Found, Question

MAX_LISTED = 20
"""Warnings of a server, and operations that were skipped, that are listed."""


async def view(question: Question) -> Found:
    """The servers that the visitor may use, or all that are configured."""
    gateway, visitor = question.gateway, question.visitor
    listed = await gateway.list_servers(principal=str(visitor.principal))
    reports = gateway.catalog.reports()
    return Found(
        {
            "servers": [_row(each, reports) for each in listed["servers"]],
            "executors": listed["executors"],
            "chain": gateway.chain() if visitor.is_operator else [],
        },
        live=True,
    )


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
