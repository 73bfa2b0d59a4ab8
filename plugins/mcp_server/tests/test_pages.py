"""Lists of many servers and guides come in pages that cost the same, however many there are: told by counts, never by
times."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from doorward import Compiled, Function, Gateway, ServerContext, Settings
from doorward.data.cursors import cursor_at
from doorward_mcp_server.server import build
from doorward_mcp_server.tools import SERVERS_PER_PAGE
from mcp.client import Client

pytestmark = pytest.mark.anyio

FUNCTIONS = 40
FEW, MANY = 60, 240
"""Servers; what costs the same for both does not depend on their number."""


class Rows:
    """A source with forty functions."""

    Settings = Settings

    def __init__(self, server: ServerContext) -> None:
        self.name = server.name

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        return Compiled([Function(self.name, f"get_issue_{n}", f"{n}", f"Get issue {n}") for n in range(FUNCTIONS)])

    async def call(self, call: Any) -> Any:
        return 1

    async def close(self) -> None: ...


def configured(size: int) -> str:
    text = 'executor = "inprocess"\nplugins = []\ncache = "none"\n[limits]\nrate = 100000\n'
    return text + "".join(f'[servers.rows-{n}]\nsource = "rows"\n' for n in range(size))


class Counted:
    """The statements of SQLite that were asked for."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    @contextmanager
    def afresh(self) -> Iterator[None]:
        self.statements.clear()
        yield


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counts, connect = Counted(), sqlite3.connect

    def connected(*args: Any, **options: Any) -> sqlite3.Connection:
        db = connect(*args, **options)
        db.set_trace_callback(lambda sql: None if sql.startswith("--") else counts.statements.append(sql))
        return db

    monkeypatch.setattr(sqlite3, "connect", connected)
    return counts


@pytest.fixture
def place(doorward_host: Any) -> Any:
    doorward_host.install("source", "rows", Rows)
    return doorward_host


async def opened(place: Any, size: int, work: Callable[[Gateway], Any]) -> Any:
    async with place.gateway(configured(size), compile=False) as gate:
        await gate.compile()
        return await work(gate)


@pytest.mark.slow
async def test_the_list_of_servers_is_one_page(place: Any, counted: Counted) -> None:
    """Its bytes and its statements are those of a page, and the pages together name each server once.
    CONTRACT: DIS-01."""

    async def listed(gate: Gateway) -> tuple[int, int]:
        async with Client(build(gate)) as client:
            with counted.afresh():
                answer = await client.call_tool("list_servers", {})
            statements, size = len(counted.statements), len(answer.content[0].text)
            names, cursor = [], None
            while True:
                shown = (
                    await client.call_tool("list_servers", {"cursor": cursor} if cursor else {})
                ).structured_content
                names += [server["name"] for server in shown["servers"]]
                if (cursor := shown.get("cursor")) is None:
                    break
                assert (
                    cursor in (await client.call_tool("list_servers", {})).content[0].text
                    or len(names) > SERVERS_PER_PAGE
                )
            assert names == list(gate.servers.names("local"))
            assert shown["servers"][0]["functions"] == FUNCTIONS
            beyond = await client.call_tool("list_servers", {"cursor": cursor_at(10**9)})
            assert (beyond.structured_content["servers"], "no more" in beyond.content[0].text) == ([], True)
            wrong = await client.call_tool("list_servers", {"cursor": "%%%"})
            assert wrong.is_error
            assert "cursor" in wrong.content[0].text
            return statements, size // 100

    few, many = await opened(place, FEW, listed), await opened(place, MANY, listed)
    assert few == many
    assert few[1] < 60


async def test_guides_are_listed_in_pages(place: Any) -> None:
    """`list_skills`, the resources and the instructions are as long, and look at as many files, for many guides as for
    some."""
    size = 250
    text = configured(size).replace('source = "rows"', 'source = "rows"\nskills = "guide.md"')
    (place.folder / "guide.md").write_text("# Rows\n" + "Look at them. " * 5000)
    async with place.gateway(text, compile=False) as gate, Client(build(gate)) as client:
        looked: list[str] = []
        file = gate.skills._file
        gate.skills._file = lambda server: looked.append(server) or file(server)  # type: ignore[method-assign, func-returns-value]
        assert len(client.instructions or "") < 2048
        answer = await client.call_tool("list_skills", {})
        again = await client.call_tool("list_skills", {"cursor": answer.structured_content["cursor"]})
        assert len(answer.structured_content["skills"]) == len(again.structured_content["skills"]) == 100
        assert len(looked) == 200
        names, cursor = [], None
        while True:
            listed = await client.list_resources(cursor=cursor)
            assert len(listed.resources) <= 102
            names += [resource.name for resource in listed.resources]
            if (cursor := listed.next_cursor) is None:
                break
        assert len(names) == len(set(names)) == size + 1
        assert len(gate.skills.names("local")) == size
        hint = ""
        try:
            gate.skills.read("none", "local")
        except Exception as error:
            hint = getattr(error, "hint", "")
        assert 0 < len(hint) < 600
