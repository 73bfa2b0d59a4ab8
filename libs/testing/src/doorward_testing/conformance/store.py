"""Conformance tests of storage engines: inherit `StoreConformance`, and say which class it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from doorward.engines import (
    Append,
    Change,
    Conflict,
    Delete,
    DeleteBlob,
    Forget,
    Lease,
    MemoryStore,
    Named,
    Notify,
    Put,
    PutBlob,
    StaleLease,
    Store,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doorward_testing.conformance.base import fail, require
from doorward_testing.conformance.drivers import DriverConformance

EXAMPLES = 60
"""Random histories that are tried."""

WRITERS, WRITES = 8, 12
"""Those who change one record at the same time, and how often each does."""

ODD = ("a", "A", "a b", "%", "_", "'; DROP TABLE records; --", "one\0two", "../one", "ünï🎉", "x" * 2000)
"""Names and keys that are all different."""

_NOW = -1
"""In place of a version or position: whatever is right at that moment."""

_names = st.sampled_from(["a", "b", "ab", "é"])
_bytes = st.binary(max_size=8)
_ttl = st.none() | st.sampled_from([1.0, 5.0])
_expected = st.none() | st.sampled_from([_NOW, 0, 10**9])
_changes = st.one_of(
    st.builds(Put, st.sampled_from(["t", "u"]), _names, _bytes, _expected, _ttl),
    st.builds(Delete, st.sampled_from(["t", "u"]), _names, _expected),
    st.builds(Append, _names, st.lists(_bytes, max_size=3), st.sampled_from([_NOW, 0, 7])),
    st.builds(Forget, _names),
    st.builds(PutBlob, _names, _bytes, _ttl),
    st.builds(DeleteBlob, _names),
    st.builds(Notify, _names),
)
_steps = st.one_of(
    st.tuples(st.just("commit"), st.lists(_changes, max_size=4), st.sampled_from([0, 0, 1, 2])),
    st.tuples(st.just("pass"), st.sampled_from([0.5, 2.0, 6.0])),
    st.tuples(st.sampled_from(["acquire", "renew", "release"]), st.sampled_from(["l", "m"])),
)


class Clock:
    """A clock that tests turn."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class StoreConformance(DriverConformance):
    """For storage engines. Say `driver`, and override `settings`, where it needs any. All tests of one host use the
    same place; an engine that `lasts` shares it between instances."""

    kind = "store"

    def store(self, host: Any, clock: Clock | None = None) -> Any:
        """An instance in the host's folder. Override this where `driver` does not take `clock` as a keyword."""
        context = host.context(self.driver.Settings, self.settings(host))
        return self.driver(context) if clock is None else self.driver(context, clock=clock)

    @pytest.mark.anyio
    async def test_a_record_is_what_was_stored(self, host: Any) -> None:
        """Its bytes come back; there is nothing before, nothing after, and nothing in another table."""
        store = self.store(host)
        require(await store.get("t", "k") is None, "a new store has a record")
        for value in (b"", b"\0\xff", b"x" * 2**20):
            version = await store.commit(Put("t", "k", value), sync=not value)
            found = await store.get("t", "k")
            require(found is not None and found.value == value, f"{len(value)} bytes came back as others")
            require(found.version == version and found.key == "k", "commit returned another version than that stored")
            require(found.expires is None, "a record without a ttl expires")
        require(await store.get("u", "k") is None, "a record is in another table, too")
        await store.commit(Delete("t", "k"), Delete("t", "never"))
        require(await store.get("t", "k") is None, "a deleted record is there")
        await store.close()

    @pytest.mark.anyio
    async def test_a_change_may_expect_a_version(self, host: Any) -> None:
        """It is refused if the record has another one; a version never comes again."""
        store = self.store(host)
        first = await store.commit(Put("t", "k", b"1", expected=0))
        await self._refused(store, Put("t", "k", b"2", expected=0))
        await self._refused(store, Put("t", "other", b"2", expected=first))
        second = await store.commit(Put("t", "k", b"2", expected=first))
        await self._refused(store, Put("t", "k", b"3", expected=first))
        await self._refused(store, Delete("t", "k", expected=first))
        await store.commit(Delete("t", "k", expected=second))
        third = await store.commit(Put("t", "k", b"1", expected=0))
        require(first < second < third, "a later version is not higher")
        await self._refused(store, Put("t", "k", b"4", expected=second))
        require((await store.get("t", "k")).value == b"1", "a change that was refused was made")
        await store.close()

    @pytest.mark.anyio
    async def test_a_commit_is_made_whole_or_not_at_all(self, host: Any) -> None:
        """One part that is refused refuses all, whichever it is."""
        store = self.store(host)
        await store.commit(Put("t", "a", b"1"), Put("t", "b", b"1"), Append("l", [b"1"], 0), PutBlob("x", b"1"))
        number = await store.signal("topic")
        parts: list[Change] = [
            Put("t", "a", b"2"),
            Delete("t", "b"),
            Append("l", [b"2"], 1),
            PutBlob("x", b"2"),
            Notify("topic"),
        ]
        late: list[Change] = [Put("t", "c", b"", expected=7), Delete("t", "c", expected=7), Append("m", [b""], 7)]
        for refused in late:
            for place in (0, 3, 5):
                await self._refused(store, *parts[:place], refused, *parts[place:])
        require((await store.get("t", "a")).value == b"1", "a part of a refused commit was made")
        require(await store.get("t", "b") is not None, "a part of a refused commit was made")
        require([*await store.read("l")] == [b"1"], "a part of a refused commit was made")
        require((await store.blob("x")).content == b"1", "a part of a refused commit was made")
        require(await store.signal("topic") == number, "a refused commit notified a topic")
        version = await store.commit(*parts)
        require((await store.get("t", "a")).version == version, "a commit of several parts made not all of them")
        require(await store.get("t", "b") is None, "a commit of several parts made not all of them")
        require([*await store.read("l")] == [b"1", b"2"], "a commit of several parts made not all of them")
        require((await store.blob("x")).content == b"2", "a commit of several parts made not all of them")
        require(await store.signal("topic") > number, "a commit of several parts made not all of them")
        await store.close()

    @pytest.mark.anyio
    async def test_a_commit_names_nothing_twice(self, host: Any) -> None:
        """What would become of it nobody could tell."""
        store = self.store(host)
        for twice in (
            [Put("t", "a", b""), Put("t", "a", b"")], [Put("t", "a", b""), Delete("t", "a")],
            [Append("l", [b""], 0), Forget("l")], [PutBlob("x", b""), DeleteBlob("x")],
        ):  # fmt: skip
            with pytest.raises(ValueError, match="once"):
                await store.commit(*twice)
        await store.commit(Put("log", "a", b""), Append("a", [b""], 0), PutBlob("a", b""), Notify("a"), Notify("a"))
        await store.close()

    @pytest.mark.anyio
    async def test_records_are_scanned_in_order(self, host: Any) -> None:
        """By the code points of their keys, by prefix, in pages; names may be any text."""
        store = self.store(host)
        require([*await store.scan("t")] == [], "a new store has records")
        for table in ("t", *ODD):
            await store.commit(*(Put(table, key, f"{table} {key}".encode()) for key in ODD))
        for table in ("t", *ODD):
            found = [*await store.scan(table)]
            require([each.key for each in found] == sorted(ODD), f"the keys of {table!r:.40} are not in order")
            require(all(each.value == f"{table} {each.key}".encode() for each in found), "a record has another value")
        require([each.key for each in await store.scan("t", "a")] == ["a", "a b"], "a prefix finds others")
        require([*await store.scan("t", "nobody")] == [], "a prefix finds others")
        paged: list[str] = []
        while page := await store.scan("t", after=paged[-1] if paged else None, limit=3):
            require(len(page) <= 3, "a page is larger than its limit")
            paged += [each.key for each in page]
        require(paged == sorted(ODD), "pages together are not the whole")
        require([each.key for each in await store.scan("t", "a", after="a")] == ["a b"], "`after` is not left out")
        await store.close()

    @pytest.mark.anyio
    async def test_a_log_grows_at_its_end(self, host: Any) -> None:
        """Entries are read from a position on; who is late is refused; a log that was forgotten is empty."""
        store = self.store(host)
        require((await store.end("l"), [*await store.read("l")]) == (0, []), "a new log is not empty")
        await store.commit(Append("l", [b"0", b"", b"2"], 0))
        await store.commit(Append("l", [b"3"], 3), Append("m", [b"of another"], 0))
        for at in (0, 3, 5):
            await self._refused(store, Append("l", [b"x"], at))
        require(await store.end("l") == 4, "a log does not end behind its last entry")
        require([*await store.read("l")] == [b"0", b"", b"2", b"3"], "a log has other entries than were appended")
        require([*await store.read("l", 1, limit=2)] == [b"", b"2"], "a part of a log is another part")
        require([*await store.read("l", 9)] == [], "there are entries behind the end of a log")
        await store.commit(Forget("l"), Forget("never"))
        require((await store.end("l"), [*await store.read("l")]) == (0, []), "a forgotten log has entries")
        require([*await store.read("m")] == [b"of another"], "forgetting one log forgot another")
        await store.close()

    @pytest.mark.anyio
    async def test_blobs_of_any_size(self, host: Any) -> None:
        """They are read whole and in parts, replaced, and deleted."""
        store = self.store(host)
        require(await store.blob("x") is None, "a new store has a blob")
        large = bytes(range(256)) * 2**13 + b"the end"
        for content in (large, b"", b"short"):
            await store.commit(PutBlob("x", content))
            found = await store.blob("x")
            require(
                found is not None and found.content == content, f"a blob of {len(content)} bytes came back as other"
            )
            for start, size in ((0, 10), (5, 0), (2**18 - 3, 10), (2**18, 2**18 + 1), (2**21, None), (2**30, 5)):
                part = await store.blob("x", start, size)
                wanted = content[start : None if size is None else start + size]
                require(part is not None and part.content == wanted, f"{size} bytes from {start} on are others")
                require(part.size == len(content), "a part does not have the size of the whole")
        await store.commit(DeleteBlob("x"), DeleteBlob("never"))
        require(await store.blob("x") is None, "a deleted blob is there")
        await store.close()

    @pytest.mark.anyio
    async def test_what_it_holds_has_names(self, host: Any) -> None:
        """Tables, logs and blobs are listed in order and in pages, while they hold something."""
        clock = Clock()
        store = self.store(host, clock)
        kinds: tuple[Named, ...] = ("tables", "logs", "blobs")
        require([[*await store.names(what)] for what in kinds] == [[], [], []], "a new store has names")
        for name in ODD:
            await store.commit(
                Put(name, "k", b""), Put(name, "l", b""), Append(name, [b"", b""], 0), PutBlob(name, b"")
            )
        await store.commit(Put("soon", "k", b"", ttl=5), PutBlob("soon", b"x" * 2**20, ttl=5), Append("none", [], 0))
        for what in kinds:
            there = sorted({*ODD, "soon"} if what != "logs" else ODD)
            require([*await store.names(what)] == there, f"the names of {what} are others, or not in order")
            paged: list[str] = []
            while page := await store.names(what, after=paged[-1] if paged else None, limit=3):
                require(len(page) <= 3, "a page is larger than its limit")
                paged += page
            require(paged == there, "pages together are not the whole")
        clock.now += 5
        await store.commit(*(Delete(ODD[0], key) for key in "kl"), Forget(ODD[0]), DeleteBlob(ODD[0]))
        for what in kinds:
            require([*await store.names(what)] == sorted(ODD[1:]), f"a name of {what} is there that holds nothing")
        await store.close()

    @pytest.mark.anyio
    async def test_what_has_expired_is_gone(self, host: Any) -> None:
        """Records and blobs with a ttl, by the engine's clock; a new one in their place begins anew."""
        clock = Clock()
        store = self.store(host, clock)
        await store.commit(Put("t", "a", b"1", ttl=10), Put("t", "b", b"1"), PutBlob("x", b"1", ttl=10))
        require((await store.get("t", "a")).expires == clock.now + 10, "`expires` is another time")
        clock.now += 9.5
        require([each.key for each in await store.scan("t")] == ["a", "b"], "a record expired too early")
        require((await store.blob("x")).expires == clock.now + 0.5, "`expires` is another time")
        clock.now += 0.5
        require(await store.get("t", "a") is None and await store.blob("x") is None, "what has expired is there")
        require([each.key for each in await store.scan("t")] == ["b"], "what has expired is there")
        await store.commit(Put("t", "a", b"2", expected=0, ttl=10))
        clock.now += 5
        await store.commit(Put("t", "a", b"3"))
        clock.now += 10
        require((await store.get("t", "a")).value == b"3", "a record kept the ttl of the one before it")
        await store.close()

    @pytest.mark.anyio
    async def test_a_lease_has_one_holder(self, host: Any) -> None:
        """Until it is released, or its time is over and somebody takes it. The token of a later holder is higher, and
        the one before can neither renew nor write."""
        clock = Clock()
        store = self.store(host, clock)
        first = await store.acquire("l", 10)
        require(isinstance(first, Lease), "a lease that nobody has was not given")
        require(await store.acquire("l", 10) is None, "two have one lease")
        require(await store.acquire("m", 10) is not None, "a lease holds another")
        clock.now += 8
        await store.renew(first, 10)
        clock.now += 8
        require(await store.acquire("l", 10) is None, "a lease that was renewed was given to another")
        await store.commit(Put("t", "k", b"first"), fences=[first])
        clock.now += 5
        await store.commit(Put("t", "k", b"late, but nobody else has it"), fences=[first])
        second = await store.acquire("l", 10)
        require(second is not None and second.token > first.token, "the token of a later holder is not higher")
        for what in (store.renew(first, 10), store.commit(Put("t", "k", b"stale"), fences=[second, first])):
            with pytest.raises(StaleLease):
                await what
        require((await store.get("t", "k")).value.startswith(b"late"), "a stale lease wrote")
        await store.release(first)
        require(await store.acquire("l", 10) is None, "a stale lease released that of another")
        await store.release(second)
        with pytest.raises(StaleLease):
            await store.commit(Put("t", "k", b"released"), fences=[second])
        third = await store.acquire("l", 10)
        require(third is not None and third.token > second.token, "the token of a later holder is not higher")
        await store.close()

    @pytest.mark.anyio
    async def test_a_topic_wakes_those_who_wait(self, host: Any) -> None:
        """Of this instance, and of another one; who waits for another topic, or has seen it, waits on."""
        store = self.store(host)
        other = self.store(host) if self.driver.lasts else store
        require(await store.signal("topic") == 0, "a topic that nobody notified has a number")
        for waiter in (store, other):
            seen = await store.signal("topic")
            waiting = asyncio.ensure_future(waiter.signal("topic", seen, 20.0))
            beside = asyncio.ensure_future(waiter.signal("another", 0, 0.5))
            await asyncio.sleep(0.05)
            require(not waiting.done(), "a waiter was woken by nothing")
            await store.commit(Notify("topic"))
            async with asyncio.timeout(10):
                require(await waiting > seen, "a waiter was woken, and there was nothing new")
                require(await beside == 0, "a topic notified another")
            require(await waiter.signal("topic", seen, 20.0) > seen, "what was notified before is not seen")
        seen = await store.signal("topic")
        ended = asyncio.ensure_future(store.signal("topic", seen, 20.0))
        await asyncio.sleep(0.05)
        await store.commit(Notify("topic"))
        if ended.cancel():  # else it has seen that already
            await asyncio.wait([ended], timeout=10)
            require(ended.cancelled(), "a waiter that is cancelled as the topic is notified goes on")
        await store.close()
        if other is not store:
            await other.close()

    @pytest.mark.anyio
    async def test_many_count_at_once(self, host: Any) -> None:
        """Each adds to one record by compare and set: nobody's is lost, in one instance and in several."""
        stores = [self.store(host) for _ in range(3 if self.driver.lasts else 1)]

        async def count(store: Any) -> None:
            for _ in range(WRITES):
                while True:
                    found = await store.get("t", "n")
                    value = str(int(found.value) + 1 if found else 1).encode()
                    with_log = Append("l", [value], int(value) - 1)
                    try:
                        await store.commit(Put("t", "n", value, found.version if found else 0), with_log)
                        break
                    except Conflict:
                        continue

        async with asyncio.timeout(120):
            await asyncio.gather(*(count(stores[n % len(stores)]) for n in range(WRITERS)))
        total = WRITERS * WRITES
        for store in stores:
            require((await store.get("t", "n")).value == str(total).encode(), "a change was lost")
            require(await store.end("l") == total, "a log has other entries than were appended")
        leases = await asyncio.gather(*(stores[n % len(stores)].acquire("lease", 60) for n in range(10)))
        require(sum(lease is not None for lease in leases) == 1, "several took one lease at once")
        for store in stores:
            await store.close()

    @pytest.mark.anyio
    async def test_it_lasts(self, host: Any) -> None:
        """What one instance has stored, the next one has; leases and topics included."""
        if not self.driver.lasts:
            pytest.skip("what it stores ends with the process")
        first = self.store(host)
        version = await first.commit(
            Put("t", "k", b"1"), Append("l", [b"1"], 0), PutBlob("x", b"1" * 2**20), Notify("topic")
        )
        lease = await first.acquire("lease", 3600)
        await first.close()
        second = self.store(host)
        require((await second.get("t", "k")).version == version, "a record came back as another")
        require([*await second.read("l")] == [b"1"], "a log came back as another")
        require((await second.blob("x")).content == b"1" * 2**20, "a blob came back as another")
        require(await second.signal("topic") > 0, "a topic was forgotten")
        require(await second.acquire("lease", 1) is None, "a lease was forgotten")
        await second.commit(Put("t", "k", b"2", expected=version), fences=[lease])
        await second.close()

    @pytest.mark.anyio
    async def test_it_can_be_closed(self, host: Any) -> None:
        """Without having been used, too."""
        await self.store(host).close()

    def test_any_history_is_that_of_a_model(self, host: Any) -> None:
        """Random commits, leases and times, compared with a store in memory after each step."""
        numbers = iter(range(10**6))

        @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=[*HealthCheck])
        @given(st.lists(_steps, max_size=12))
        def check(steps: Sequence[tuple[Any, ...]]) -> None:
            clock = Clock()
            clock.now += (number := next(numbers)) * 1000
            asyncio.run(_compare(self.store(host, clock), clock, steps, f"{number} "))

        check()

    async def _refused(self, store: Any, *changes: Change) -> None:
        try:
            await store.commit(*changes)
        except Conflict:
            return
        fail(f"{changes!r:.300} was made, and raised no Conflict")


async def _compare(store: Store, clock: Clock, steps: Sequence[tuple[Any, ...]], own: str) -> None:
    """Take steps in a store and in the model. `own` begins the names of this history: the store may be used by others
    before."""
    model: Store = MemoryStore(clock=clock)
    leases: dict[str, list[tuple[Lease, Lease]]] = {"l": [], "m": []}
    for step in steps:
        before = [(each.key, each.version) for each in await store.scan(own + "t")]
        match step:
            case "pass", seconds:
                clock.now += seconds
            case "commit", changes, fenced:
                held = [*leases["l"], *leases["m"]][-fenced:] if fenced else []
                made = [
                    await _committed(each, changes, own, [pair[n] for pair in held])
                    for n, each in enumerate((store, model))
                ]
                require(made[0] == made[1], f"{step} ended with {made[0]}, and should end with {made[1]}")
                if made[1] != "made":
                    now = [(each.key, each.version) for each in await store.scan(own + "t")]
                    require(now == before, f"{step} was refused, and changed something")
            case "acquire", name:
                one, other = await store.acquire(own + name, 5.0), await model.acquire(own + name, 5.0)
                require((one is None) == (other is None), f"{step} gave {one}, and should give {other}")
                if one and other:
                    leases[name].append((one, other))
            case do, name:
                for ours, theirs in leases[name]:
                    answers = [await _done(each, do, lease) for each, lease in ((store, ours), (model, theirs))]
                    require(answers[0] == answers[1], f"{do} of {ours} ended with {answers[0]}, not {answers[1]}")
        shown = [await _content(each, own) for each in (store, model)]
        require(shown[0] == shown[1], f"after {step} there is {shown[0]}, and there should be {shown[1]}")
    await store.close()


async def _committed(store: Store, changes: Sequence[Any], own: str, fences: Sequence[Lease]) -> str:
    made: list[Change] = []
    for change in changes:
        match change:
            case Put() | Delete():
                change = replace(change, table=own + change.table)
                if change.expected == _NOW:
                    found = await store.get(change.table, change.key)
                    change = replace(change, expected=found.version if found else 0)
            case Append(log=log):
                at = await store.end(own + log) if change.at == _NOW else change.at
                change = replace(change, log=own + log, at=at)
            case Forget():
                change = replace(change, log=own + change.log)
            case PutBlob() | DeleteBlob():
                change = replace(change, name=own + change.name)
            case Notify():
                change = replace(change, topic=own + change.topic)
        made.append(change)
    try:
        await store.commit(*made, fences=fences)
    except (Conflict, StaleLease, ValueError) as error:
        # Which of several reasons is told is the engine's.
        return "refused" if not isinstance(error, ValueError) else "named twice"
    return "made"


async def _done(store: Store, do: str, lease: Lease) -> str:
    try:
        await (store.renew(lease, 5.0) if do == "renew" else store.release(lease))
    except StaleLease:
        return "stale"
    return "done"


async def _content(store: Store, own: str) -> list[Any]:
    found: list[Any] = [
        [(each.key, each.value, each.expires) for each in await store.scan(own + table)] for table in ("t", "u")
    ]
    for name in ("a", "b", "ab", "é"):
        blob = await store.blob(own + name)
        found += [(await store.end(own + name), [*await store.read(own + name)], blob)]
        found += [await store.signal(own + name) > 0]
    return found
