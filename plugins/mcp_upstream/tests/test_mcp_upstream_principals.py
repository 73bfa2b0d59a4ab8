"""Principals with credentials of their own: each has a process, a connection and headers of their own at a real
upstream."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from doorward import DoorwardError, Gateway
from doorward_mcp_upstream import MCP
from doorward_testing import Host

from .conftest import SDK, Listening, alive

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WHO = ("alice", "bob")
SECRETS = '[principals.alice.secrets]\nkey = "k-al"\n[principals.bob.secrets]\nkey = "k-bo"\n'
"""Shorter than what the scrubber takes out, so that an upstream's echo shows whose came."""


async def _told(gate: Gateway, tool: str, who: str, **arguments: Any) -> Any:
    answer = await gate.call(f"own.{tool}", arguments, principal=who)
    return json.loads(answer) if isinstance(answer, str) and answer[:1] == "{" else answer


@pytest.mark.slow
async def test_a_process_of_their_own(host: Host, until: Any) -> None:
    """Calls of several at once: each to the process that was started with what is theirs, which ends when it is
    idle."""
    host.install("source", "mcp", MCP)
    command = json.dumps([sys.executable, SDK, "stdio"])
    config = f'[servers.own]\nsource = "mcp"\ncommand = {command}\nenv = {{ WHO = "${{principal:name}}" }}\n'
    async with host.gateway(config) as gate:
        await gate.ready()
        found = await asyncio.gather(*(_told(gate, "environment", who) for who in WHO * 5))
        assert [each["WHO"] for each in found] == [*WHO] * 5
        pids = await asyncio.gather(*(_told(gate, "pid", who) for who in WHO * 5))
        theirs = {who: {pid for name, pid in zip(WHO * 5, pids, strict=True) if name == who} for who in WHO}
        assert [len(each) for each in theirs.values()] == [1, 1]
        assert len(set(pids)) == 2
        slow = asyncio.create_task(_told(gate, "slow", "alice", seconds=20))
        await until(lambda: gate.servers._sources._open["own", "alice"].calls)
        assert (await _told(gate, "environment", "bob"))["WHO"] == "bob"  # who does not wait for alice's
        gate.servers._sources._clock = lambda: 1e9
        await gate.servers.sweep()
        still = {who: alive(int(*pid)) for who, pid in theirs.items()}
        assert still == {"alice": True, "bob": False}
        slow.cancel()
    assert not any(alive(int(pid)) for pid in pids)


@pytest.mark.parametrize("kind", ["http_modern", "http_legacy", "http_sse"])
async def test_headers_of_their_own(host: Host, kind: str, request: pytest.FixtureRequest) -> None:
    """Calls of several at once over HTTP: each with their own header, in a session of their own. Who has no secret is
    told, and no request of theirs is made; `local`, who compiles, has one here, for the server asks everyone."""
    server: Listening = request.getfixturevalue(kind)
    host.install("source", "mcp", MCP)
    config = f'[servers.own]\nsource = "mcp"\nurl = "{server.url}"\nheaders = {{ X-Key = "${{principal:key}}" }}\n'
    if kind == "http_sse":
        config += 'transport = "sse"\n'
    async with host.gateway(config + SECRETS + '[principals.local.secrets]\nkey = "k-lo"\n') as gate:
        found = await asyncio.gather(*(_told(gate, "headers", who) for who in ("alice", "bob") * 10))
        assert [each["x-key"] for each in found] == ["k-al", "k-bo"] * 10
        if kind == "http_legacy":
            sessions = [each["mcp-session-id"] for each in found]
            assert len(set(sessions)) == 2
            assert len(set(sessions[::2])) == 1
        with pytest.raises(DoorwardError, match="'carol' has no 'key'") as missing:
            await _told(gate, "headers", "carol")
        assert "[principals.carol.secrets]" in str(missing.value.hint)
        assert (await _told(gate, "headers", "alice"))["x-key"] == "k-al"
