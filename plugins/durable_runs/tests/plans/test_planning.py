"""Which executor plans a program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Capabilities
from doorward.recording import WITHHOLDS
from doorward_testing.samples import CONFIG, InProcess

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
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', str(names).replace("'", '"')) + "[plans]\n") as gate:
        tried = gate.services[WITHHOLDS].executors(names)
        assert [(name, error is None) for name, error in tried] == [
            ("broken", True), ("plans", True), ("unread", True), ("inprocess", False),
        ]  # fmt: skip
        assert (await gate.execute("1")).executor == "inprocess"
