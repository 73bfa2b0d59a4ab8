"""`doorward learned`: what was learned from use, for operators who wonder about it or want it gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import click
from doorward.administration import open_store
from doorward_cli import Project, common, note, print_json, say, table

if TYPE_CHECKING:
    from doorward_search import Amount, Lesson
    from doorward_search.learning.stored_lessons import StoredLessons

T = TypeVar("T")

_OF = click.option(
    "--principal", metavar="NAME", help="Of this principal alone; `*` is everyone, where that is shared."
)


@click.group()
def learned() -> None:
    """What was learned from use: the words that led to functions, functions that are called together, and whose values
    are passed to whom. Never a value, nor what somebody asked for. `[search] learn = false` turns it off."""


@learned.command()
@common
@_OF
def show(project: Project, principal: str | None) -> None:
    """Show it as a table; with --json, as `export` does."""
    found = {who: of for who, of in _everything(project).items() if principal in (None, who)}
    if project.json:
        print_json({"principals": found})
        return
    if not found:
        note("nothing has been learned yet")
        return
    table(["principal", "learned", "how often", "last"], [row for who, of in found.items() for row in _rows(who, of)])


def _rows(principal: str, of: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, str, str, str]]:
    for one in of["words"]:
        yield principal, f"{one['word']} → {one['function']}", f"{one['times']:.2f}", one["last"]
    for one in of["together"]:
        yield principal, f"{one['functions'][0]} with {one['functions'][1]}", f"{one['times']:g}", one["last"]
    for one in of["passed"]:
        what = f"{one['producer']} {one['field']} → {one['function']} {one['parameter']}"
        yield principal, what, f"{one['times']:g}", one["last"]


@learned.command()
@common
@_OF
def export(project: Project, principal: str | None) -> None:
    """Print it as JSON: by principal `words`, `together` and `passed`. A word's `times` are what is left of them."""
    print_json({"principals": {who: of for who, of in _everything(project).items() if principal in (None, who)}})


@learned.command()
@common
@_OF
def clear(project: Project, principal: str | None) -> None:
    """Forget all of it, or that of one principal. A gateway that serves notices at once."""
    removed = _done(project, lambda lessons: lessons.clear(principal))
    if project.json:
        print_json({"removed": removed})
    else:
        whose = f" of {principal}" if principal is not None else ""
        say(f"forgotten: {removed} lesson{'' if removed == 1 else 's'}{whose}")


def _done(project: Project, work: Callable[[StoredLessons], Awaitable[T]]) -> T:
    """What `work` does with the lessons of a project."""
    from doorward_search.learning.stored_lessons import EARLIER, StoredLessons

    loaded = project.load()

    async def done() -> T:
        async with open_store(loaded) as store:
            return await work(StoredLessons(store, loaded.state_folder() / EARLIER))

    return anyio.run(done)


def _everything(project: Project) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """All lessons as JSON shows them, by principal."""
    import time

    now = time.time()
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for principal, lesson, amount in _done(project, lambda lessons: lessons.everything()):
        of = found.setdefault(principal, {"words": [], "together": [], "passed": []})
        kind, told = _told(lesson, amount, now)
        of[kind].append(told)
    return found


def _told(lesson: Lesson, amount: Amount, now: float) -> tuple[str, dict[str, Any]]:
    last = datetime.fromtimestamp(amount.last, UTC).isoformat(timespec="seconds")
    if lesson.kind == "word":
        times = round(amount.of_word(now), 3)
        return "words", {"word": lesson.subject, "function": lesson.object, "times": times, "last": last}
    if lesson.kind == "with":
        return "together", {"functions": [lesson.subject, lesson.object], "times": int(amount.times), "last": last}
    function, _, parameter = lesson.subject.partition(" ")
    producer, _, field = lesson.object.partition(" ")
    told = {"producer": producer, "field": field, "function": function, "parameter": parameter}
    return "passed", told | {"times": int(amount.times), "last": last}
