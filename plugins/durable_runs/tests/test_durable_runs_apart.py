"""Each of the three capabilities can be left out, and undo even removed: no other code imports it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import doorward_durable_runs
import pytest
from doorward import PluginError
from doorward_durable_runs import STORED_RUNS
from doorward_durable_runs.plans import PLANS
from doorward_testing.samples import CONFIG

PACKAGE = Path(doorward_durable_runs.__file__).parent
DURABLE = '[runs]\ndurable = "always"\n'


def imported(file: Path) -> set[str]:
    """The modules that a file imports."""
    found = set[str]()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.update({str(node.module), *(f"{node.module}.{name.name}" for name in node.names)})
    return found


def test_the_folder_of_undo_can_be_removed() -> None:
    """No other file of code imports it: only the entry points of the distribution go with it."""
    others = [file for file in PACKAGE.rglob("*.py") if (PACKAGE / "undo") not in file.parents]
    assert len(others) > 20
    undo = f"{PACKAGE.name}.undo"
    assert [file for file in others if any(f"{name}.".startswith(f"{undo}.") for name in imported(file))] == []


@pytest.mark.anyio
async def test_runs_alone(doorward_host: Any) -> None:
    """Without plans and undo they are stored all the same."""
    async with doorward_host.gateway(f'capabilities = ["runs"]\n{CONFIG}{DURABLE}') as gate:
        assert (await gate.execute("await weather.add_station(city='Oslo')\nresult = 1")).ok
        assert len(await gate.services[STORED_RUNS].journals.store.all()) == 1
        planned = await gate.execute("1", mode="plan")
        assert "the mode 'plan' is not in use here" in planned.error.message
        assert gate.services.get(PLANS) is None
        assert not [row for row in gate.chain() if row["layer"] == "undo"]


@pytest.mark.anyio
async def test_plans_and_undo_need_runs(doorward_host: Any) -> None:
    """A plan is refused with what is missing; a call that could be undone is made, and nothing is kept of it."""
    declared = 'undo.add_station = { call = "fail" }\n'
    async with doorward_host.gateway(f'capabilities = ["plans", "undo"]\n{CONFIG}{declared}') as gate:
        planned = await gate.execute("await weather.add_station(city='Oslo')", mode="plan")
        assert planned.error.type == PluginError.__name__
        assert (await gate.execute("await weather.add_station(city='Oslo')\nresult = 1")).ok
        assert [row["plugin"] for row in gate.chain() if row["layer"] == "undo"] == ["undo"]
