"""Heads of the chains of several machines, in the store that they share."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from doorward import PluginContext
from doorward.engines import MemoryStore, Put, scan_all
from doorward_audit_jsonl import AuditLog
from doorward_audit_jsonl.chain import Head, Link, chain_key
from doorward_audit_jsonl.key import key_path
from doorward_audit_jsonl.reader import read_key
from doorward_audit_jsonl.stored_heads import TABLE, load_heads, store_head
from doorward_audit_jsonl.verify import verify

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Database(MemoryStore):
    """A store that counts what is written."""

    distributed = True
    commits = 0

    async def commit(self, *changes: Any, **more: Any) -> int:
        self.commits += 1
        return await super().commit(*changes, **more)


def machine(state: Path, store: Any) -> AuditLog:
    return AuditLog(PluginContext("audit_jsonl", AuditLog.Settings(), state, store=store))


async def test_a_tail_that_is_cut_off_with_its_head_is_missed(tmp_path: Path) -> None:
    """In a copy without the head, too; lines that came after the stored head are none too many, nobody but who has the
    key can make a head, and two machines are told apart. Lines cost nothing; one alone stores nothing."""
    store = Database(None)
    logs = {name: machine(tmp_path / name, store) for name in ("one", "two")}
    for log in logs.values():
        for number in range(3):
            log.auth_chosen("github", str(number))
        assert store.commits == 0 or log is not logs["one"]
        await log.flush()
        await log.flush()
    assert store.commits == 2
    path = tmp_path / "one" / "doorward.audit.jsonl"
    made = read_key(key_path(path))
    heads = await load_heads(store, chain_key(made))
    assert heads.own is not None
    assert (heads.own.last.n, len(heads.others)) == (3, 1)
    copy = tmp_path / "copy"
    shutil.copy(path, copy)
    assert verify(copy, made, None, heads.own).ok
    assert not verify(copy, made).ok
    lines = path.read_text().splitlines(keepends=True)
    copy.write_text("".join(lines[:2]))
    assert verify(copy, made, None, heads.own).problems == ["the last lines are missing: 3 to 3"]
    for kept in (lines[:2], []):  # cut off with the head, which is that of an earlier time then
        shutil.copytree(tmp_path / "one", before := tmp_path / f"before {len(kept)}")
        cut = before / path.name
        cut.write_text("".join(kept))
        earlier = Head(Link(len(kept)))
        (before / f"{path.name}.head").write_bytes(earlier.written(chain_key(made)))
        assert "line 3, of which the store knows, is missing" in verify(cut, made, None, heads.own).problems
    logs["one"].auth_chosen("github", "later")
    assert verify(path, made, None, heads.own).ok
    own = next(each.key for each in await scan_all(store, TABLE) if not each.key.startswith(heads.others[0][:16]))
    await store_head(store, chain_key(made), Head(Link(1)))
    assert (await load_heads(store, chain_key(made))).own == heads.own
    await store.commit(Put(TABLE, own, heads.own.written(b"another key")))
    assert (await load_heads(store, chain_key(made))).own is None
    alone = machine(tmp_path / "alone", before_store := MemoryStore(None))
    alone.auth_chosen("github", "jwt")
    await alone.flush()
    assert await scan_all(before_store, TABLE) == []
