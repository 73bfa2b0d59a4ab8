"""`doorward mock`: an API out of recorded runs. (`tests/served/test_mock.py` has MCP servers, accounts and attacks.)"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward_durable_runs import mock_server
from doorward_durable_runs.mock_answers import NOT_RECORDED, Mock
from doorward_testing import Cli
from doorward_testing.samples import CONFIG, Weather
from starlette.testclient import TestClient

PROGRAM = 'for days in (1, 2):\n    last = await weather.get_forecast(city="Oslo", days=days)\nresult = last\n'


@pytest.mark.slow
def test_an_api_out_of_a_recorded_run(cli: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its id or its file: what was recorded is answered, whatever the order of the query; other requests get 501."""
    doorward_host.install_real("doorward-durable-runs", "doorward-store-sqlite", "text")
    doorward_host.write(CONFIG + '\n[runs]\ndurable = "always"\n')
    program = Path(doorward_host.folder, "program.py")
    program.write_text(PROGRAM)
    value = cli("run", str(program), "--json").json["value"]
    run = cli("runs", "list", "--json").json["runs"][0]["run"]
    bundle = doorward_host.folder / "run.json"
    assert cli("runs", "replay", run, "--bundle", str(bundle)).code == 0
    asked: list[Any] = []

    async def ask(found: Mock, listening: Any) -> None:
        client = TestClient(mock_server.app_of(found), base_url="http://127.0.0.1")
        asked[:] = [
            client.get("/weather/forecast?days=2&city=Oslo").json(),
            client.get("/weather/forecast?days=3&city=Oslo").status_code,
        ]

    monkeypatch.setattr(mock_server, "serve", ask)
    told = cli("mock", run)
    assert "weather.get_forecast is not served" in told.err  # its source tells no requests
    sent = lambda function, given: ("GET", f"/forecast?city={given['city']}&days={given['days']}", None)  # noqa: E731
    monkeypatch.setattr(Weather, "sent", staticmethod(sent), raising=False)
    for given in (run, str(bundle)):
        assert cli("mock", given, "--no-latency", "--json").json["answers"] == 2
        assert asked == [value, NOT_RECORDED]
