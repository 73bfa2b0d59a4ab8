"""What is remembered outlasts a restart, and other processes with the same store know it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest
from doorward import StateError
from doorward.engines import MemoryStore
from doorward_provenance import sharing
from doorward_provenance.labels import Labels
from doorward_provenance.memory import Memory
from doorward_provenance.sharing import TABLE, Sharing
from doorward_provenance.words import Hashes

pytestmark = pytest.mark.anyio

READ = "result = await mail.list_mails()"


def to(address: str) -> str:
    return f"await mail.send(to=[{address!r}])"


async def test_another_process_knows_it(office: Any, store: MemoryStore) -> None:
    """Where a value came from, that its principal was shown it, and what the user said before; of each other, too."""
    head = 'store = "shared"\n'
    async with office(head=head) as one, office(head=head) as other:
        assert (await one.execute(to("ann@office.example"))).ok
        assert (await one.execute(READ)).ok
        for gate in (other, one):
            assert (await gate.execute(to("ann@office.example"))).ok
            why = str((await gate.execute(to("mallory@evil.example"))).error)
            assert "came from a text (`[0].body`) that mail.list_mails answered" in why
            why = str((await gate.execute("await files.delete_file(file_id='13')")).error)
            assert "`file_id` came from a text" in why
        assert (await other.execute(to("mallory@evil.example"), principal="bob")).ok
    async with office(head=head) as later:
        assert "came from a text (`[0].body`) that mail.list_mails" in str(
            (await later.execute(to("mallory@evil.example"))).error
        )
    assert not [record for record in (await store.scan(TABLE)) if b"mallory" in record.value]


async def test_a_store_out_of_reach(office: Any, store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing runs as the user's own because nobody can tell what was shown."""
    async with office(head='store = "shared"\n') as gate:
        assert (await gate.execute(READ)).ok

        async def get(table: str, key: str) -> Any:
            raise StateError("the store is out of reach")

        monkeypatch.setattr(MemoryStore, "get", lambda self, table, key: get(table, key))
        assert (await gate.execute(to("ann@office.example"))).error.type == "StateError"


async def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest records go, but that something was shown stays; an answer that is too large is not stored."""
    monkeypatch.setattr(sharing, "MOST_BYTES", 20_000)
    monkeypatch.setattr(sharing, "MOST_RECORD_BYTES", 5_000)
    store = MemoryStore()
    writer, hashes = Sharing(store, 600), Hashes(b"k")
    memory = Memory(600, hashes=hashes)
    for number in range(60):
        memory.news = memory.news or []
        words = " ".join(f"word{n}" for n in range(2_000 if number == 50 else 40))
        memory.answered("s.f", "s", Labels(untrusted=True), number, {"text": f"{words} at {number}"})
        memory.show(untrusted=number == 0, private=False)
        await writer.save("ann", memory)
    size = sum(len(record.value) for record in await store.scan(TABLE))
    assert 15_000 < size < 21_000
    learned = Memory(600, hashes=hashes)
    await Sharing(store, 600).load("ann", learned)
    assert learned.shown == memory.shown < float("inf")
    kept = [number for number in range(60) if [*learned.origins(f"at {number}")]]
    assert kept == [number for number in range(kept[0], 60) if number != 50]
    other = Memory(600, hashes=hashes)
    await Sharing(store, 600).load("bob", other)
    assert other.shown == float("inf")


def test_the_oldest_goes_first() -> None:
    """And one stays in any case."""
    sizes = OrderedDict([("a", 3 * 2**20), ("b", 2**20), ("c", 2**20)])
    assert sharing._too_much(sizes) == ["a"]
    assert sharing._too_much(OrderedDict([("a", 9 * 2**20)])) == []
