"""What a yes lets through: this call of this principal in this run, once, in time; and nothing else."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from doorward import PluginContext, Services, Settings
from doorward.catalog.catalog import Catalog
from doorward.model.calls import Call, Decision, File
from doorward.model.errors import InvalidArguments, Refused, UnknownName
from doorward.model.functions import Function
from doorward.model.programs import Program
from doorward.plugins.hooks import Hooks
from doorward_approvals.answering import answer
from doorward_approvals.approvals import Approvals
from doorward_approvals.binding import bound
from doorward_approvals.request import ApprovalHooks, ApprovalRequest
from doorward_approvals.stored_approvals import StoredApprovals
from doorward_durable_runs import Box, Sealing
from doorward_store_sqlite import SqliteSettings, SqliteStore
from doorward_store_sqlite.catalog import SqliteCatalog
from doorward_testing import run_of
from doorward_testing.conformance.layers import Suspended

from .conftest import RULE

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("confirming")]

PAY = Function("bank", "pay", "pay", "Pay somebody")


class Unscrubbed:
    """Servers without credentials."""

    def outgoing(self, server: str) -> Any:
        return str

    without_known = outgoing


class Desk:
    """The approvals of one gateway, with a clock of its own; `again()` is that of another process."""

    def __init__(self, folder: Path, desks: list[Desk]) -> None:
        self.folder, self.desks = folder, desks
        desks.append(self)
        self.time = 1_000_000.0
        self.file = SqliteStore(PluginContext("sqlite", SqliteSettings(), folder), clock=lambda: self.time)
        self.store = StoredApprovals(self.file, folder, clock=lambda: self.time)
        self.hooks = Hooks()
        self.hooks.add_hookspecs(ApprovalHooks)
        catalog = Catalog(SqliteCatalog(folder / "catalog.db"))
        gateway: Any = SimpleNamespace(
            plugins=self.hooks, catalog=catalog, servers=Unscrubbed(), services=Services(), decides=True
        )
        self.approvals = Approvals(PluginContext("approvals", Settings(), folder, store=self.file))
        self.approvals.gateway_made(gateway)
        self.approvals._now = lambda: self.time

    def again(self) -> Desk:
        other = Desk(self.folder, self.desks)
        other.time = self.time
        return other

    async def confirm(
        self, to: Any = "ann", *, run: str = "r1", principal: str = "local", decision: Decision = RULE, schema: str = "h",
        function: Function = PAY, link: str = "", session: str = "", code: str = "bank.pay(to='ann')",
    ) -> bool:  # fmt: skip
        """Whether the call was let through."""
        call = Call(function, {"to": to}, run, principal, link=link)
        at = run_of(Program(code, principal=principal, run=run), suspends=not session)  # a resumed one has the same id
        at.session = session
        try:
            await self.approvals.confirm(at, call, decision, schema)
        except Suspended:
            return False
        return True

    async def answer(self, approve: bool = True, **options: Any) -> None:
        (request,) = await self.open()
        await answer(self.store, request.id, approve, **{"by": "ops", **options})

    async def open(self) -> list[ApprovalRequest]:
        return [each for each in await self.store.all() if each.state == "open"]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path, [])
    yield desk
    for each in desk.desks:
        await each.file.close()


CHANGED = [
    replace(PAY, route="POST /payments"),
    replace(PAY, destructive=True),
    replace(PAY, read_only=True),
    replace(PAY, id="pay_all"),
]


@pytest.mark.parametrize("changed", CHANGED)
async def test_what_the_function_does_is_part_of_what_was_approved(desk: Desk, changed: Function) -> None:
    """Its document is the upstream's: under the same name and with the same schemas it may become another one."""
    assert not await desk.confirm()
    await desk.answer()
    assert not await desk.confirm(function=changed)
    assert await desk.confirm()


async def test_whoever_waits_is_woken_by_answers_alone(desk: Desk) -> None:
    """A request more, and a yes that is used up, answer nobody else: many that wait would all look at all requests."""
    assert not await desk.confirm()
    seen = await desk.store.changes()
    assert not await desk.confirm("bob")
    assert await desk.store.changes() == seen
    for each in await desk.open():
        await answer(desk.store, each.id, True, by="ops")
    assert (answered := await desk.store.changes()) > seen
    assert await desk.confirm()
    assert await desk.store.changes() == answered


@pytest.mark.parametrize("fake", [{"file": "{}"}, {"bytes": "{}"}, ["a", "b", None], {"file": ["a", "b", "{}"]}])
async def test_no_object_passes_for_a_file(desk: Desk, fake: Any) -> None:
    """The agent knows the hash of what it wants to send, and has an object approved that looks like it."""
    file = File(b"dangerous", "b", "a")
    text = json.dumps(fake).replace("{}", hashlib.sha256(file.content).hexdigest())
    assert not await desk.confirm(json.loads(text))
    await desk.answer()
    assert not await desk.confirm(file)
    assert not await desk.confirm(file.content)


async def test_a_resumed_run_is_let_through_once(desk: Desk) -> None:
    """After an hour, in another process: the second of two such calls is asked about again."""
    assert not await desk.confirm()
    desk.time += 3600
    await desk.again().answer()
    later = desk.again()
    assert await later.confirm()
    assert not await later.confirm()
    assert not await desk.confirm()


async def test_a_run_that_waits_again_has_one_request(desk: Desk) -> None:
    """Whoever resumes it too early does not make another."""
    for _ in range(3):
        assert not await desk.again().confirm()
    assert len(await desk.open()) == 1


OTHERS: list[dict[str, Any]] = [
    {"to": "bob"},
    {"to": "Ann"},
    {"to": ["ann"]},
    {"to": {"ann": None}},
    {"run": "r2"},
    {"run": ""},
    {"principal": "bob"},
    {"schema": "changed"},
    {"function": replace(PAY, name="pay_all")},
    {"function": replace(PAY, server="bank2")},
    {"function": replace(PAY, id="other")},
    {"link": "https://bank.example/next"},
]


@pytest.mark.parametrize("other", OTHERS)
async def test_what_differs_is_asked_about_again(desk: Desk, other: dict[str, Any]) -> None:
    """Arguments changed after the yes, another run, principal, function, or page."""
    assert not await desk.confirm()
    await desk.answer()
    assert not await desk.confirm(**other)
    assert await desk.confirm()


@pytest.mark.parametrize("other", [each for each in OTHERS if "to" not in each and "link" not in each])
async def test_a_yes_for_a_run_is_for_no_other(desk: Desk, other: dict[str, Any]) -> None:
    """It covers other arguments of the same function, under the same rule, of the same principal in the same run."""
    assert not await desk.confirm()
    await desk.answer(scope="run")
    assert not await desk.confirm(**other)
    assert not await desk.confirm(decision=Decision("confirm", "[[policy.rules]] 2", "payments"))
    for to in ("ann", "bob", "ann"):
        assert await desk.confirm(to)


async def test_a_no_stays_a_no(desk: Desk) -> None:
    """For the same call of that run: to ask until the person is tired is no way."""
    assert not await desk.confirm()
    await desk.answer(False, said="too much")
    for _ in range(3):
        with pytest.raises(Refused, match="denied by ops: too much"):
            await desk.confirm()
    assert not await desk.confirm("bob")
    assert not await desk.confirm(run="r2")


async def test_nothing_is_valid_after_it_has_expired(desk: Desk) -> None:
    """Neither a request, which then cannot be answered, nor a yes that was not used."""
    assert not await desk.confirm()
    (request,) = await desk.store.all()
    desk.time += 24 * 3600
    with pytest.raises(UnknownName):
        await answer(desk.store, request.id, True, by="ops")
    assert not await desk.confirm()
    await desk.answer(scope="run")
    desk.time += 24 * 3600
    assert not await desk.confirm()


@pytest.mark.parametrize("id", ["", "0", "%", "*", "' OR 1=1 --", "\x1b[2J"])
async def test_a_guessed_id_answers_nothing(desk: Desk, id: str) -> None:
    assert not await desk.confirm()
    with pytest.raises(UnknownName, match="no request") as unknown:
        await answer(desk.store, id, True, by="eve")
    assert "\x1b" not in unknown.value.message
    assert len(await desk.open()) == 1


@pytest.mark.slow
async def test_of_two_answers_the_first_counts(desk: Desk) -> None:
    """However close they are: one is told that it came too late, and by whom it was answered."""
    for number in range(20):
        assert not await desk.confirm(number)
        (request,) = await desk.open()
        came: list[bool] = []
        late: list[str] = []

        async def reply(approve: bool, id: str = request.id, came: Any = came, late: Any = late) -> None:
            try:
                await answer(desk.again().store, id, approve, by=f"says {approve}")
                came.append(approve)
            except InvalidArguments as error:
                late.append(error.message)

        async with anyio.create_task_group() as group:
            for approve in (True, False):
                group.start_soon(reply, approve)
        assert len(came) == len(late) == 1
        assert f"by says {came[0]}" in late[0]
        if came[0]:
            assert await desk.confirm(number)
        else:
            with pytest.raises(Refused):
                await desk.confirm(number)


@pytest.mark.slow
async def test_a_yes_is_used_by_one_of_two_processes(desk: Desk) -> None:
    """Races on one yes: never twice."""
    for number in range(10):
        assert not await desk.confirm(number)
        await desk.answer()
        through: list[bool] = []

        async def once(at: Desk, number: int = number, through: Any = through) -> None:
            through.append(await at.confirm(number))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(once, desk.again())
        assert sum(through) == 1
        for each in await desk.open():
            await desk.store.withdrawn(each)


async def test_a_scope_that_was_not_offered_is_refused(desk: Desk) -> None:
    assert not await desk.confirm()
    with pytest.raises(InvalidArguments, match="for once or run, not for 'session'"):
        await desk.answer(scope="session")
    assert len(await desk.open()) == 1


async def test_a_session_reaches_no_other(desk: Desk) -> None:
    """Its id is not stored: who reads the file cannot enter the session."""
    with pytest.raises(Refused, match="nobody has answered"):
        await _in_session(desk, "s1")
    await desk.answer(scope="session")
    assert await _in_session(desk, "s1", run="r2", to="bob")
    for session, run in (("s2", "r3"), ("", "r3")):
        with pytest.raises(Refused) if session else _suspends():
            await _in_session(desk, session, run=run)
    assert b"the session s1" not in b"".join(file.read_bytes() for file in desk.folder.glob("store.db*"))


async def _in_session(desk: Desk, session: str, *, run: str = "r1", to: str = "ann") -> bool:
    limits = replace(Program("").limits, timeout=0.05)
    at = run_of(Program("code", principal="local", run=run, limits=limits), suspends=not session)
    at.session = f"the session {session}" if session else ""
    await desk.approvals.confirm(at, Call(PAY, {"to": to}, run, "local"), RULE, "h")
    return True


def _suspends() -> Any:
    return pytest.raises(Suspended)


def test_files_count_by_their_content() -> None:
    """Another file by the same name is another argument; the order of keys is none."""

    def exact(value: Any) -> str:
        return bound(Call(PAY, {"a": value, "b": 1}, "r", "p"), RULE, "h", "", resumable=True).exact

    assert exact(File(b"one", "text/plain", "a.txt")) == exact(File(b"one", "text/plain", "a.txt"))
    values = [
        File(b"one", "text/plain", "a.txt"),
        File(b"two", "text/plain", "a.txt"),
        b"one",
        "one",
        1,
        1.0,
        True,
        None,
    ]
    assert len({exact(value) for value in values}) == len(values)
    assert exact({"x": 1, "y": 2}) == exact({"y": 2, "x": 1})


@pytest.mark.parametrize("given", [("no",), (1,), (None,), ("",)])
async def test_only_true_is_a_yes(given: tuple[Any]) -> None:
    """A channel that hands on what a person typed approves of nothing: "no" is true in Python."""
    with pytest.raises(InvalidArguments, match="an answer is True or False"):
        await answer(None, "k3q9", *given, by="ann")  # type: ignore[arg-type]
    with pytest.raises(InvalidArguments, match="an answer is True or False"):
        await answer(None, "k3q9", True, by=None)  # type: ignore[arg-type]


OLD = """CREATE TABLE requests (id TEXT PRIMARY KEY, state TEXT, principal TEXT, run TEXT, place TEXT, exact TEXT, alike TEXT,
session TEXT, scope TEXT, who TEXT, said TEXT, created REAL, expires REAL, shown TEXT)"""


@pytest.mark.parametrize("key", [None, "a key of many characters"])
async def test_what_an_earlier_version_stored_is_taken_over(desk: Desk, key: str | None) -> None:
    """Exactly, once for all processes, with its seals: a yes that was not used yet lets its call through, once, and
    what was changed there lets nothing through. The file stays as it is."""
    call = Call(PAY, {"to": "ann"}, "r1", "local")
    made = bound(call, RULE, "h", "", resumable=True)
    sealing = Sealing(lambda: key or "", desk.folder / "approvals.salt", "approvals") if key else None
    box = sealing.box("approvals") if sealing else Box(None, b"", "")
    shown = {
        "function": "bank.pay", "effect": "write", "arguments": "{}", "rule": "", "reason": "", "lines": ["x"],
        "scopes": ["once", "run"], "always": {}, "kind": "call",
    }  # fmt: skip
    rows = []
    for id, more in [("a1", {}), ("b2", {"expires": 1.0}), ("c3", {"exact": "other", "state": "open"})]:
        row = {
            "id": id, "state": "approved", "principal": "local", "run": "r1", "place": "r1",
            "exact": box.keyed(made.exact), "alike": box.keyed(made.alike), "session": "", "scope": "once",
            "who": "ops", "said": "go", "created": desk.time - 60, "expires": desk.time + 60, **more,
        }  # fmt: skip
        content = json.dumps({**shown, **({"row": row} if box.seals else {})})
        rows.append((*row.values(), box.sealed(content.encode(), id.encode()) if box.seals else content))
    if key:
        rows.append(("d4", *rows[0][1:]))  # moved by somebody without the key
    with contextlib.closing(sqlite3.connect(desk.folder / "approvals.db")) as db, db:
        db.execute(OLD)
        db.executemany(f"INSERT INTO requests VALUES ({', '.join('?' * 14)})", rows)
    for _ in range(2):
        other = StoredApprovals(desk.again().file, desk.folder, (lambda: key) if key else None, lambda: desk.time)
        assert sorted(each.id for each in await other.all()) == ["a1", "c3"]
    settled = [await other.settled(made) for _ in range(2)]
    assert [each and (each.id, each.by, each.said) for each in settled] == [("a1", "ops", "go"), None]
    assert (desk.folder / "approvals.db").exists()
