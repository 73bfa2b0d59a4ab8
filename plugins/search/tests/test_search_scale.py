"""Many servers and principals cost a search no more than few: told by counts, never by times."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Gateway
from doorward.access import patterns
from doorward_testing.many_servers import FEW, MANY, Counted, Rows, opened

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counts, fit = Counted(monkeypatch), patterns.Patterns.fit

    def counting(self: patterns.Patterns, *names: str) -> bool:
        counts.fits += 1
        return fit(self, *names)

    monkeypatch.setattr(patterns.Patterns, "fit", counting)
    return counts


@pytest.fixture
def place(doorward_host: Any) -> Any:
    doorward_host.install("source", "rows", Rows)
    return doorward_host


async def test_a_search_asks_nothing_of_each_server(place: Any, counted: Counted) -> None:
    """It makes as many statements, as long ones, for a principal of few servers, of half of them and of all."""

    async def made(gate: Gateway) -> list[tuple[int, int, int]]:
        found = []
        for words in ("get the payment of a team", "get_issue_0", "rows_1.get_issue_0"):
            for who in ("local", "p0", "few"):
                await gate.search_functions(words, principal=who)
                with counted.afresh():
                    answer = await gate.search_functions(words, principal=who)
                assert len(answer["functions"]) == 10 or who == "few"
                found.append((len(counted.statements), max(map(len, counted.statements)) // 1000, counted.fits))
        return found

    few, many = await opened(place, FEW, made), await opened(place, MANY, made)
    # Which words are only names of servers depends on how many there are: a statement or two.
    assert all(more[0] <= less[0] + 2 and more[1] == less[1] for less, more in zip(few, many, strict=True))
    assert {fits for _, _, fits in [*few, *many]} == {0}
