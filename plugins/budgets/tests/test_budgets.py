"""Budgets: counted for each principal, shared by processes, never exceeded, renewed, and told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import ApiError, Call, ConfigError, LimitExceeded, PluginContext, StateError, Wait
from doorward.engines import MemoryStore
from doorward_budgets.account import Account
from doorward_budgets.counters import Counters
from doorward_budgets.settings import BudgetSettings
from doorward_durable_runs import STORED_RUNS
from doorward_store_sqlite import SqliteStore
from doorward_testing.samples import CONFIG, Weather

pytestmark = pytest.mark.anyio


def budget(table: str) -> str:
    return f"{CONFIG}\n[[budgets]]\n{table}\n"


async def ask(gate: Any, principal: str = "local", city: str = "Oslo") -> Any:
    return await gate.call("weather.get_forecast", {"city": city}, principal=principal)


async def test_a_budget_may_be_that_of_a_group(doorward_host: Any) -> None:
    """Each of its members has it for themselves; an unknown group stops the start."""
    text = 'groups = { ops = ["ann", "bob*"] }\n' + budget('principal = "@ops"\ncalls = 1')
    async with doorward_host.gateway(text) as gate:
        for principal in ("ann", "bobby"):
            await ask(gate, principal)
            with pytest.raises(LimitExceeded, match="the budget of"):
                await ask(gate, principal)
        for _ in range(3):
            await ask(gate, "carl")
    with pytest.raises(ConfigError, match="there is no group 'oops'; did you mean 'ops'"):
        async with doorward_host.gateway(text.replace("@ops", "@oops")):
            pass


async def test_calls_are_counted_for_each_principal(doorward_host: Any) -> None:
    """The sixth call of each is refused, with when it is renewed and where the operator sets it."""
    async with doorward_host.gateway(budget('server = "wether"\ncalls = 5')) as gate:
        assert [*gate.principals.unknown()] == ["[[budgets]] 1 server: 'wether' fits no server"]
    async with doorward_host.gateway(budget('server = "weather"\ncalls = 5')) as gate:
        for who in ("ann", "bob"):
            for _ in range(5):
                await ask(gate, who)
            with pytest.raises(
                LimitExceeded, match=r"the budget of '...' is used up: 5 calls of weather a day"
            ) as told:
                await ask(gate, who)
            assert "It is renewed at 00:00 UTC, in " in (told.value.hint or "")
            assert "[[budgets]] 1" in (told.value.hint or "")


@pytest.mark.slow
async def test_what_is_used_outlives_the_process(doorward_host: Any) -> None:
    """Not what was only held: the next gateway has exactly the rest."""
    text = budget("calls = 100")
    for made in (30, 70):
        async with doorward_host.gateway(text) as gate:
            for _ in range(made):
                await ask(gate)
    async with doorward_host.gateway(text) as gate:
        with pytest.raises(LimitExceeded):
            await ask(gate)


@pytest.mark.slow
async def test_calls_at_once_do_not_exceed_it(doorward_host: Any) -> None:
    """Two hundred at the same moment, and a budget of fifty."""
    async with doorward_host.gateway(budget("calls = 50")) as gate:
        await gate.ready()
        answers = await asyncio.gather(*(ask(gate) for _ in range(200)), return_exceptions=True)
    assert sum(isinstance(answer, dict) for answer in answers) == 50
    assert all(isinstance(answer, (dict, LimitExceeded)) for answer in answers)


async def test_others_have_other_budgets(doorward_host: Any) -> None:
    """A pattern says whose; another server, or somebody else, pays nothing. All that fit must have some left."""
    text = budget('principal = "guest-*"\ncalls = 1') + '[[budgets]]\nserver = "other"\ncalls = 1\n'
    async with doorward_host.gateway(text) as gate:
        for _ in range(3):
            await ask(gate, "ann")
        await ask(gate, "guest-1")
        await ask(gate, "guest-2")
        with pytest.raises(LimitExceeded):
            await ask(gate, "guest-1")


async def test_who_is_refused_by_one_budget_pays_for_no_other(doorward_host: Any) -> None:
    """A refused call has not been made."""
    text = budget("calls = 10") + '[[budgets]]\nper = "hour"\ncalls = 2\n'
    async with doorward_host.gateway(text) as gate:
        for _ in range(2):
            await ask(gate)
        for _ in range(20):
            with pytest.raises(LimitExceeded, match="2 calls an hour"):
                await ask(gate)
    assert used(gate.state, "* * day") == 2


def used(state: Path, name: str) -> float:
    return amounts(state)[name]["calls"]


def amounts(state: Path) -> dict[str, dict[str, float]]:
    """What the file says that was used of each budget, by unit."""
    with contextlib.closing(sqlite3.connect(state / "store.db")) as db:
        rows = db.execute("SELECT key, value FROM records WHERE kind = 'budgets'").fetchall()
    return {json.loads(key)[0]: json.loads(value)["used"] for key, value in rows}


def shared(folder: Path) -> SqliteStore:
    return SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), folder))


@pytest.mark.slow
async def test_bytes_runs_and_money_are_counted(doorward_host: Any) -> None:
    """The answer that goes beyond is the last; a price is known before the call."""
    async with doorward_host.gateway(budget('bytes = "100KiB"')) as gate:
        await gate.call("weather.big", {})
        with pytest.raises(LimitExceeded, match="102,400 bytes a day"):
            await ask(gate)
    priced = CONFIG.replace("[servers.weather]", "[servers.weather]\nprice = 0.5")
    async with doorward_host.gateway(priced + "\n[[budgets]]\ncost = 2.2\n") as gate:
        for _ in range(4):
            await ask(gate, "ann")
        with pytest.raises(LimitExceeded, match=r"a cost of 2\.2 a day"):
            await ask(gate, "ann")
    async with doorward_host.gateway(budget("runs = 2")) as gate:
        for ok in (True, True, False):
            assert (await gate.execute("1 + 1", principal="ann")).ok is ok


@pytest.mark.slow
async def test_a_run_that_is_resumed_pays_once(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run, its calls and what its source said that they cost, however often it is resumed."""
    doorward_host.install_real("runs")
    call, asked = Weather.call, {"Bergen"}

    async def priced(self: Weather, made: Call) -> Any:
        made.usage.add("cost", 1.0)
        return await call(self, made)

    async def settle(journal: Any, call: Call, run: Any, known: Any) -> None:
        if call.arguments["city"] in asked:
            await run.wait(Wait("approval", "may it?"))

    monkeypatch.setattr(Weather, "call", priced)
    monkeypatch.setattr("doorward_durable_runs.journal.recorder.Journal.settle", settle)
    code = "for city in ['Oslo', 'Bergen', 'Paris', 'Rome']:\n    await weather.add_station(city=city)"
    async with doorward_host.gateway(budget("calls = 100\nruns = 100\ncost = 100")) as gate:
        waits = await gate.execute(code)
        for _ in range(3):
            assert (await gate.services[STORED_RUNS].resume(waits.waiting.run)).waiting
    asked.clear()
    async with doorward_host.gateway(budget("calls = 100\nruns = 100\ncost = 100")) as gate:
        outcome = await gate.services[STORED_RUNS].resume(waits.waiting.run)
        assert outcome.ok, outcome
        state = gate.loaded.state_folder()
    used = {unit: round(amount, 3) for unit, amount in amounts(state)["* * day"].items()}
    assert used == {"calls": 4, "runs": 1, "cost": 4}


async def test_a_failed_call_counts(doorward_host: Any) -> None:
    """It was made."""
    async with doorward_host.gateway(budget("calls = 1")) as gate:
        with pytest.raises(ApiError):
            await gate.call("weather.fail", {})
        with pytest.raises(LimitExceeded):
            await ask(gate)


@pytest.mark.slow
async def test_many_calls_are_few_statements(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process takes a share of what is left, and asks again when that is spent."""
    takes: list[float] = []
    take = Counters.take
    monkeypatch.setattr(Counters, "take", lambda *given, **more: takes.append(0) or take(*given, **more))
    async with doorward_host.gateway(budget("calls = 10_000")) as gate:
        for _ in range(300):
            await ask(gate)
    assert len(takes) == 1


async def test_a_budget_is_renewed() -> None:
    """In the next hour all of it is there again; what was held of the last one is worth nothing."""
    now = [3600.0 * 500_000]
    account = Account(BudgetSettings(calls=3, per="hour"), "here", "ann", Counters(MemoryStore()), lambda: now[0])
    for _ in range(2):
        for _ in range(3):
            await account.take({"calls": 1.0})
        with pytest.raises(LimitExceeded, match="3 calls an hour"):
            await account.take({"calls": 1.0})
        now[0] += 3600


async def test_a_clock_that_was_wrong_gives_nothing_away() -> None:
    """Who is late for the next period gets nothing of the last one; a counter of the far future is forgotten."""
    counters = Counters(MemoryStore())

    async def take(period: int, least: float) -> float:
        return await counters.take("* * day", "ann", "calls", period=period, limit=3.0, least=least, held=0.0)

    assert await take(101, 3.0) == 3
    assert await take(100, 1.0) == 0
    assert await take(101, 1.0) == 0
    assert await take(50, 3.0) == 3
    assert await take(50, 1.0) == 0


async def test_what_cannot_be_counted_is_refused(doorward_host: Any) -> None:
    """A folder in the place of the file: nothing that has a budget goes on."""
    async with doorward_host.gateway(budget("calls = 5")) as gate:
        await gate.ready()
        for file in gate.state.glob("store.db*"):
            file.unlink()
        (gate.state / "store.db").mkdir()
        with pytest.raises(StateError, match=r"store.db"):
            await ask(gate)


@pytest.mark.parametrize("table", ["", 'server = "weather"\nruns = 3', "calls = 0", 'per = "week"\ncalls = 1'])
async def test_a_budget_that_says_nothing_is_an_error(doorward_host: Any, table: str) -> None:
    """The start says where."""
    with pytest.raises(ConfigError, match="budgets"):
        async with doorward_host.gateway(budget(table)):
            pass


async def test_two_budgets_that_count_the_same_are_an_error(doorward_host: Any) -> None:
    """Each call would count twice."""
    same = budget("calls = 5") + "[[budgets]]\nruns = 5\n[[budgets]]\ncalls = 6\n"
    with pytest.raises(ConfigError, match=r"\[\[budgets\]\] 3: another budget counts the same"):
        async with doorward_host.gateway(same):
            pass


async def counted(store: SqliteStore) -> dict[str, float]:
    [(_, amounts)] = (await Counters(store).all()).values()
    return amounts


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    yield (made := shared(tmp_path))
    await made.close()


@pytest.fixture
async def account(store: SqliteStore) -> Account:
    """Of ten calls it holds one, of a hundred bytes five, and has spent one of each."""
    account = Account(
        BudgetSettings(calls=40, bytes=1000, per="day"), "here", "ann", Counters(store), lambda: 86400.0 * 20000
    )
    await account.take({"calls": 1.0, "bytes": 1.0})
    return account


@pytest.mark.slow
async def test_what_cannot_be_given_back_is_kept(
    account: Account, store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No unit is forgotten while somebody else holds the file; the next time all of them are given back."""
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await store._writer.run(lambda: store._writer._db.execute("PRAGMA busy_timeout = 0"))
        with pytest.raises(StateError, match="another process holds it locked"):
            await account.give_back()
    assert account.fits({"calls": 1.0})
    await account.give_back()
    assert await counted(store) == {"calls": 2, "bytes": 1}


async def test_a_gateway_logs_what_it_could_not_give_back(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And gives it back the next time it looks."""
    async with doorward_host.gateway(budget("calls = 100")) as gate:
        await ask(gate)
        with monkeypatch.context() as held:
            held.setattr(Counters, "add", failing)
            await gate.plugins.manager.get_plugin("budgets").flush()
        await gate.plugins.manager.get_plugin("budgets").flush()
        assert used(gate.state, "* * day") == 1
    assert "budget_not_given_back" in capfd.readouterr().err


async def failing(*given: object) -> None:
    raise StateError("what is used cannot be counted")


@pytest.mark.slow
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("what", ["add", "take"])
async def test_who_is_cancelled_meanwhile_loses_nothing(
    account: Account, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, what: str, native: bool
) -> None:
    """A gateway that closes while it gives back, a client that leaves while its call is counted: all of it is counted
    once, and nothing that was not used."""
    begun, go = asyncio.Event(), asyncio.Event()
    work = getattr(Counters, what)

    async def slow(*given: object, **more: object) -> object:
        begun.set()
        await go.wait()
        return await work(*given, **more)

    monkeypatch.setattr(Counters, what, slow)

    async def do() -> None:
        with scope:
            await (account.give_back() if what == "add" else account.take({"calls": 5.0, "bytes": 60.0}))

    scope = anyio.CancelScope()
    task = asyncio.ensure_future(do())
    await begun.wait()
    task.cancel() if native else scope.cancel()
    await anyio.sleep(0.01)
    go.set()
    await asyncio.wait([task])
    monkeypatch.undo()
    await account.give_back()
    assert await counted(store) == {"calls": 1, "bytes": 1}


SPENDER = """
import asyncio, sys
from pathlib import Path
from doorward import LimitExceeded, PluginContext
from doorward_budgets.account import Account
from doorward_budgets.counters import Counters
from doorward_budgets.settings import BudgetSettings
from doorward_store_sqlite import SqliteStore

async def main():
    counters = Counters(SqliteStore(PluginContext("sqlite", SqliteStore.Settings(), Path(sys.argv[1]))))
    account = Account(BudgetSettings(calls=300), "here", "ann", counters, lambda: 86400.0 * 20000)
    made = 0

    async def spend():
        nonlocal made
        for _ in range(40):
            try:
                if not account.fits({"calls": 1.0}):
                    await account.take({"calls": 1.0})
            except LimitExceeded:
                return
            made += 1
            await asyncio.sleep(0)

    await asyncio.gather(*(spend() for _ in range(5)))
    if "kill" not in sys.argv:
        await account.give_back()
    print(made)

asyncio.run(main())
"""


@pytest.mark.slow
async def test_several_processes_never_exceed_it(tmp_path: Path) -> None:
    """Four race for 300 calls: exactly as many are made, all told. Those of one that is killed are lost, not doubled."""

    async def spent(*more: str) -> int:
        done = await anyio.run_process([sys.executable, "-c", SPENDER, str(tmp_path), *more], stderr=subprocess.PIPE)
        return int(done.stdout)

    counts = await asyncio.gather(*(spent() for _ in range(4)))
    assert sum(counts) + await spent() == 300
    for file in tmp_path.glob("store.db*"):
        file.unlink()
    counts = await asyncio.gather(*(spent("kill") for _ in range(4)))
    assert 300 * 0.8 <= sum(counts) <= 300


async def test_what_an_earlier_version_counted_is_taken_over(tmp_path: Path) -> None:
    """Exactly, once for all processes; the file stays as it is, and what others counted in it is left to them."""
    with contextlib.closing(sqlite3.connect(tmp_path / "usage.db")) as db, db:
        db.execute("CREATE TABLE used (budget TEXT, principal TEXT, unit TEXT, period INTEGER, amount REAL)")
        rows = [
            ("* * day", "ann", "calls", 20000, 7.0), ("* * day", "ann", "bytes", 20000, 123.5),
            ("* * day", "bob", "calls", 19999, 9.0), ("* * day", "bob", "bytes", 20000, 1.0),
            ("[limits] rate", "ann", "5", 5, 3.0), ("withheld answers", "ann", "5", 5, 1.0),
        ]  # fmt: skip
        db.executemany("INSERT INTO used VALUES (?, ?, ?, ?, ?)", rows)
    one, two = shared(tmp_path), shared(tmp_path)
    account = Account(
        BudgetSettings(calls=10), "here", "ann", Counters(one, tmp_path / "usage.db"), lambda: 86400.0 * 20000
    )
    for _ in range(3):
        await account.take({"calls": 1.0})
    with pytest.raises(LimitExceeded):
        await account.take({"calls": 1.0})
    assert await Counters(two, tmp_path / "usage.db").all() == {
        ("* * day", "ann"): (20000, {"calls": 10.0, "bytes": 123.5}),
        ("* * day", "bob"): (20000, {"bytes": 1.0}),
    }
    for each in (one, two):
        await each.close()


async def test_a_store_that_forgets_is_refused(doorward_host: Any) -> None:
    """Unless the configuration names it: else to uninstall the store would loosen every budget."""
    doorward_host.entries = [entry for entry in doorward_host.entries if entry.kind != "store"]
    with pytest.raises(ConfigError, match="budgets need a store") as told:
        async with doorward_host.gateway(budget("calls = 1")):
            pass
    assert "pip install doorward-store-sqlite" in (told.value.hint or "")
    async with doorward_host.gateway('store = "memory"\n' + budget("calls = 1")) as gate:
        await ask(gate)
        with pytest.raises(LimitExceeded):
            await ask(gate)
    async with doorward_host.gateway(CONFIG) as gate:
        await ask(gate)


async def test_a_call_that_has_its_share_makes_no_step_in_the_store(doorward_host: Any) -> None:
    """However many there are: what a process holds is spent in memory."""
    steps: list[str] = []

    class Counted(MemoryStore):
        lasts = True

        async def get(self, *given: Any) -> Any:
            steps.append("get")
            return await super().get(*given)

        async def commit(self, *changes: Any, **more: Any) -> int:
            steps.append("commit")
            return await super().commit(*changes, **more)

    doorward_host.install("store", "counted", Counted)
    async with doorward_host.gateway('store = "counted"\n' + budget("calls = 10_000")) as gate:
        await ask(gate)
        before = [*steps]
        for _ in range(100):
            await ask(gate)
        assert steps == before
