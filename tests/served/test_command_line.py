"""The command line with the plugins that are meant for it, as processes of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from doorward_testing import StartDoorward, ended, reserve_port

from .product import Project
from .test_clients import at_a_terminal


def test_real_api(start_doorward: StartDoorward, tmp_path: Path) -> None:
    """With the plugins that are meant for it: add an OpenAPI document, find its function, fail to reach it, run a
    program.
    CONTRACT: CLI-01."""
    (tmp_path / "doorward.toml").unlink()
    operation = {"operationId": "getForecast", "summary": "The forecast", "responses": {"200": {"description": "ok"}}}
    spec = {
        "openapi": "3.1.0",
        "info": {"title": "Weather", "version": "1"},
        "paths": {"/forecast": {"get": operation}},
    }
    (tmp_path / "weather.json").write_text(json.dumps(spec))
    url = f"http://127.0.0.1:{reserve_port()}"
    code, out, err = ended(start_doorward("add", "openapi", "weather", "weather.json", "--base-url", url))
    assert (code, "weather: 1 function, " in out, err) == (0, True, "")
    assert (
        json.loads(ended(start_doorward("search", "forecast", "--json"))[1])["functions"][0]["function"]
        == "weather.get_forecast"
    )
    code, out, err = ended(start_doorward("call", "weather.get_forecast"))
    assert (code, out, url in err) == (1, "", True)
    code, out, _ = ended(start_doorward("run", "-", "--json"), "result = 6 * 7")
    assert (code, json.loads(out)["value"]) == (0, 42)


@pytest.mark.slow
def test_a_person_picks_a_function(project: Project) -> None:
    """At a terminal functions are found while one types; Tab chooses, Enter shows it. Elsewhere there is nobody to pick.
    CONTRACT: CLI-03."""
    pytest.importorskip("prompt_toolkit")
    project.env |= {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    project.run("compile")
    answers = [("shows):", "throw an item away\t"), ("delete_item", "\t"), ("delete_item", "")]
    said, code = at_a_terminal(project, ["search"], answers)
    assert code == 0, said
    assert "from shelf import delete_item" in said
    for words in (["search"], ["search", "--pick", "items"]):
        assert project.run(*words).returncode == 2
