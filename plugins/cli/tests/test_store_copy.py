"""What a store holds is counted, and copied to another one."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from doorward import StateError
from doorward.engines import Append, Delete, Lease, MemoryStore, Put, PutBlob
from doorward_cli import store_copy
from doorward_cli.store_copy import copied, counted, read
from doorward_testing import Cli

pytestmark = pytest.mark.anyio

ODD = ("a", "a b", "one\0two", "../one", "ünï🎉", "", "x" * 2000)


async def _filled() -> MemoryStore:
    store = MemoryStore()
    for name in ODD:
        await store.commit(*(Put(name, key, f"{name} {key}".encode(), ttl=3600 if key else None) for key in ODD))
        await store.commit(Append(name, [b"", b"\0", b"x" * 2000], 0), PutBlob(name, bytes(range(256)) * 2000, 3600))
    await store.commit(Append("long", [b"%d" % number for number in range(2500)], 0), PutBlob("empty", b""))
    return store


async def test_all_rows_are_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records with their ends, logs and blobs of any names and contents; nobody's lease."""
    monkeypatch.setattr(store_copy, "COMMIT_ROWS", 7)
    source, target = await _filled(), MemoryStore()
    assert await source.acquire("held", 1000)
    counts = await copied(source, target)
    assert counts == counted(await read(source))
    assert sum(counts.values()) == len(ODD) ** 2 + 2 * len(ODD) + 2
    assert (counts["logs"], counts["records of 'a'"]) == (len(ODD) + 1, len(ODD))
    assert [*await target.read("long", 2490)] == [b"%d" % number for number in range(2490, 2500)]
    for name in ODD:
        assert await target.blob(name, 0, 9) is not None
        there, copy = await source.get("a", name), await target.get("a", name)
        assert there is not None
        assert copy is not None
        assert (copy.value, copy.expires is None) == (there.value, name == "")
        assert abs((copy.expires or 0) - (there.expires or 0)) < 60
    assert isinstance(await target.acquire("held", 1), Lease)


async def test_a_copy_that_broke_off_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was copied is not copied again, and the rest is."""
    monkeypatch.setattr(store_copy, "COMMIT_ROWS", 5)
    source = await _filled()

    class Full(MemoryStore):
        left = 6

        async def commit(self, *changes: Any, **more: Any) -> int:
            self.left -= 1
            if self.left == 0:
                raise StateError("the disk is full")
            return await super().commit(*changes, **more)

    target = Full()
    with pytest.raises(StateError, match="full"):
        await copied(source, target)
    before = await read(target)
    assert len(before) == 25
    kept = {key: (await target.get(*key[1:])).version for key in before if key[0] == "record"}  # type: ignore[union-attr]
    assert sum((await copied(source, target)).values()) == len(await read(source))
    for key, version in kept.items():
        assert (await target.get(*key[1:])).version == version  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "other",
    [
        Put("a", "a", b"other"),
        Put("t", "new", b""),
        Append("log", [b"1"], 0),
        PutBlob("a", b""),
        Put("a", "", b"a ", ttl=900),
    ],
)
async def test_other_rows_of_the_target_stay(other: Any) -> None:
    """Nothing is copied to where something else is stored."""
    source, target = await _filled(), MemoryStore()
    await target.commit(other)
    with pytest.raises(StateError, match="the target holds 1 other row"):
        await copied(source, target)
    assert len(await read(target)) == 1


async def test_what_changes_meanwhile_is_told() -> None:
    """Both are read again in the end, and compared."""
    source = await _filled()

    class Late(MemoryStore):
        async def commit(self, *changes: Any, **more: Any) -> int:
            await source.commit(Put("a", "a b", b"another"), Put("new", "k", b""), Delete("a", "../one"))
            return await super().commit(*changes, **more)

    with pytest.raises(StateError, match="3 rows are not the same in both"):
        await copied(source, Late())


async def test_a_row_that_is_about_to_end_may_be_gone() -> None:
    """In either of them; the others are compared."""
    now = [1000.0]
    source, target = MemoryStore(), MemoryStore()
    await source.commit(Put("t", "soon", b"1", ttl=5), Put("t", "k", b"1"))
    await target.commit(Put("t", "gone in the source", b"1", ttl=5))
    assert (await copied(source, target))["records of 't'"] >= 2
    del now


def test_a_store_that_is_not_there_is_no_store_of_nothing(project: Cli, doorward_host: Any) -> None:
    """Neither one that ends with this process, nor one in which nothing was ever stored."""
    store = MemoryStore()

    class Shared(MemoryStore):
        lasts = True

        def __init__(self, context: Any) -> None:
            self.__dict__ = store.__dict__

    missing = project("store", "check")
    assert missing.code != 0
    assert "no store is installed and configured that outlasts this process" in missing.err
    doorward_host.install("store", "shared", Shared)
    empty = project("store", "check", "shared")
    assert empty.code != 0
    assert "nothing is stored in the store 'shared': it is not there" in empty.err
    anyio.run(store.commit, Put("table", "key", b"value"))
    assert project("store", "check", "shared", "--json").json["records of 'table'"] == 1
