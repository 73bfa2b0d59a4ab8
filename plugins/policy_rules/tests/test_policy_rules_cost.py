"""What rules cost a call, told by counts: they are the same on a busy machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from doorward_testing.samples import CONFIG

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CALL = "weather.get_forecast", {"city": "Oslo"}


@contextmanager
def counted() -> Iterator[list[str]]:
    """The functions that are called."""
    found: list[str] = []
    sys.setprofile(lambda frame, event, arg: found.append(event))
    try:
        yield found
    finally:
        sys.setprofile(None)


async def test_rules_for_others_cost_a_call_nothing(doorward_host: Any) -> None:
    """Which rules name a function is found out once: a hundred that name others cost as much as one."""
    rule, found = '[[policy.rules]]\nmatch = "other{}.*"\nthen = "deny"\n', []
    for count in (1, 100):
        config = CONFIG + "".join(rule.format(n) for n in range(count))
        async with doorward_host.gateway(config) as gate:
            counts = []
            for _ in range(4):  # what is found out once is not of a call
                with counted() as calls:
                    await gate.call(*CALL)
                counts.append(calls.count("call") + calls.count("c_call"))
            found.append(min(counts))
    assert found[1] - found[0] <= 5
