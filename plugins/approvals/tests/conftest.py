"""A rule that has people confirm what changes anything, given by the tests in place of a configured one."""

from __future__ import annotations

from typing import Any

import pytest
from doorward.access.policy import Policy
from doorward.calls.broker import Broker
from doorward.model.calls import Decision

RULE = Decision("confirm", "[[policy.rules]] 1", "writes need a person")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("approvals", "runs", "plans", "doorward-policy-rules", "doorward-store-sqlite", "text")


@pytest.fixture
def confirming(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = Broker._allow

    async def decided(self: Broker, way: Any) -> Decision:
        decision = await allowed(self, way)
        if not way.function.read_only:
            decision = way.decision = RULE
        return decision

    monkeypatch.setattr(Broker, "_allow", decided)
    monkeypatch.setattr(Policy, "decides", property(lambda _: True, lambda *_: None), raising=False)
