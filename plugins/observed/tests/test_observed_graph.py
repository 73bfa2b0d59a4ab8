"""Results without a schema tell, once they are observed, who gives what others need."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from doorward import Call, Compiled, Function
from doorward_search.graph.graphs import MAX_FUNCTIONS, Graphs
from doorward_search.graph.producers import Edge
from doorward_testing.shop import CONFIG, Shop

from .conftest import plugin_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _search(doorward_host: Any) -> None:
    doorward_host.install_real("search")


TICKET = {"type": "object", "properties": {"ticket_id": {"type": "integer"}}, "required": ["ticket_id"]}


class Desk(Shop):
    """An upstream as most are: nothing is said of its results."""

    more = 0

    async def compile(self) -> Compiled:
        others = [Function(self.name, f"other_{n}", read_only=True) for n in range(self.more)]
        find = Function(self.name, "find", summary="What customers ask", read_only=True)
        return Compiled([find, Function(self.name, "close_it", summary="Close it", parameters=TICKET), *others])

    async def call(self, call: Call) -> Any:
        return {"found": [{"ticket_id": 7, "title": "Broken"}]}


def graphs(gate: Any) -> Graphs:
    found: Graphs = gate.plugins.manager.get_plugin("search").engine.graphs
    return found


async def observe(gate: Any) -> None:
    outcome = await gate.execute('result = await doorward.call("other.find")')
    assert outcome.ok, outcome.error
    await gate.plugins.lifetimes.flush()  # as it is done from time to time


async def test_an_observed_result_gives_what_others_need(doorward_host: Any) -> None:
    """In the answers of the same gateway, and still after the next compile."""
    doorward_host.install("source", "shop", Desk)
    edges = [Edge("close_it", "ticket_id", "find", "ticket_id", pytest.approx(0.6, abs=0.2))]
    async with doorward_host.gateway(CONFIG) as gate:
        assert "needs" not in (await gate.search_functions("close"))["functions"][0]
        await observe(gate)
        with anyio.fail_after(10):  # the gateway may have been faster, and still be at it
            while graphs(gate).of("other") != edges:
                await anyio.sleep(0.01)
        assert (await gate.search_functions("close"))["functions"][0]["needs"] == {"ticket_id": ["find"]}
        assert await plugin_of(gate).observations.flush() == set()
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.compile(force=True)
        await gate.ready()
        assert graphs(gate).of("other") == edges


async def test_a_large_server_waits_for_its_compile(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody would wait for its graph."""
    doorward_host.install("source", "shop", Desk)
    monkeypatch.setattr(Desk, "more", MAX_FUNCTIONS)
    async with doorward_host.gateway(CONFIG) as gate:
        await observe(gate)
        assert graphs(gate).of("other") == []
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.compile(force=True)
        await gate.ready()
        assert [edge.producer for edge in graphs(gate).of("other")] == ["find"]
