"""Plans pay for two runs: the one that plans, and the one that commits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Capabilities
from doorward_approvals.conformance import answer_in, requests_in
from doorward_durable_runs.plans import PLANS
from doorward_testing.samples import CONFIG, InProcess

pytestmark = pytest.mark.anyio


class Plans(InProcess):
    """Plans programs that do not look at what their writes answer."""

    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), plans=True)


ASKS = f'{CONFIG.replace("inprocess", "plans")}\n[[policy.rules]]\nmatch = "weather.add_station"\nthen = "confirm"\n'
CODE = "await weather.add_station(city='Oslo')\nresult = 1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _plans(doorward_host: Any) -> None:
    doorward_host.install("executor", "plans", Plans)
    doorward_host.install_real("approvals", "budgets", "price", "runs", "plans", "doorward-policy-rules", "sqlite")


async def planned(gate: Any) -> str:
    return str((await gate.execute(CODE, mode="plan")).parts["plan"].id)


def say_yes(gate: Any) -> None:
    for request in requests_in(gate.state):
        if request.state == "open":
            answer_in(gate.state, request.id, True)


async def test_a_plan_that_waits_costs_no_run(doorward_host: Any) -> None:
    """However often it is asked for: of two runs one planned, and one writes. A yes, and the plan, outlive a budget
    that is used up."""
    async with doorward_host.gateway(ASKS + "[[budgets]]\nruns = 2\n") as gate:
        plan = await planned(gate)
        for _ in range(3):
            assert (await gate.services[PLANS].commit(plan)).waiting
        say_yes(gate)
        assert (await gate.services[PLANS].commit(plan)).ok
    async with doorward_host.gateway(ASKS + "[[budgets]]\nruns = 3\n") as gate:
        plan = await planned(gate)
        assert (await gate.services[PLANS].commit(plan)).waiting
        say_yes(gate)
        for _ in range(2):  # it is not lost, and nobody holds it
            assert "the budget of" in (await gate.services[PLANS].commit(plan)).error.message
    async with doorward_host.gateway(ASKS) as gate:
        assert (await gate.services[PLANS].commit(plan)).ok
