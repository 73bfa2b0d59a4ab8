"""What finds out how a call is undone is a layer like any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from doorward import Call
from doorward_durable_runs.undo import Undo
from doorward_durable_runs.undo.settings import InverseSettings
from doorward_testing import LayerConformance, call_of

DECLARED = {
    "add": InverseSettings(call="delete", arguments={"id": "answer.id"}),
    "rename": InverseSettings(call="rename", before="find", arguments={"name": "before.name"}),
}


@pytest.fixture(autouse=True)
def _installed() -> None:
    """Nothing but the plugin under test."""


class TestConformance(LayerConformance):
    """It stands around calls that have an inverse, and lets all pass."""

    plugin = Undo

    def more(self, host: Any) -> dict[str, Any]:
        return {"server_key": lambda server, key: DECLARED if (server, key) == ("notes", "undo") else None}

    def passed(self) -> Sequence[Call]:
        return [
            call_of("notes.add", False, text="milk"),
            call_of("notes.rename", False, name="bread"),
            call_of("notes.find"),
        ]
