"""`doorward mock`: an API out of recorded runs."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from doorward_durable_runs import mock
from doorward_testing import Cli
from doorward_testing.samples import CONFIG, Weather

PROGRAM = 'for days in (1, 2):\n    last = await weather.get_forecast(city="Oslo", days=days)\nresult = last\n'


def _get(url: str, **headers: str) -> tuple[int, Any]:
    try:
        with urlopen(Request(url, headers=headers), timeout=30) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.slow
def test_an_api_out_of_a_recorded_run(cli: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its id or its file: what was recorded is answered, whatever the order of the query; other requests get 501,
    and no page of another host an answer."""
    doorward_host.install_real("doorward-durable-runs", "doorward-store-sqlite", "text")
    doorward_host.write(CONFIG + '\n[runs]\ndurable = "always"\n')
    program = Path(doorward_host.folder, "program.py")
    program.write_text(PROGRAM)
    value = cli("run", str(program), "--json").json["value"]
    run = cli("runs", "list", "--json").json["runs"][0]["run"]
    bundle = doorward_host.folder / "run.json"
    assert cli("runs", "replay", run, "--bundle", str(bundle)).code == 0
    asked: list[Any] = []

    def ask(server: Any) -> None:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            base = f"http://127.0.0.1:{server.server_address[1]}/weather"
            asked[:] = [
                _get(f"{base}/forecast?days=2&city=Oslo"),
                _get(f"{base}/forecast?days=3&city=Oslo")[0],
                _get(f"{base}/forecast?days=2&city=Oslo", Host="evil.example")[0],
            ]
        finally:
            server.shutdown()
            server.server_close()

    monkeypatch.setattr(mock, "serve", ask)
    told = cli("mock", run)
    assert "weather.get_forecast is not served" in told.err  # its source tells no requests
    sent = lambda function, given: ("GET", f"/forecast?city={given['city']}&days={given['days']}", None)  # noqa: E731
    monkeypatch.setattr(Weather, "sent", staticmethod(sent), raising=False)
    for given in (run, str(bundle)):
        assert cli("mock", given, "--no-latency", "--json").json["answers"] == 2
        assert asked == [(200, value), mock.NOT_RECORDED, 400]
