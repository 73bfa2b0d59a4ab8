"""Servers that answer a call with a task: it is waited for, under the limits of the call (2026-07-28, extension tasks)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from doorward import ServerError
from doorward_mcp_upstream.connections import connection

from .conftest import Listening, LoginPrompt, Upstreams, call_of, text_of

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.mark.parametrize("place", ["stdio", "stdio-legacy", "http_modern"])
async def test_a_task_is_waited_for(
    upstreams: Upstreams, place: str, request: pytest.FixtureRequest, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its result is that of the call; what it asks, the client is asked, once; how it ends otherwise is an error. When the
    call is given up, the server is told. The older era has no tasks."""
    if place.startswith("stdio"):
        upstream = upstreams.sdk(era=place.partition("-")[2])
    else:
        server: Listening = request.getfixturevalue(place)
        upstream = upstreams(url=server.url)
    person, polls = LoginPrompt(), list[Any]()
    monkeypatch.setattr(connection, "_poll_seconds", lambda said: polls.append(said) or 0.01)

    async def called(end: str, **more: object) -> str:
        params = {"name": "task", "arguments": {"end": end, **more}}
        return text_of(await upstream.request("tools/call", params, call=call_of(person)))

    if place == "stdio-legacy":
        assert await called("completed") == "at once"
        return
    assert json.loads(await called("completed", asks=True)) == {"1": {"action": "accept", "content": {"name": "Ann"}}}
    assert [method for method, _ in person.asked] == ["elicitation/create"]
    assert person.progressed == [(1, None, "half way")]
    with pytest.raises(ServerError, match="that is wrong 2 times"):  # not made again, whatever its error says
        await called("failed")
    for odd in ("cancelled", "odd"):
        with pytest.raises(ServerError, match="ended without a result"):
            await called(odd)
    polls.clear()
    given_up = asyncio.ensure_future(called("never"))
    await until(lambda: len(polls) > 1)
    given_up.cancel()
    cancelled: list[str] = []
    while "task" not in cancelled:  # other tests have cancelled other things at this server
        cancelled = json.loads(text_of(await upstream.request("tools/call", {"name": "cancelled"})))
    assert set(polls) == {1}


def test_how_often_is_asked_is_bounded() -> None:
    said = [None, "1", -1, 0, 1, 2500, 10**400, float("nan")]
    assert [connection._poll_seconds(each) for each in said] == [1, 1, 1, 0.1, 0.1, 2.5, 10, 1]
