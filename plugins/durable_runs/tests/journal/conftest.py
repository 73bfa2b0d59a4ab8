"""What the tests of journals share."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Call
from doorward_testing.samples import CONFIG, Weather

ALWAYS = CONFIG.replace("plugins = []", 'plugins = []\nruns.durable = "always"')


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that went out, in order."""
    made: list[str] = []
    call = Weather.call

    async def counted(self: Weather, asked: Call) -> Any:
        made.append(f"{asked.function.name} {asked.arguments.get('city')}")
        return await call(self, asked)

    monkeypatch.setattr(Weather, "call", counted)
    return made
