"""What a call from a program costs the host on its whole way, told by counts: they are the same on a busy machine."""

from __future__ import annotations

import asyncio
import selectors
from pathlib import Path
from typing import Any

import pytest
from doorward import Gateway
from doorward.config.config import load

from .product import Api

CALLS = 50
MOST_TURNS = 7
"""Turns of the event loop for one call out of a program in Monty to an API: for the worker's question, for the head of
the API's answer and for the rest of it, and for who waits for each. It was ten once."""


class Counting(selectors.DefaultSelector):
    """Counts how often the event loop waits: once each turn."""

    turns = 0

    def select(self, timeout: float | None = None) -> Any:
        self.turns += 1
        return super().select(timeout)


@pytest.fixture
def anyio_backend() -> Any:
    """This module has its own loop."""
    return "asyncio", {"loop_factory": lambda: asyncio.SelectorEventLoop(Counting())}


@pytest.mark.anyio
async def test_a_call_takes_few_turns_of_the_loop(api: Api, tmp_path: Path, anyio_backend: Any) -> None:
    """Each turn is a system call or two, and lets all other work go first."""
    config = tmp_path / "doorward.toml"
    config.write_text(f'executor = "monty"\n[servers.shelf]\nsource = "openapi"\nspec = "{api.url}/openapi.json"\n')
    counting = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    async with Gateway.open(load(config)) as gate:
        took = []
        for calls in (1, 1, CALLS + 1):
            before = counting.turns
            outcome = await gate.execute(f"import shelf\nfor n in range({calls}):\n    got = shelf.get_item(id=n)\n")
            assert outcome.ok, outcome.error
            took.append(counting.turns - before)
    assert (took[2] - took[1]) / CALLS <= MOST_TURNS
