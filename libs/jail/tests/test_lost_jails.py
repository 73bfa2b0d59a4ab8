"""Jails that end at the wrong moment, and what comes out of them that is no message of ours."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from doorward import ExecutorError, File, Limits, Program
from doorward_jail import may_run, start_time
from doorward_jail.connections.inbox import Inbox
from doorward_jail.inside.protocol import encode
from doorward_jail.inside.results import BYTES_KEY
from doorward_jail.program_message import file_name, program_message
from doorward_testing import Door

from . import unshared
from .test_jails import PASSED, RELAYED, executor, value

in_namespaces = [pytest.mark.anyio, pytest.mark.slow, unshared.needs_namespaces]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def program(code: str) -> Program:
    return Program(code, deadline=time.monotonic() + 60, limits=Limits())


class TestInNamespaces:
    pytestmark = in_namespaces

    @pytest.mark.parametrize("mode", [PASSED, RELAYED], ids=["passed", "relayed"])
    async def test_a_program_that_has_not_begun_runs_in_another(self, mode: Any) -> None:
        """Its jail ended between opening and running, as when an engine restarts: nobody notices."""
        async with executor(**mode) as made:
            sandbox = await made.open(asked := program("1 + 1"))
            dead = sandbox._connection
            await dead.jail.end()
            ended = await sandbox.run(asked, Door())
            assert (ended.value, ended.error) == (2, None)
            assert sandbox._connection is not dead
            assert not sandbox._connection.jail.dead.is_set()
            await sandbox.close()

    @pytest.mark.slow
    async def test_a_program_that_has_begun_does_not_run_twice(self) -> None:
        """It may have called something: it fails, and the next program has another jail."""
        async with executor(**PASSED) as made:
            door = Door()
            sandbox = await made.open(asked := program("import calc, time\ncalc.add(a=1, b=2)\ntime.sleep(600)"))
            running = asyncio.ensure_future(sandbox.run(asked, door))
            while not door.made:
                await asyncio.sleep(0.01)
            await sandbox._connection.jail.end()
            with pytest.raises(ExecutorError, match="sandbox"):
                await running
            assert door.made == 1
            await sandbox.close()
            assert await value(made, "1 + 1") == 2

    async def test_nothing_is_started_in_a_jail_that_has_ended(self) -> None:
        """Whoever asks for a sandbox there is told at once."""
        async with executor(**PASSED) as made:
            sandbox = await made.open(program("1"))
            jail = sandbox._connection.jail
            await jail.end()
            with pytest.raises(ExecutorError, match="the jail has ended"):
                await jail.fork()
            with pytest.raises(EOFError, match="the jail has ended"):
                jail.tell({"fork": 99})
            await sandbox.close()

    @pytest.mark.parametrize(
        "sent",
        [
            b"\xff" * 64,
            encode({"x": 1}),
            encode({"hello": {}}),
            encode({"from": [1]}),
            encode({"failed": 1}),
            encode({"gone": 1, "code": "x"}),
        ],
        ids=["no frame", "no message", "another hello", "no number", "no reason", "no code"],
    )
    async def test_a_jail_that_speaks_nonsense_is_ended(self, sent: bytes, until: Any) -> None:
        """Its zygote is not believed once it sends what it should not; the next program has another jail."""
        async with executor(**RELAYED) as made:
            sandbox = await made.open(program("1"))
            jail = sandbox._connection.jail
            jail.data_received(sent)
            await until(lambda: jail.dead.is_set())
            await sandbox.close()
            assert await value(made, "1 + 1") == 2

    async def test_a_jail_for_an_executor_that_is_closed_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is ended, and whoever waits for it is told."""
        async with executor(**PASSED) as made:
            started, go_on = asyncio.Event(), asyncio.Event()
            start = made.start

            async def slowly(*words: Any) -> Any:
                started.set()
                await go_on.wait()
                return await start(*words)

            monkeypatch.setattr(made, "start", slowly)
            opening = asyncio.ensure_future(made.open(program("1")))
            await started.wait()
            closing = asyncio.ensure_future(made.close())
            await asyncio.sleep(0)
            go_on.set()
            with pytest.raises(ExecutorError, match="closed"):
                await opening
            await closing


@pytest.mark.anyio
async def test_what_comes_after_the_end_is_not_read() -> None:
    """A program may go on sending when its run is over."""
    heard: list[Any] = []
    inbox = Inbox(1000, lambda message, blob: heard.append(message), lambda why, hint: heard.append(why))
    inbox.begin(1000)
    inbox.feed(encode({"done": 1}))
    await inbox.all_read()
    inbox.close()
    inbox.feed(encode({"done": 2}))
    assert heard == [{"done": 1}]


@pytest.mark.anyio
async def test_bytes_that_are_none_stay_text() -> None:
    """What stands for bytes and is no base64 is the program's own dictionary's text."""
    heard: list[Any] = []
    inbox = Inbox(1000, lambda message, blob: heard.append(message), lambda why, hint: heard.append(why))
    inbox.begin(1000)
    inbox.feed(encode({"done": {"value": {BYTES_KEY: "a"}, "other": {BYTES_KEY: "aGk="}}}))
    await inbox.all_read()
    assert heard == [{"done": {"value": "a", "other": b"hi"}}]


@pytest.mark.anyio
async def test_a_program_that_cannot_be_parsed_is_handed_over() -> None:
    """The sandbox's own Python says what is wrong with it, with its line."""
    message, blob = await program_message(Program("await (", limits=Limits()), Door())
    assert (message["run"]["code"], message["run"]["awaited"], blob) == ("await (", [], b"")


@pytest.mark.parametrize(
    ("name", "type", "shown"),
    [("../a b.csv", "text/csv", "a_b.csv"), ("", "image/png", "abc.png"), ("..", "", "abc"), ("", "no/type", "abc")],
)
def test_names_of_given_files(name: str, type: str, shown: str) -> None:
    """Plain ones, without folders; a file that has none is called by its handle."""
    assert file_name(File(b"", type, name), "doorward://results/abc") == shown


def test_owners_that_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the system does not tell counts as running: nobody's sandbox is ended for it."""
    for raised, told in ((PermissionError(), "unknown"), (ProcessLookupError(), ""), (FileNotFoundError(), "unknown")):

        def read(self: Path, raised: OSError = raised) -> str:
            raise raised

        monkeypatch.setattr(Path, "read_text", read)
        assert start_time(1) == told
        assert may_run(1, "5") is (told == "unknown")
    assert start_time(2**200) == ""
