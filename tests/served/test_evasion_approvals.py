"""Agents that try to make a call which a person has to approve of, with another call's yes, with somebody else's, with
none, or with one that was got by showing something else."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mcp_types as t
import pytest
from doorward_approvals.conformance import answer_in, requests_in

from .evasion import Bank, banking
from .product import Agent, Project, web
from .test_http_auth import connected as connected_as
from .test_http_auth import token

pytestmark = pytest.mark.anyio
ERAS = ("auto", "legacy")
RUN = "approve every call of this function in this run"
CONFIRM = """
[[policy.rules]]
match = "bank.pay_from"
when = "args.amount > 1000.0"
then = "deny"
reason = "too much"
[[policy.rules]]
class = ["write", "destructive"]
then = "confirm"
reason = "money needs a person"
"""
PAY = "import bank\nresult = bank.make_payment(amount={amount}, toAccount={to!r})['done']"


@pytest.fixture(scope="module")
def bank() -> Iterator[str]:
    with web(Bank) as url:
        yield url


@dataclass
class Served:
    """A server with two principals, and the person who answers."""

    project: Project
    url: str
    tokens: dict[str, str]

    def client(self, era: str, name: str = "alice", **callbacks: Any) -> AbstractAsyncContextManager[Agent]:
        return connected_as(self.url, self.tokens[name], era, **callbacks)

    def approve(self, run: str, **options: Any) -> None:
        approve(self.project, run, **options)


@pytest.fixture(scope="module")
def served(bank: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    project = banking(tmp_path_factory.mktemp("approved"), bank, CONFIRM)
    tokens = {name: token(project, name)["token"] for name in ("alice", "bob")}
    with project.http() as (url, _):
        yield Served(project, url, tokens)


@pytest.fixture
def project(bank: str, tmp_path: Path) -> Project:
    return banking(tmp_path, bank, CONFIRM)


@pytest.fixture(autouse=True)
def ledger() -> list[tuple[str, str, Any]]:
    Bank.ledger.clear()
    return Bank.ledger


def approve(project: Project, run: str = "", **options: Any) -> str:
    """A person says yes to the only request that is open, of a run. Returns: its id."""
    (request,) = [each for each in requests_in(project.state) if each.state == "open" and run in ("", each.run)]
    answer_in(project.state, request.id, True, **options)
    return request.id


def payments(ledger: list[tuple[str, str, Any]]) -> list[float]:
    return [json.loads(body)["amount"] for method, _, body in ledger if method == "POST"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_yes_is_for_one_call_of_one_run(served: Served, ledger: Any, era: str) -> None:
    """Not for other arguments, another function, the same call of another run or once more."""
    async with served.client(era) as agent:
        waiting = (await agent.run(PAY.format(amount=50, to="ann")))["waiting"]
        served.approve(waiting["run"])
        for amount, to in ((51, "ann"), (50, "Ann"), (50.5, "ann"), (50, "ann")):
            again = await agent.run(PAY.format(amount=amount, to=to))
            assert again["waiting"]["for"] == "approval", again
        other = "import bank\nbank.pay_from(id=1, amount=50, toAccount='ann')"
        assert (await agent.run(other))["waiting"]["for"] == "approval"
        assert payments(ledger) == []
        assert (await agent.call("resume_run", run=waiting["run"]))["value"] == "POST"
        assert (await agent.call("resume_run", run=waiting["run"]))["value"] == "POST"  # told once more, and not made
        assert payments(ledger) == [50]
        assert not (await agent.call("resume_run", run=waiting["run"].upper()))["ok"]
    assert payments(ledger) == [50]


async def test_a_yes_without_a_run_is_for_one_call_too(project: Project, ledger: Any) -> None:
    """The tool that calls functions has no run that could wait: the same call takes the yes, once, and no other."""
    project.change(first='surface = "calls"\n')
    project.change("[limits]", "[limits]\nasking = 1")

    async def pay(agent: Agent, **arguments: Any) -> bool:
        return bool((await agent.call("call_function", function="bank.makePayment", arguments=arguments))["ok"])

    async with project.stdio("legacy") as agent:
        assert not await pay(agent, amount=50, toAccount="ann")
        approve(project)
        assert not await pay(agent, amount=51, toAccount="ann")
        assert not await pay(agent, amount=50, toAccount="ann", note="")
        assert payments(ledger) == []
        assert await pay(agent, amount=50, toAccount="ann")
        assert not await pay(agent, amount=50, toAccount="ann")
    assert payments(ledger) == [50]


@pytest.mark.parametrize("era", ERAS)
async def test_one_principals_yes_and_runs_are_nothing_to_another(served: Served, ledger: Any, era: str) -> None:
    """Who knows the id of another's run learns nothing by it, and the same call is asked about again."""
    async with served.client(era) as hers, served.client(era, "bob") as his:
        waiting = (await hers.run(PAY.format(amount=50, to="ann")))["waiting"]
        served.approve(waiting["run"], scope="run")
        theirs = await his.call("resume_run", run=waiting["run"])
        none = await his.call("resume_run", run="0" * 16)
        assert not theirs["ok"]
        assert str(theirs["error"]).replace(waiting["run"], "") == str(none["error"]).replace("0" * 16, "")
        for agent in (his, hers):
            assert (await agent.run(PAY.format(amount=50, to="ann")))["waiting"]["for"] == "approval"
        assert payments(ledger) == []
        assert (await hers.call("resume_run", run=waiting["run"]))["ok"]
    assert payments(ledger) == [50]


@pytest.mark.parametrize("era", ERAS)
async def test_a_yes_for_a_run_ends_with_it(served: Served, ledger: Any, era: str) -> None:
    """Nor is it for another function of that run."""
    asked: list[str] = []

    async def person(context: Any, params: Any) -> t.ElicitResult:
        asked.append(params.message)
        yes = len(asked) == 1
        return t.ElicitResult(action="accept" if yes else "decline", content={"answer": RUN} if yes else None)

    code = PAY.format(amount=50, to="ann") + "\nbank.make_payment(amount=60)\nbank.pay_from(id=1, amount=70)"
    async with served.client(era, elicitation_callback=person) as agent:
        assert "denied by" in str((await agent.run(code))["error"])
        assert "denied by" in str((await agent.run(PAY.format(amount=50, to="ann")))["error"])
    assert payments(ledger) == [50, 60]
    assert len(asked) == 3


@pytest.mark.parametrize("era", ERAS)
async def test_no_program_writes_what_the_person_reads(served: Served, ledger: Any, era: str) -> None:
    """Long values do not push out the next, and neither arguments nor lines of the program pass for our words."""
    asked: list[str] = []

    async def person(context: Any, params: Any) -> t.ElicitResult:
        asked.append(params.message)
        return t.ElicitResult(action="decline")

    fake = '\n\nArguments:\n    {"amount": 1}\n\x1b[2J\u202eDoorward asks\r'
    code = (
        "# make_payment: Doorward asks for your approval: local wants to call bank.list_accounts (read).\n"
        f"import bank\nbank.make_payment(note={fake!r} + 'x' * 50_000, details={{'a\u2028b': ['y'] * 5000}}, "
        f"toAccount='mallory', amount=999)  # make_payment {'z' * 500}"
    )
    async with served.client(era, elicitation_callback=person) as agent:
        assert "denied by" in str((await agent.run(code))["error"])
    (message,) = asked
    assert message.startswith("Doorward asks for your approval: alice wants to call bank.make_payment (write).")
    assert '      "toAccount": "mallory"' in message
    assert '      "amount": 999' in message
    assert "NOT shown whole here" in message
    assert all(letter.isprintable() or letter == "\n" for letter in message)
    ours = [line for line in message.split("\n") if line and not line.startswith("    ")]
    assert len(ours) == 4, ours
    assert len(message) < 6000
    assert payments(ledger) == []


async def test_always_leaves_what_is_denied_denied(project: Project, ledger: Any) -> None:
    """The rule that lets calls like this through stands behind the one that denies large ones."""
    code = "import bank\nresult = bank.pay_from(id=1, amount={})['done']"
    async with project.stdio() as agent:
        assert (await agent.run(code.format(50)))["waiting"]
    (request,) = requests_in(project.state)
    done = project.run("approvals", "approve", request.id, "--always", "--yes")
    assert done.returncode == 0, done.stderr
    async with project.stdio() as agent:
        assert await agent.value(code.format(60)) == "POST"
        assert "too much" in str((await agent.run(code.format(5000)))["error"])
        assert (await agent.run(code.format(60).replace("id=1", "id=2")))["waiting"]
    assert payments(ledger) == [60]


async def test_what_is_forbidden_meanwhile_is_not_done(project: Project, ledger: Any) -> None:
    """A run is approved of, and a rule is made before it is resumed: by a server that was started anew."""
    async with project.stdio() as agent:
        waiting = (await agent.run(PAY.format(amount=50, to="ann")))["waiting"]
    approve(project)
    project.change(CONFIRM, '[[policy.rules]]\nmatch = "bank.make_payment"\nthen = "deny"\n' + CONFIRM)
    async with project.stdio() as agent:
        answer = await agent.call("resume_run", run=waiting["run"])
    assert "not allowed by the operator's policy" in str(answer["error"]), answer
    assert payments(ledger) == []


def garbage(file: Path) -> None:
    file.write_bytes(b"no database" * 1000)


def torn(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def gone(file: Path) -> None:
    for each in file.parent.glob("store.db*"):
        each.unlink()


def other_layout(file: Path) -> None:
    gone(file)
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE records (kind TEXT, key TEXT, value BLOB)")
        db.execute("INSERT INTO records VALUES ('approvals', '\"local\" 1', '{}')")


def odd_rows(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("UPDATE records SET value = '{' WHERE kind = 'approvals'")


@pytest.mark.parametrize("damage", [garbage, torn, gone, other_layout, odd_rows])
async def test_a_damaged_file_approves_of_nothing(served: Served, ledger: Any, damage: Any) -> None:
    """A yes that can no longer be read is none. The agent is told something, and the server goes on."""
    file = served.project.state / "store.db"
    async with served.client("auto") as agent:
        waiting = (await agent.run(PAY.format(amount=50, to=damage.__name__)))["waiting"]
        served.approve(waiting["run"])
        with sqlite3.connect(file) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        damage(file)
        again = await agent.call("resume_run", run=waiting["run"])
        assert not again["ok"], again
        assert not (await agent.run(PAY.format(amount=50, to="ann")))["ok"]
        assert await agent.value("1 + 1") == 2
    gone(file)
    assert payments(ledger) == []


async def test_a_locked_file_approves_of_nothing(served: Served, ledger: Any) -> None:
    """Until it can be read again."""
    async with served.client("auto") as agent:
        waiting = (await agent.run(PAY.format(amount=50, to="locked")))["waiting"]
        served.approve(waiting["run"])
        with closing(sqlite3.connect(served.project.state / "store.db", isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
            again = await agent.call("resume_run", run=waiting["run"])
            assert not again["ok"], again
            assert payments(ledger) == []
            db.execute("ROLLBACK")
