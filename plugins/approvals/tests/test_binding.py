"""What a yes lets through: this call of this principal in this run, once, in time; and nothing else."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from doorward import PluginContext, Services, Settings
from doorward.catalog.catalog import Catalog
from doorward.catalog.sqlite_store import SqliteCatalog
from doorward.model.calls import Call, File
from doorward.model.decisions import Decision
from doorward.model.errors import InvalidArguments, Refused, UnknownName
from doorward.model.functions import Function
from doorward.model.programs import Program
from doorward.plugins.hooks import Hooks
from doorward_approvals.answering import answer
from doorward_approvals.approvals import Approvals
from doorward_approvals.binding import bound
from doorward_approvals.request import ApprovalHooks
from doorward_approvals.sqlite_approvals import LAYOUT, SqliteApprovals
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

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.time = 1_000_000.0
        self.store = SqliteApprovals(folder / "approvals.db")
        self.hooks = Hooks()
        self.hooks.add_hookspecs(ApprovalHooks)
        catalog = Catalog(SqliteCatalog(folder / "catalog.db"))
        gateway: Any = SimpleNamespace(
            plugins=self.hooks, catalog=catalog, servers=Unscrubbed(), services=Services(), decides=True
        )
        self.approvals = Approvals(PluginContext("approvals", Settings(), folder))
        self.approvals.gateway_made(gateway)
        self.approvals._now = lambda: self.time

    def again(self) -> Desk:
        other = Desk(self.folder)
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

    def answer(self, approve: bool = True, **options: Any) -> None:
        (request,) = [each for each in self.store.all(self.time) if each.state == "open"]
        answer(self.store, request.id, approve, **{"by": "ops", "now": self.time, **options})

    def open(self) -> int:
        return sum(each.state == "open" for each in self.store.all(self.time))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


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
    desk.answer()
    assert not await desk.confirm(function=changed)
    assert await desk.confirm()


@pytest.mark.parametrize("fake", [{"file": "{}"}, {"bytes": "{}"}, ["a", "b", None], {"file": ["a", "b", "{}"]}])
async def test_no_object_passes_for_a_file(desk: Desk, fake: Any) -> None:
    """The agent knows the hash of what it wants to send, and has an object approved that looks like it."""
    file = File(b"dangerous", "b", "a")
    text = json.dumps(fake).replace("{}", hashlib.sha256(file.content).hexdigest())
    assert not await desk.confirm(json.loads(text))
    desk.answer()
    assert not await desk.confirm(file)
    assert not await desk.confirm(file.content)


async def test_a_resumed_run_is_let_through_once(desk: Desk) -> None:
    """After an hour, in another process: the second of two such calls is asked about again."""
    assert not await desk.confirm()
    desk.time += 3600
    desk.again().answer()
    later = desk.again()
    assert await later.confirm()
    assert not await later.confirm()
    assert not await desk.confirm()


async def test_a_run_that_waits_again_has_one_request(desk: Desk) -> None:
    """Whoever resumes it too early does not make another."""
    for _ in range(3):
        assert not await desk.again().confirm()
    assert desk.open() == 1


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
    desk.answer()
    assert not await desk.confirm(**other)
    assert await desk.confirm()


@pytest.mark.parametrize("other", [each for each in OTHERS if "to" not in each and "link" not in each])
async def test_a_yes_for_a_run_is_for_no_other(desk: Desk, other: dict[str, Any]) -> None:
    """It covers other arguments of the same function, under the same rule, of the same principal in the same run."""
    assert not await desk.confirm()
    desk.answer(scope="run")
    assert not await desk.confirm(**other)
    assert not await desk.confirm(decision=Decision("confirm", "[[policy.rules]] 2", "payments"))
    for to in ("ann", "bob", "ann"):
        assert await desk.confirm(to)


async def test_a_no_stays_a_no(desk: Desk) -> None:
    """For the same call of that run: to ask until the person is tired is no way."""
    assert not await desk.confirm()
    desk.answer(False, said="too much")
    for _ in range(3):
        with pytest.raises(Refused, match="denied by ops: too much"):
            await desk.confirm()
    assert not await desk.confirm("bob")
    assert not await desk.confirm(run="r2")


async def test_nothing_is_valid_after_it_has_expired(desk: Desk) -> None:
    """Neither a request, which then cannot be answered, nor a yes that was not used."""
    assert not await desk.confirm()
    (request,) = desk.store.all(desk.time)
    desk.time += 24 * 3600
    with pytest.raises(UnknownName):
        answer(desk.store, request.id, True, by="ops", now=desk.time)
    assert not await desk.confirm()
    desk.answer(scope="run")
    desk.time += 24 * 3600
    assert not await desk.confirm()


@pytest.mark.parametrize("id", ["", "0", "%", "*", "' OR 1=1 --", "\x1b[2J"])
async def test_a_guessed_id_answers_nothing(desk: Desk, id: str) -> None:
    assert not await desk.confirm()
    with pytest.raises(UnknownName, match="no request") as unknown:
        answer(desk.store, id, True, by="eve", now=desk.time)
    assert "\x1b" not in unknown.value.message
    assert desk.open() == 1


@pytest.mark.slow
async def test_of_two_answers_the_first_counts(desk: Desk) -> None:
    """However close they are: one is told that it came too late, and by whom it was answered."""
    for number in range(20):
        assert not await desk.confirm(number)
        (request,) = [each for each in desk.store.all(desk.time) if each.state == "open"]
        came: list[bool] = []
        late: list[str] = []

        def reply(approve: bool, id: str = request.id, came: Any = came, late: Any = late) -> None:
            try:
                answer(SqliteApprovals(desk.store.path), id, approve, by=f"says {approve}", now=desk.time)
                came.append(approve)
            except InvalidArguments as error:
                late.append(error.message)

        threads = [threading.Thread(target=reply, args=[approve]) for approve in (True, False)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
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
    import anyio

    for number in range(10):
        assert not await desk.confirm(number)
        desk.answer()
        through: list[bool] = []

        async def once(at: Desk, number: int = number, through: Any = through) -> None:
            through.append(await at.confirm(number))

        async with anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(once, desk.again())
        assert sum(through) == 1
        for each in desk.store.all(desk.time):
            if each.state == "open":
                desk.store.withdrawn(each.id)


async def test_a_scope_that_was_not_offered_is_refused(desk: Desk) -> None:
    assert not await desk.confirm()
    with pytest.raises(InvalidArguments, match="for once or run, not for 'session'"):
        desk.answer(scope="session")
    assert desk.open() == 1


async def test_a_session_reaches_no_other(desk: Desk) -> None:
    """Its id is not stored: who reads the file cannot enter the session."""
    with pytest.raises(Refused, match="nobody has answered"):
        await _in_session(desk, "s1")
    desk.answer(scope="session")
    assert await _in_session(desk, "s1", run="r2", to="bob")
    for session, run in (("s2", "r3"), ("", "r3")):
        with pytest.raises(Refused) if session else _suspends():
            await _in_session(desk, session, run=run)
    assert b"the session s1" not in desk.store.path.read_bytes()


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


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Any]:
    import sqlite3

    from doorward.host.sqlite_layout import SqliteLayout

    made = sqlite3.connect(":memory:", isolation_level=None), sqlite3.connect(":memory:", isolation_level=None)
    LAYOUT.apply(made[0])
    SqliteLayout(LAYOUT.steps, LAYOUT.probe).apply(made[1])
    yield made
    for each in made:
        each.close()


def test_the_file_is_made_as_its_steps_say(layout: Any) -> None:
    """The SQL that makes a new file at once and the steps of sqlite-utils have the same result."""
    assert len({str(db.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()) for db in layout}) == 1


@pytest.mark.parametrize("given", [("no",), (1,), (None,), ("",)])
def test_only_true_is_a_yes(given: tuple[Any]) -> None:
    """A channel that hands on what a person typed approves of nothing: "no" is true in Python."""
    with pytest.raises(InvalidArguments, match="an answer is True or False"):
        answer(None, "k3q9", *given, by="ann")  # type: ignore[arg-type]
    with pytest.raises(InvalidArguments, match="an answer is True or False"):
        answer(None, "k3q9", True, by=None)  # type: ignore[arg-type]
