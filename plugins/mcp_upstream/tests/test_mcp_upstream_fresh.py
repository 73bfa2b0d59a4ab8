"""How long the list of a server's tools is fresh: as long as the server says, within bounds (2026-07-28, `ttlMs`)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from doorward_mcp_upstream.connections import connection

from .conftest import Upstreams

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.mark.parametrize("era", ["", "legacy"])
async def test_a_list_is_fresh_as_long_as_its_server_says(
    upstreams: Upstreams, era: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But never for ever, and not for so short that each call lists; a change ends it at once. In the older era, and
    where the server says 0, it is a minute. By a turned clock."""
    now = 1000.0
    monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: now))
    (ttl := tmp_path / "ttl").write_text("0")
    upstream = upstreams.sdk(era=era, env={"TTL": str(ttl)})

    async def fresh_until(said: int) -> float:
        """The seconds after which it is listed again, of those that are tried."""
        nonlocal now
        ttl.write_text(str(said))
        last: Any = await upstream.listing(fresh=True)
        begun = now
        for seconds in (4, 6, 59, 61, 119, 121, 599, 601):
            now = begun + seconds
            if await upstream.listing() is not last:
                return seconds
        raise AssertionError("it is never listed again")

    assert await fresh_until(0) == 61
    assert await fresh_until(120_000) == (61 if era else 121)
    assert await fresh_until(1) == (61 if era else 6)
    assert await fresh_until(10**15) == (61 if era else 601)
    before = await upstream.listing()
    await upstream.request("tools/call", {"name": "change"})
    assert len((await upstream.listing()).tools) == len(before.tools) + 1


def test_what_is_no_number_says_nothing() -> None:
    odd = [None, True, "60", -1, float("nan"), [5], 10**400]
    assert [connection._ttl(said) for said in odd] == [0, connection.MIN_TTL_SECONDS, 0, 0, 0, 0, 600]
