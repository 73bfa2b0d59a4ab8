"""Runs: the last ones of this process, and those that are stored, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward import DoorwardError, File, log

from doorward_console.panel import Found, Moved, Question
from doorward_console.panels import run
from doorward_console.panels.stored import stored_row, stored_runs

PER_PAGE = 50

MAX_LOOKED_AT = 1000
"""Stored runs that are read for one page, where few of them fit."""

_STATES = ("running", "waiting", "ok", "failed", "interrupted", "died")
_FILTERS = ("state", "principal", "server", "text")


async def view(question: Question) -> Found | File:
    """The runs that fit; or one of them."""
    if question.rest:
        return await run.view(question)
    query = question.query
    before = _place(query.get("before", ""))
    names = question.names or ([named] if (named := query.get("principal")) else None)
    rows = {each.run: run.recent_row(each) for each in question.recent.all(names) if _is_before(each, before)}
    fitting = {key: row for key, row in rows.items() if _fits(row, query)}
    stored, rest = dict[str, dict[str, Any]](), None
    for each in [None] if names is None else names:
        found, more = await _stored_rows(question, each, before, rows)
        stored |= found
        rest = max(filter(None, (rest, more)), default=None)
    shown = sorted((fitting | stored).values(), key=_place_of, reverse=True)
    if len(shown) > PER_PAGE:
        shown = shown[:PER_PAGE]
        rest = _place_of(shown[-1])
    elif rest is not None:  # what is older than what was read comes on the next page
        shown = [row for row in shown if _place_of(row) >= rest]
    filters = {key: query.get(key, "") for key in _FILTERS}
    older = f"{rest[0]:.3f}-{rest[1]}" if rest else ""
    return Found(
        {"runs": shown, "older": older, "newest": before is None, "states": [*_STATES], "filters": filters},
        live=not any(query.values()),
    )


async def post(question: Question) -> Moved | Found:
    """See `run.post`."""
    return await run.post(question)


async def _stored_rows(
    question: Question, whose: str | None, before: tuple[float, str] | None, recent: Mapping[str, dict[str, Any]]
) -> tuple[dict[str, dict[str, Any]], tuple[float, str] | None]:
    """The stored runs of a page that fit, and the place from which on the next page has more."""
    found: dict[str, dict[str, Any]] = {}
    service = stored_runs(question)
    if service is None:
        return found, None
    looked_at = 0
    try:
        while True:
            stored, before = await service.journals.store.page(whose, before=before, limit=PER_PAGE + 1)
            for each in stored:
                row = recent.get(each.given.run, {}) | stored_row(each)
                if _fits(row, question.query):
                    found[each.given.run] = row
            looked_at += PER_PAGE + 1
            if before is None or len(found) > PER_PAGE or looked_at >= MAX_LOOKED_AT:
                return found, before
    except DoorwardError as error:
        log.warning("stored_runs_not_listed", why=str(error))
        return found, None


def _place(text: str) -> tuple[float, str] | None:
    """A place from the address of a page."""
    started, _, run = text.partition("-")
    try:
        return (float(started), run) if 0 <= float(started) < 1e11 else None
    except ValueError:
        return None


def _place_of(row: Mapping[str, Any]) -> tuple[float, str]:
    return round(row["started"], 3), row["run"]


def _is_before(run: Any, before: tuple[float, str] | None) -> bool:
    return before is None or (round(run.started, 3), run.run) < before


def _fits(row: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    state, principal, server, text = (query.get(key, "") for key in _FILTERS)
    words = " ".join(map(str, (row["description"], row["run"], row.get("error", ""), *row.get("servers", ()))))
    return (
        (not state or row["state"] == state)
        and (not principal or row["principal"] == principal)
        and (not server or server in row.get("servers", ()))
        and text.casefold() in words.casefold()
    )
