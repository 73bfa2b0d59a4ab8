"""Searches learn from what runs call, through the gateway as agents use it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import structlog
from doorward import Gateway, StateError
from doorward_search.learning.learning import MAX_OF_ONE, MAX_UNWRITTEN
from doorward_search.learning.lessons import HALF_LIFE_SECONDS, WORD, Amount, Lesson
from doorward_search.learning.run_record import RunRecord
from doorward_search.learning.stored_lessons import StoredLessons
from doorward_testing.shop import CONFIG, Shop

from .conftest import engine, learning, plugin_of

pytestmark = pytest.mark.anyio

QUESTION = "order of a customer for Erika Mustermann, token s3cr3t-value"
OLD, NEW = "other.read_orders", "other.list_orders"


@pytest.fixture
def shop(doorward_host: Any) -> Any:
    doorward_host.install("source", "shop", Shop)
    return doorward_host


@pytest.fixture
async def gate(shop: Any) -> AsyncIterator[Gateway]:
    async with shop.gateway(CONFIG) as opened:
        yield opened


async def names(gate: Gateway, question: str = QUESTION, **more: Any) -> list[str]:
    return [hit["function"] for hit in (await gate.search_functions(question, **more))["functions"]]


async def call(gate: Gateway, name: str, principal: str = "local", times: int = 1) -> None:
    outcome = await gate.execute(f"for _ in range({times}): await doorward.call({name!r})", principal=principal)
    assert outcome.ok, outcome


async def learn(gate: Gateway, name: str = OLD, *, times: int = 3, principal: str = "local") -> None:
    for _ in range(times):
        await names(gate, principal=principal)
        await call(gate, name, principal)


async def stored(gate: Gateway) -> list[tuple[str, int]]:
    return [(record.key, record.version) for record in await gate.store.scan("lessons")]


async def words(gate: Gateway, principal: str = "local") -> dict[tuple[str, str], float]:
    known = (await learning(gate).known(principal)).words
    return {(word, function): amount.times for word, theirs in known.items() for function, amount in theirs.items()}


async def test_what_was_called_is_found_sooner(gate: Gateway) -> None:
    """Searched, called with success, searched again: the order has changed, for such words. What is found and how many
    stay as they were."""
    before, other = await names(gate), await names(gate, "send money")
    assert before.index(NEW) < before.index(OLD)
    await learn(gate)
    after = await names(gate)
    assert after[0] == OLD
    assert sorted(after) == sorted(before)
    assert await names(gate, "send money") == other


@pytest.mark.slow
async def test_one_success_turns_no_ranking_upside_down(gate: Gateway) -> None:
    """Nor does a common word alone. What deletes is not raised for those who did not ask for it."""
    before = await names(gate, "send a parcel to a customer")
    await names(gate, "send money to a customer")
    assert (await gate.answer("other.refund", {"order_key": "1", "state": "open"})).ok
    assert await names(gate, "send a parcel to a customer") == before
    for _ in range(20):
        await names(gate, "delete the order of a customer")
        assert (await gate.answer("other.delete_orders")).ok
    assert (await names(gate, "order of a customer"))[0] != "other.delete_orders"


async def test_a_call_that_failed_teaches_nothing(gate: Gateway) -> None:
    await names(gate)
    outcome = await gate.execute("await doorward.call('other.fail')")
    assert not outcome.ok
    assert not await words(gate)


@pytest.mark.slow
async def test_a_run_counts_once_however_often_it_searches_and_calls(gate: Gateway) -> None:
    """So a program gains nothing by a loop. What nobody searched is not raised either."""
    await names(gate)
    await call(gate, OLD, times=1)
    once = await words(gate)
    assert once
    again = f"for _ in range(50):\n    await doorward.search({QUESTION!r})\n    await doorward.call({OLD!r})"
    assert (await gate.execute(again)).ok
    assert {key: round(times / once[key]) for key, times in (await words(gate)).items()} == dict.fromkeys(once, 2)
    assert {word for word, _ in once} == {"order", "customer"}


async def test_a_search_is_remembered_for_three_runs_and_ten_minutes(
    gate: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that call nothing with success do not count."""
    await names(gate)
    await gate.execute("1 + 1")
    for _ in range(3):
        await call(gate, NEW)
    known = await words(gate)
    await call(gate, OLD)
    assert await words(gate) == known
    await names(gate)
    monkeypatch.setattr(learning(gate)._recent, "_clock", lambda: 1e12)
    await call(gate, OLD)
    assert await words(gate) == known


@pytest.mark.slow
async def test_principals_learn_apart_unless_they_share(shop: Any) -> None:
    """Each from themselves, or all from each other, as the operator says."""
    async with shop.gateway(CONFIG) as gate:
        before = await names(gate, principal="bob")
        await learn(gate, principal="alice")
        assert (await names(gate, principal="alice"))[0] == OLD
        assert await names(gate, principal="bob") == before
    async with shop.gateway(CONFIG + "[search]\nshared = true\n") as gate:
        await learn(gate, principal="alice")
        assert (await names(gate, principal="bob"))[0] == OLD


async def test_what_policy_denies_is_not_raised_nor_told(shop: Any) -> None:
    """Even if everybody learns from those who may call it."""
    bob = f'[search]\nshared = true\n[principals.bob]\nservers = ["*"]\ndeny = ["{OLD}"]\n'
    async with shop.gateway(CONFIG + bob) as gate:
        for _ in range(4):
            await names(gate, principal="alice")
            outcome = await gate.execute(
                f"await doorward.call('{OLD}'); await doorward.call('{NEW}')", principal="alice"
            )
            assert outcome.ok
        assert "often with: " + OLD in (await gate.get_functions([NEW], principal="alice"))[0]["text"]
        assert OLD not in await names(gate, principal="bob")
        assert "often with" not in (await gate.get_functions([NEW], principal="bob"))[0]["text"]


@pytest.mark.slow
async def test_lessons_last_and_fade(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are there after a restart; a month later they count half, and some time later nothing."""
    async with shop.gateway(CONFIG) as gate:
        before = await names(gate)
        await learn(gate)
    async with shop.gateway(CONFIG) as gate:
        assert (await names(gate))[0] == OLD
        now = learning(gate)._clock()
        amounts = [
            amount for theirs in (await learning(gate).known("local")).words.values() for amount in theirs.values()
        ]
        assert amounts
        for amount in amounts:
            assert amount.of_word(now + HALF_LIFE_SECONDS) == pytest.approx(amount.of_word(now) / 2, rel=0.01)
        monkeypatch.setattr(learning(gate), "_clock", lambda: now + 12 * HALF_LIFE_SECONDS)
        assert await names(gate) == before


async def test_nothing_that_was_said_or_answered_is_written(shop: Any) -> None:
    """Not a word of a question that the catalog does not have, not a value; in no file beside it either."""
    async with shop.gateway(CONFIG) as gate:
        for _ in range(2):
            await names(gate)
            await gate.execute(FLOW)
        await learning(gate).settle()
        await learning(gate).flush()
        written = b"".join(file.read_bytes() for file in (shop.folder / "state").glob("store.db*"))
        assert b"list_orders" in written
        lessons = b"".join(record.value for record in await gate.store.scan("lessons"))
        for word in (b"erika", b"mustermann", b"s3cr3t", b"secret-order"):
            assert word not in written.lower()
        for word in (b"value", b"token"):  # both are names of columns
            assert word not in lessons.lower()


FLOW = """
orders = await doorward.call("other.list_orders")
await doorward.call("other.ship", order_key=orders[1]["number"], state="open")
result = 1
"""


async def test_values_that_are_passed_on_tell_who_gives_what(gate: Gateway, shop: Any) -> None:
    """After two runs it stands in hits and on the card; an argument of few words is no identifier."""
    for needs in ({}, {"order_key": ["list_orders"]}):
        assert (await gate.execute(FLOW)).ok
        await learning(gate).settle()
        (ship,) = [
            hit for hit in (await gate.search_functions("send a parcel"))["functions"] if "ship" in hit["function"]
        ]
        assert ship.get("needs", {}) == needs
    (card,) = await gate.get_functions(["other.ship"])
    assert "# order_key: `number` of list_orders" in card["text"]
    assert "# state" not in card["text"]


async def test_nobody_is_told_of_a_producer_that_policy_denies(shop: Any) -> None:
    """Nor that a function of another server gives what is needed, if it is of a server that they do not have."""
    two = CONFIG + '[servers.weather]\nsource = "shop"\n[search]\nshared = true\n'
    bob = f'[principals.bob]\nservers = ["*"]\ndeny = ["{NEW}"]\n[principals.eve]\nservers = ["weather"]\n'
    across = FLOW.replace("other.ship", "weather.ship")
    async with shop.gateway(two + bob) as gate:
        for _ in range(3):
            assert (await gate.execute(across, principal="alice")).ok
            await learning(gate).settle()
        (alice,) = await gate.get_functions(["weather.ship"], principal="alice")
        assert f"# order_key: `number` of {NEW}\n# often with: {NEW}" in alice["text"]
        for who in ("bob", "eve"):
            (card,) = await gate.get_functions(["weather.ship"], principal=who)
            assert "list_orders" not in card["text"]
            (hit,) = (await gate.search_functions("ship", server="weather", limit=1, principal=who))["functions"]
            assert (hit["function"], "needs" in hit) == ("weather.ship", False)


async def test_often_with(gate: Gateway) -> None:
    """Runs that call two functions make each mention the other, after three."""
    for told in (False, False, True):
        assert (await gate.execute(FLOW)).ok
        (card,) = await gate.get_functions(["other.list_orders"])
        assert ("# often with: other.ship" in card["text"]) is told


@pytest.mark.slow
async def test_learning_can_be_turned_off(shop: Any) -> None:
    """Then nothing is remembered, read or written."""
    async with shop.gateway(CONFIG) as gate:
        before = await names(gate)
        await learn(gate)
        await learning(gate).flush()
        written = await stored(gate)
        assert written
    async with shop.gateway(CONFIG + "[search]\nlearn = false\n") as gate:
        assert await names(gate) == before
        await learn(gate)
        assert await names(gate) == before
        assert not learning(gate)._recent._of
        assert await stored(gate) == written


@pytest.mark.slow
async def test_a_file_that_cannot_be_used_stops_nothing(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken one is put aside and begun anew; one that cannot be written is said once, and what was learned counts
    until the end."""
    (shop.folder / "state").mkdir(mode=0o700)
    (shop.folder / "state/store.db").write_bytes(b"no database at all " * 100)
    async with shop.gateway(CONFIG) as gate:
        await learn(gate)
        await learning(gate).flush()
        assert (await names(gate))[0] == OLD
    assert (shop.folder / "state/store.db.broken").exists()
    said: list[str] = []
    monkeypatch.setattr("doorward_search.learning.learning.log.warning", lambda event, **more: said.append(event))
    async with shop.gateway(CONFIG) as gate:

        async def full(*given: Any, **more: Any) -> Any:
            raise StateError("no room")

        monkeypatch.setattr(gate.store, "commit", full)
        for _ in range(3):
            await learn(gate, NEW)
            await learning(gate).flush()
        assert (await gate.execute("1 + 1")).value == 2
        assert len(learning(gate)._unwritten)
    assert said.count("lessons_not_written") == 1


async def test_a_graph_that_cannot_be_stored_stops_no_lesson(gate: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is made again the next time."""
    graphs, asked, disk = engine(gate).graphs, [], [StateError("the disk is full")]

    async def renew(server: str) -> None:
        asked.append(server)
        if disk:
            raise disk.pop()

    monkeypatch.setattr(graphs, "renew", renew)
    plugin_of(gate).results_observed(["a", "b"])
    await learn(gate)
    with structlog.testing.capture_logs() as logs:
        await plugin_of(gate).flush()
    assert [line["event"] for line in logs if line["log_level"] != "info"] == ["graph_not_stored"]
    assert not learning(gate)._unwritten
    await plugin_of(gate).flush()
    await plugin_of(gate).flush()
    assert asked == [*asked[:2], asked[0]]


@pytest.mark.slow
async def test_what_was_known_stays_while_the_file_is_locked(
    gate: Gateway, shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is read again as soon as it can be."""
    await learn(gate)
    await learning(gate).flush()
    assert (await names(gate))[0] == OLD
    store, now = learning(gate)._store, learning(gate)._clock()
    assert store is not None
    await StoredLessons(gate.store).add("local", {Lesson(WORD, "order", NEW): Amount(9.0, now)}, now)
    read = store.of

    async def locked(principal: str) -> Any:
        raise StateError("another process holds it locked")

    monkeypatch.setattr(store, "of", locked)
    assert (await names(gate))[0] == OLD
    assert ("order", NEW) not in await words(gate)
    monkeypatch.setattr(store, "of", read)
    assert ("order", NEW) in await words(gate)


@pytest.mark.slow
async def test_a_search_reads_lessons_at_most_once(gate: Gateway, shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only if another process has learned something since; what we write ourselves we know."""
    asked: list[str] = []
    read = gate.store.get

    async def traced(table: str, key: str) -> Any:
        if table == "lessons":
            asked.append(key)
        return await read(table, key)

    monkeypatch.setattr(gate.store, "get", traced)
    await names(gate)
    await names(gate)
    assert asked == ["local"]
    await learn(gate)
    await learning(gate).flush()
    known = await learning(gate).known("local")
    await names(gate)
    assert await learning(gate).known("local") is known
    asked.clear()
    await names(gate)
    assert asked == []
    now = learning(gate)._clock()
    await StoredLessons(gate.store).add("local", {Lesson(WORD, "order", NEW): Amount(9.0, now)}, now)
    asked.clear()
    await names(gate)
    assert ("order", NEW) in await words(gate)
    await names(gate, "send money")
    assert asked == ["local"]


@pytest.mark.slow
async def test_gateways_share_what_they_learn(shop: Any) -> None:
    """Two processes on one state folder: one is told what the other has written, and neither's lessons are lost."""
    async with shop.gateway(CONFIG) as one, shop.gateway(CONFIG) as other:
        await learn(one, times=2)
        await learn(other, times=2)
        await learning(one).flush()
        await learning(other).flush()
        both = await words(one)
        assert both == pytest.approx(await words(other))
        assert all(times > 1.5 for times in both.values()), both
        lessons = StoredLessons(other.store)
        assert await lessons.clear() > 0
        assert not await words(one)
        assert list(await lessons.everything()) == []


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
async def test_one_principal_takes_no_room_from_others(shop: Any, shared: bool) -> None:
    """Who searches and calls in a loop is forgotten first."""
    config = CONFIG + f"[search]\nshared = {str(shared).lower()}\n"
    async with shop.gateway(config) as gate:
        for number in range(MAX_UNWRITTEN // 20):
            record = RunRecord("eve")
            record.functions |= dict.fromkeys(f"other.f{number}x{each}" for each in range(8))
            learning(gate).end(record)
        assert len(learning(gate)._unwritten) <= MAX_OF_ONE
        await learn(gate, principal="bob", times=1)
        await learning(gate).flush()
        assert ("order", OLD) in await words(gate, "bob")
