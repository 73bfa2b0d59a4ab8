"""SourcePool of servers that are changed or removed while calls are made."""

from __future__ import annotations

from typing import Any

import pytest
from doorward.model.principals import LOCAL
from doorward.servers.source_pool import SourcePool

pytestmark = pytest.mark.anyio


class Source:
    def __init__(self) -> None:
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1


class Auths:
    """Says of which sources the auths were closed: those that were open when that was asked for."""

    def __init__(self) -> None:
        self.opened: list[Any] = []
        self.closed: list[Any] = []

    def close(self, name: str, whose: str) -> Any:
        now = [key for key in self.opened if key[:2] == (name, whose)]
        self.opened = [key for key in self.opened if key not in now]

        async def close() -> None:
            self.closed += now

        return close()


async def test_a_retired_source_is_closed_once_when_its_calls_are_over() -> None:
    """Whoever calls goes on with the source that they have; the next call has a new one, whose auth nobody closes."""
    auths, made = Auths(), []

    def make(name: str, whose: str) -> Any:
        made.append(Source())
        auths.opened.append((name, whose, len(made)))
        return made[-1]

    sources = SourcePool(make, auths.close)
    async with sources.using("one", LOCAL) as first, sources.using("one", "alice") as hers:
        async with sources.using("one", LOCAL):
            idle = sources.get("two", LOCAL)
            await sources.retire("one")
            assert [source.closed for source in made] == [0, 0, 0]
            async with sources.using("one", LOCAL) as second:
                assert second is not first
        assert first.closed == 0  # one call is left
    assert (first.closed, hers.closed, second.closed, idle.closed) == (1, 1, 0, 0)
    assert sorted(auths.closed) == [("one", "alice", 2), ("one", LOCAL, 1)]
    await sources.retire("two")
    await sources.retire("nothing")
    assert idle.closed == 1
    await sources.close()
    assert [source.closed for source in made] == [1, 1, 1, 1]


async def test_what_is_retired_is_closed_at_the_end() -> None:
    """A gateway that ends does not wait for calls of a source that was retired: it is closed with the others, once."""
    auths, source = Auths(), Source()
    sources = SourcePool(lambda name, whose: source, auths.close)
    async with sources.using("one", LOCAL):
        await sources.retire("one")
        await sources.close()
        assert source.closed == 1
    assert source.closed == 1
