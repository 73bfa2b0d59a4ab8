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
