"""The functions that a server's configuration lets through."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from doorward.access.effects import Effects
from doorward.config.settings import ServerSettings
from doorward.model.calls import Effect
from doorward.model.functions import Compiled, Function
from doorward.servers.compiler import narrowed

FUNCTIONS = [
    Function("api", "get", read_only=True),
    Function("api", "search", guessed_read=True),
    Function("api", "create"),
]


@pytest.mark.parametrize(
    ("classes", "kept"),
    [
        ({}, ["get", "search"]),
        ({"write": ["api.search"]}, ["get"]),
        ({"write": ["api.*"]}, []),
        ({"read": ["api.create"]}, ["get", "search"]),
    ],
)
def test_read_only_keeps_reads(classes: Mapping[Effect, list[str]], kept: list[str]) -> None:
    """Those by a guess, too. What the operator says of functions can only take more away: `read_only` may be locked."""
    settings = ServerSettings(source="x", read_only=True)
    found, _ = narrowed(Compiled(FUNCTIONS, {}), settings, Effects(classes).of)
    assert [function.name for function in found.functions] == kept
