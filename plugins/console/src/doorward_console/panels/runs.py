"""Runs: the last ones of this process, and those that are stored, a page at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from doorward import DoorwardError, File, log

from doorward_console.panel import Found, Moved, Question
from doorward_console.panels import run
from doorward_console.panels.stored import stored_row, stored_runs

PER_PAGE = 50

LOOK_SECONDS = 0.25
"""How long stored runs are read for one page, where few of them fit: they are sealed, so that the store cannot look for
texts. The page says how far it came, and the next one goes on."""

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
    stored, rest, looked_at = dict[str, dict[str, Any]](), None, 0
    until = time.monotonic() + LOOK_SECONDS
    for each in [None] if names is None else names:
        found, more, looked = await _stored_rows(question, each, before, rows, until)
        stored, looked_at = stored | found, looked_at + looked
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
        {
            "runs": shown,
            "older": older,
            "looked_at": looked_at if rest and any(filters.values()) else 0,
            "back_to": rest[0] if rest else 0.0,
            "newest": before is None,
            "states": [*_STATES],
            "filters": filters,
        },
        live=not any(query.values()),
    )


async def post(question: Question) -> Moved | Found:
    """See `run.post`."""
    return await run.post(question)


async def _stored_rows(
    question: Question,
    whose: str | None,
    before: tuple[float, str] | None,
    recent: Mapping[str, dict[str, Any]],
    until: float,
) -> tuple[dict[str, dict[str, Any]], tuple[float, str] | None, int]:
    """The stored runs of a page that fit, the place from which on the next page has more, and how many were read."""
    found: dict[str, dict[str, Any]] = {}
    service = stored_runs(question)
    if service is None:
        return found, None, 0
    looked_at = 0
    try:
        while True:
            stored, before = await service.journals.store.page(whose, before=before, limit=PER_PAGE + 1)
            for each in stored:
                row = recent.get(each.given.run, {}) | stored_row(each)
                if _fits(row, question.query):
                    found[each.given.run] = row
            looked_at += len(stored)
            if before is None or len(found) > PER_PAGE or time.monotonic() >= until:
                return found, before, looked_at
    except DoorwardError as error:
        log.warning("stored_runs_not_listed", why=str(error))
        return found, None, looked_at


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
