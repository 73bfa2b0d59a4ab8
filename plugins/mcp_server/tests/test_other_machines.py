"""Answers of clients on their way from one machine to another, by the store that both share."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import structlog
from doorward.engines import MemoryStore, Notify, Put, scan_all
from doorward_mcp_server.other_machines import RESULTS, TABLE, OtherMachines, shared_key

pytestmark = pytest.mark.anyio

KEY = bytes(32)


class Database(MemoryStore):
    distributed = True


async def test_what_is_handed_on(doorward_host: Any) -> None:
    """The process that is named answers it; nobody reads it on its way, and nothing of it stays. Who is not there gives
    no answer, what nobody could have sealed gets none, and whose client has gone is ended over there."""
    store, ended, begun = Database(None), asyncio.Event(), asyncio.Event()

    async def answer(token: str, **given: Any) -> bytes:
        if token == "slow":
            try:
                begun.set()
                await asyncio.Event().wait()
            finally:
                ended.set()
        assert not any(b"colour" in record.value for record in await scan_all(store, TABLE))
        return b'{"token": "' + token.encode() + b'"}'

    owner = OtherMachines(store, KEY, lambda: "aaaaaaaa", answer)
    other = OtherMachines(store, KEY, lambda: "bbbbbbbb", answer)
    try:
        assert await other.hand_on("aaaaaaaa", token="early", given={}) is None
        await owner.listen()
        await store.commit(Put(TABLE, "aaaaaaaa/forged", b"{}"), Notify(TABLE))
        assert await other.hand_on("aaaaaaaa", token="x", given={"colour": 1}) == {"token": "x"}
        waiting = asyncio.ensure_future(other.hand_on("aaaaaaaa", token="slow", given={}))
        await begun.wait()
        waiting.cancel()
        await ended.wait()
        assert [record.key for record in await scan_all(store, TABLE)] == ["aaaaaaaa/forged"]
        assert await scan_all(store, RESULTS) == []
    finally:
        for each in (owner, other):
            await each.close()


async def test_the_key_is_of_all_machines(doorward_host: Any) -> None:
    """It is made once; where there is a `vault_key`, nobody reads it in the database. One machine alone has a file."""
    async with doorward_host.gateway("") as gate:
        assert await shared_key(gate) is None
        gate.store = Database(None)
        keys = [await shared_key(gate), await shared_key(gate)]
        assert keys[0] == keys[1]
        assert len(keys[0] or b"") == 32


@pytest.mark.slow
async def test_the_key_outlives_a_change_of_the_vault_key(doorward_host: Any) -> None:
    """It is the same while the key before is known. Where that is lost, there is another one, and a line is logged."""
    store, keys = Database(None), list[bytes | None]()
    for head in ('"the old"', '"the new"\nvault_key_before = "the old"', '"the new"', '"a third"'):
        async with doorward_host.gateway(f"vault_key = {head}\n") as gate:
            gate.store = store
            with structlog.testing.capture_logs() as logged:
                keys.append(await shared_key(gate))
            assert [each["event"] for each in logged].count("request_states_unread") == (head == '"a third"')
    assert keys[0] == keys[1] == keys[2] != keys[3]
