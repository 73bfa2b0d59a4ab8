"""`doorward budgets`: an operator sees what is used, of how much, and until when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from doorward_testing import Cli
from doorward_testing.samples import CONFIG

BUDGETS = """
[[budgets]]
server = "weather"
per = "hour"
calls = 40
bytes = "1MiB"

[[budgets]]
principal = "ann"
runs = 3
"""


@pytest.fixture
def used(cli: Cli, doorward_host: Any) -> Cli:
    """A gateway has run: two calls of ann, one of bob, and a run of ann."""

    async def use() -> None:
        async with doorward_host.gateway(CONFIG + BUDGETS) as gate:
            for who in ("ann", "bob"):
                await gate.call("weather.get_forecast", {"city": "Oslo"}, principal=who)
            assert (await gate.execute("await weather.get_forecast(city='Rome')", principal="ann")).ok

    anyio.run(use)
    return cli


@pytest.mark.slow
def test_what_was_used_is_listed(used: Cli) -> None:
    """By principal, server and unit, once all that was taken ahead is given back."""
    rows = used("budgets", "--json").json["budgets"]
    found = {(row["principal"], row["server"], row["per"], row["unit"]): (row["used"], row["limit"]) for row in rows}
    assert found["ann", "weather", "hour", "calls"] == (2, 40)
    assert found["bob", "weather", "hour", "calls"] == (1, 40)
    assert found["ann", "*", "day", "runs"] == (1, 3)
    assert 0 < found["bob", "weather", "hour", "bytes"][0] < found["ann", "weather", "hour", "bytes"][0] < 2**20
    assert len(found) == 5
    assert all(datetime.fromisoformat(row["renewed"]) > datetime.now(UTC) for row in rows)
    text = used("budgets", "--principal", "bob").out
    assert "bob\tweather\t1 of 40 calls per hour\t" in text
    assert "ann\tweather" not in text


def test_an_operator_has_budgets_begin_anew(used: Cli) -> None:
    """By the name of their table, all of them or one."""
    key = '["ann * day", "ann"]'
    assert used("store", "forget", "budgets", key, "--json").json == {"deleted": 1}
    assert used("store", "forget", "budgets", key, "--json").json == {"deleted": 0}
    assert "2 records of budgets are deleted" in used("store", "forget", "budgets").out
    assert all(row["used"] == 0 for row in used("budgets", "--json").json["budgets"])


def test_budgets_that_nobody_has_used(cli: Cli, doorward_host: Any) -> None:
    """They are listed, too; nothing is made by looking. Without any, that is said."""
    doorward_host.write(CONFIG + BUDGETS)
    rows = cli("budgets", "--json").json["budgets"]
    assert [(row["principal"], row["unit"], row["used"]) for row in rows] == [
        ("each of *", "calls", 0), ("each of *", "bytes", 0), ("each of ann", "runs", 0),
    ]  # fmt: skip
    assert not [*doorward_host.folder.rglob("store.db")]
    doorward_host.write(CONFIG)
    assert "no [[budgets]]" in cli("budgets").err
