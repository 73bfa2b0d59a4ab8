"""Many servers, for tests of what they cost: told by counts, never by times."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from doorward import Compiled, Function, Gateway, ServerContext, Settings

FUNCTIONS = 12
FEW, MANY = 60, 120
"""Servers: the limits of what is shown of many are lower than both; what costs the same for both does not depend on
their number."""


class Rows:
    """A source with a few functions."""

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
        allowed = [f"{name}.*" for name in theirs]
        text += f"[principals.p{number}]\nservers = {json.dumps(theirs)}\nallow = {json.dumps(allowed)}\n"
    return text + '[principals.few]\nservers = ["rows-1", "rows-2", "rows-3"]\n'


class Counted:
    """What was asked: statements of SQLite, and names held against patterns, where a test counts these."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.statements: list[str] = []
        self.fits = 0
        connect = sqlite3.connect

        def connected(*args: Any, **options: Any) -> sqlite3.Connection:
            db: sqlite3.Connection = connect(*args, **options)
            db.set_trace_callback(lambda sql: None if sql.startswith("--") else self.statements.append(sql))
            return db

        monkeypatch.setattr(sqlite3, "connect", connected)

    @contextmanager
    def afresh(self) -> Iterator[None]:
        """A block that is counted from zero."""
        self.statements.clear()
        self.fits = 0
        yield


async def opened(place: Any, size: int, work: Callable[[Gateway], Any]) -> Any:
    """What `work` makes of a gateway with so many servers, all of them compiled; `place` is a host with `Rows`."""
    async with place.gateway(configured(size), compile=False) as gate:
        await gate.compile()
        return await work(gate)
