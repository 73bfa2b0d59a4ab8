"""The limits that a server tells in the headers of its HTTP answers: calls wait for their turn, and none is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from doorward_mcp_upstream import MCP
from doorward_testing.samples import InProcess

from .test_mcp_upstream_http import Recorder, modern

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


class Limited(Recorder):
    """A server of 2026-07-28 that takes `limit` calls of tools in each window of `seconds`, the first of which begins with it."""

    limit, seconds, slow, tells = 4, 2.0, 0.0, True

    def __init__(self) -> None:
        super().__init__()
        self.refused = self.called = 0
        self._lock, self._began, self._window, self._used = threading.Lock(), time.time(), 0, 0
        self.answer = self._limited

    def _limited(self, method: str, message: Any) -> Any:
        status, headers, body = modern(method, message)
        if (message or {}).get("method") != "tools/call":
            return status, headers, body
        time.sleep(self.slow)
        with self._lock:
            now = time.time() - self._began
            if (window := int(now / self.seconds)) != self._window:
                self._window, self._used = window, 0
            fits, left = self._used < self.limit, (window + 1) * self.seconds - now
            self._used, self.called, self.refused = self._used + fits, self.called + fits, self.refused + (not fits)
            told = {"RateLimit": f'"calls";r={self.limit - self._used};t={int(left)}'} if self.tells else {}
        if not fits:
            return 429, {**told, "Retry-After": str(int(left) + 1)}, b"slow down"
        return status, {**headers, **told}, body


@pytest.fixture
def limited() -> Iterator[Limited]:
    server = Limited()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def gateway(host: Any, limited: Limited) -> Any:
    host.install("source", "mcp", MCP)
    host.install("executor", "here", InProcess)
    host.install_real("runs")
    return host.gateway(f'executor = "here"\n[servers.other]\nsource = "mcp"\nurl = "{limited.url}"\n')


@pytest.mark.parametrize("slow", [0.0, 0.3])
async def test_no_refusal_is_provoked(gateway: Any, limited: Limited, slow: float) -> None:
    """Thirteen calls of two principals at once, quick or slow, where four go in two seconds."""
    limited.slow = slow
    async with gateway as gate, anyio.create_task_group() as group:
        for n in range(13):
            group.start_soon(lambda n=n: gate.call("other.echo", principal=("ann", "bob")[n % 2]))
    assert (limited.refused, limited.called) == (0, 13)


async def test_a_run_waits_for_the_limit(gateway: Any, limited: Limited) -> None:
    """Longer than it has time: it is suspended, and the agent reads until when."""
    limited.limit, limited.seconds = 1, 3600.0
    async with gateway as gate:
        waiting = (await gate.execute("result = [await other.echo(), await other.echo()]", timeout=60)).waiting
    assert (waiting.for_, limited.refused, limited.called) == ("limit", 0, 1)
    assert 0 < waiting.until - time.time() <= 3602


async def test_a_refusal_says_when(gateway: Any, limited: Limited) -> None:
    """A server that tells nothing before it refuses: the call was not made, and waits with its run; programs read the
    seconds where nothing can wait."""
    limited.limit, limited.seconds, limited.tells = 1, 3600.0, False
    async with gateway as gate:
        await gate.call("other.echo")
        assert (await gate.execute("await other.echo()", timeout=60)).waiting.for_ == "limit"
        with pytest.raises(Exception, match=r"takes no more requests for \d+ s"):
            await gate.call("other.echo")
    assert limited.refused == 1
