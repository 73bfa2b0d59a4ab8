"""Which executor plans a program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Capabilities
from doorward_testing.samples import InProcess

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio


class Unread(InProcess):
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), plans_unread=True)


class Plans(InProcess):
    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), plans=True)


class Broken(InProcess):
    def capabilities(self) -> Capabilities:
        raise ValueError


async def test_a_plan_prefers_executors_that_hand_answers_on(doorward_host: Any) -> None:
    """Then those that plan programs which use none; the others plan nothing. Else the order is the operator's."""
    for name, driver in {"unread": Unread, "plans": Plans, "broken": Broken}.items():
        doorward_host.install("executor", name, driver)
    names = ["inprocess", "unread", "broken", "plans"]
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', str(names).replace("'", '"'))) as gate:
        ordered = gate.executors.planning(names)
        assert ordered == ["broken", "plans", "unread", "inprocess"]
        assert [name for name in ordered if gate.executors.may_plan(name)] == ["broken", "plans", "unread"]
        assert (await gate.execute("1")).executor == "inprocess"


async def test_a_plan_that_no_executor_can_make(doorward_host: Any) -> None:
    """The error says so, and what the operator can do."""
    doorward_host.install("executor", "unread", Unread)
    for names, executor in (('"inprocess"', ""), ('["inprocess", "unread"]', "unread")):
        async with doorward_host.gateway(CONFIG.replace('"inprocess"', names)) as gate:
            program = gate._execution._admission.program("1", "local", language="python")
            outcome = await gate._execution.run(replace(program, plan=True), None, None, None)
            assert outcome.executor == executor
            if not executor:
                assert outcome.error is not None
                assert "inprocess: it cannot plan" in outcome.error.message
                assert "A plan runs in full CPython" in str(outcome.error.hint)
