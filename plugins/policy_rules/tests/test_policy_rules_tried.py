"""What `doorward policy test` says is what happens, for rules and calls made by chance."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from doorward_cli.policy import _test
from doorward_testing.samples import CONFIG

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

NAMES = ["weather.get_forecast", "weather.add_station", "weather.big"]
MATCHES = [*NAMES, "weather", "weather.*", "*", "weather.getForecast", "mcp__weather__add_station", "other.*"]
CONDITIONS = [
    "args.city == 'Oslo'",
    "args.city.size() > 4",
    "has(args.city) && args.city.startsWith('O')",
    "args.nothing > 3",
    "calls > 0",
    "principal == 'local'",
    "'staff' in groups",
    "name.endsWith('station')",
    "args.city > 5",
    "args.size() > 1",
]


def rules(chance: random.Random) -> str:
    """A configuration with rules."""
    text = CONFIG + '[groups]\nstaff = ["loc*"]\n[policy]\n'
    text += f'default = "{chance.choice(["allow", "allow", "confirm", "deny"])}"\n'
    if chance.random() < 0.3:
        text += f'deny = ["{chance.choice(NAMES)}"]\n'
    for _ in range(chance.randrange(1, 5)):
        text += f'[[policy.rules]]\nthen = "{chance.choice(["allow", "confirm", "deny"])}"\n'
        text += f'match = "{chance.choice(MATCHES)}"\n' if chance.random() < 0.8 else ""
        text += f'class = "{chance.choice(["read", "write"])}"\n' if chance.random() < 0.3 else ""
        text += f'principal = "{chance.choice(["@staff", "local", "bob"])}"\n' if chance.random() < 0.3 else ""
        text += f'when = "{chance.choice(CONDITIONS)}"\n' if chance.random() < 0.6 else ""
        text += 'reason = "because"\n' if chance.random() < 0.5 else ""
    return text


class Project:
    """A project whose gateway is this one."""

    def __init__(self, gate: Any) -> None:
        self._gate = gate

    @asynccontextmanager
    async def gateway(self, only: Any) -> AsyncIterator[Any]:
        yield self._gate


@pytest.mark.parametrize("seed", range(25))
async def test_policy_test_says_what_happens(doorward_host: Any, seed: int) -> None:
    """By the same rule, for the same reason. What is denied or waits is not sent."""
    chance = random.Random(seed)
    async with doorward_host.gateway(rules(chance)) as gate:
        await gate.ready()
        project: Any = Project(gate)
        most = (await _test(project, "weather.fail", "local", None, 0))["then"] == "allow"
        for number in range(12):
            name, made = chance.choice(NAMES), chance.randint(0, most)
            arguments = {"city": chance.choice(["Oslo", "Rome", "Osaka", ""])} if name != "weather.big" else {}
            told = await _test(project, name, "local", json.dumps(arguments), made)
            before = "try:\n    await weather.fail()\nexcept Exception:\n    pass\n" * made
            outcome = await gate.execute(f"# {number}\n{before}result = await {name}(**{arguments!r})")
            assert happened(outcome, told) == told["then"], (name, arguments, made, told, outcome)


def happened(outcome: Any, told: Any) -> str:
    """What was decided of the call in which a run ended."""
    if outcome.ok:
        return "allow"
    if outcome.error.kind == "policy":
        assert told["rule"] in outcome.error.message
        assert told["reason"] in outcome.error.message
        return "confirm" if "nothing here asks for one" in outcome.error.message else "deny"
    if "no attribute" in outcome.error.message:  # no program finds what is denied whatever its arguments
        return "deny"
    return str(outcome.error.type)
