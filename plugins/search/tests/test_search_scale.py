"""Many servers and principals cost a search no more than few: told by counts, never by times."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from doorward import Compiled, Function, Gateway, ServerContext, Settings
from doorward.access import patterns

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

FUNCTIONS = 40
FEW, MANY = 60, 120
"""Servers: the limits of what is shown of many are lower than both; what costs the same for both does not depend on their number."""


class Rows:
    """A source with forty functions."""

    Settings = Settings
    at_once = most = 0

    def __init__(self, server: ServerContext) -> None:
        self.name = server.name

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        nouns = ("issue", "payment", "team", "channel")
        return Compiled(
            [
                Function(self.name, f"get_{nouns[n % 4]}_{n}", f"{n}", f"Get {nouns[n % 4]} {n}")
                for n in range(FUNCTIONS)
            ]
        )

    async def call(self, call: Any) -> Any:
        return 1

    async def close(self) -> None: ...


def configured(size: int, principals: int = 20) -> str:
    """So many servers; the half of them is each principal's, every one by its name, and said again what may be
    called."""
    text = 'executor = "inprocess"\nplugins = []\ncache = "none"\n[limits]\nrate = 100000\n'
    text += "".join(f'[servers.rows-{n}]\nsource = "rows"\n' for n in range(size))
    for number in range(principals):
        theirs = [f"rows-{(number + n) % size}" for n in range(size // 2)]
        text += f"[principals.p{number}]\nservers = {json.dumps(theirs)}\nallow = {json.dumps([f'{s}.*' for s in theirs])}\n"
    return text + '[principals.few]\nservers = ["rows-1", "rows-2", "rows-3"]\n'


class Counted:
    """What was asked: statements of SQLite, and names held against patterns."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.fits = 0

    @contextmanager
    def afresh(self) -> Iterator[None]:
        self.statements.clear()
        self.fits = 0
        yield


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counts = Counted()
    connect, fit = sqlite3.connect, patterns.Patterns.fit

    def connected(*args: Any, **options: Any) -> sqlite3.Connection:
        db = connect(*args, **options)
        db.set_trace_callback(counts.statements.append)
        return db

    def counting(self: patterns.Patterns, *names: str) -> bool:
        counts.fits += 1
        return fit(self, *names)

    monkeypatch.setattr(sqlite3, "connect", connected)
    monkeypatch.setattr(patterns.Patterns, "fit", counting)
    return counts


@pytest.fixture
def place(doorward_host: Any) -> Any:
    doorward_host.install("source", "rows", Rows)
    return doorward_host


async def opened(place: Any, size: int, work: Callable[[Gateway], Any]) -> Any:
    async with place.gateway(configured(size), compile=False) as gate:
        await gate.compile()
        return await work(gate)


async def test_a_search_asks_nothing_of_each_server(place: Any, counted: Counted) -> None:
    """It makes as many statements, as long ones, for a principal of few servers, of half of them and of all."""

    async def made(gate: Gateway) -> list[tuple[int, int, int]]:
        found = []
        for words in ("get the payment of a team", "get_issue_0", "rows_1.get_issue_0"):
            for who in ("local", "p0", "few"):
                await gate.search_functions(words, principal=who)
                with counted.afresh():
                    answer = await gate.search_functions(words, principal=who)
                assert len(answer["functions"]) == 10 or who == "few"
                found.append((len(counted.statements), max(map(len, counted.statements)) // 1000, counted.fits))
        return found

    few, many = await opened(place, FEW, made), await opened(place, MANY, made)
    # Which words are only names of servers depends on how many there are: a statement or two.
    assert all(more[0] <= less[0] + 2 and more[1] == less[1] for less, more in zip(few, many, strict=True))
    assert {fits for _, _, fits in [*few, *many]} == {0}
