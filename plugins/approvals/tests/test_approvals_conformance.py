"""Approvals are a layer like any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from doorward import Call, Decision, Program, Services
from doorward_approvals import Approvals, ApprovalSettings
from doorward_testing import LayerConformance, call_of, run_of
from doorward_testing.conformance import layers


@pytest.fixture(autouse=True)
def _installed() -> None:
    """Nothing but the plugin under test."""


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that cannot be suspended waits for an answer as long as it may run, and that is a moment."""
    program = Program("", principal="alice", run="run", limits=replace(Program("").limits, timeout=0.05))
    monkeypatch.setattr(layers, "run_of", lambda *given: run_of(*given or (program,)))


class TestConformance(LayerConformance):
    """What no rule has a person confirm passes; what one does is not made by a run that cannot wait for an answer."""

    plugin = Approvals

    def made(self, host: Any) -> Any:
        made = super().made(host)
        made.gateway_made(
            SimpleNamespace(
                plugins=SimpleNamespace(hook=SimpleNamespace(approval_wanted=lambda **given: [])),
                catalog=SimpleNamespace(schema_hash=lambda server, name: "hash", definition=lambda server, name: None),
                servers=SimpleNamespace(without_known=lambda server: str),
                decides=True,
                services=Services(),
            )
        )
        return made

    def more(self, host: Any) -> dict[str, Any]:
        return {"tables": {"approvals": ApprovalSettings(wait=0, patience=0.01)}}

    def passed(self) -> Sequence[Call]:
        return [call_of("notes.find"), call_of("notes.add", text="milk")]

    def refused(self) -> Sequence[Call]:
        confirm = Decision("confirm", "[[policy.rules]] 1", "writes need a person")
        return [replace(call_of("notes.delete", id=1), decision=confirm)]
