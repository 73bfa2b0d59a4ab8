"""The command line as users and clients start it: a process of its own, with plugins found by their metadata."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from doorward_testing import StartDoorward, ended

pytestmark = pytest.mark.slow

TOKEN = "s3cret-t0ken-of-the-weather"


def test_help_imports_nothing(start_doorward: StartDoorward) -> None:
    """`doorward --help` imports neither a command, click, pydantic, nor a plugin, though it lists what plugins
    bring."""
    code, out, err = ended(start_doorward("--help", python=("-X", "importtime")))
    assert (code, "poisoned" in out) == (0, True)
    imported = set(re.findall(r"\| +([\w.]+)$", err, re.MULTILINE))
    assert "doorward.config.index" in imported
    heavy = {
        "click",
        "pydantic",
        "rich",
        "structlog",
        "mcp",
        "asyncio",
        "poison",
        "doorward.gateway",
        "doorward.config.config",
        "doorward.cli.common",
    }
    assert not imported & heavy


def test_plugins_imports_none(start_doorward: StartDoorward, tmp_path: Path) -> None:
    """`doorward plugins` knows of every plugin, and imports none, nor pydantic to read the configuration."""
    code, out, err = ended(start_doorward("plugins", python=("-X", "importtime")))
    assert code == 0
    assert "source\tfake\tdoorward-fake\t1.0\tactive\n" in out
    assert "auth\tpoison\tdoorward-fake\t1.0\tinstalled\n" in out
    assert not {"pydantic", "rich", "structlog", "mcp"} & set(re.findall(r"\| +([\w.]+)$", err, re.MULTILINE))
    assert not (tmp_path / "imported").exists()


def test_environment_names_the_configuration(start_doorward: StartDoorward, tmp_path: Path) -> None:
    """`DOORWARD_CONFIG` is the configuration where no --config is given. CONTRACT: CLI-11."""
    (tmp_path / "doorward.toml").rename(tmp_path / "other.toml")
    code, out, _ = ended(start_doorward("list", DOORWARD_CONFIG="other.toml"))
    assert (code, out.startswith("weather\t8\t")) == (0, True)


def test_reader_that_goes_away(start_doorward: StartDoorward) -> None:
    """A pipe that nobody reads any more is no error message."""
    process = start_doorward("list", "weather")
    process.stdout.close()  # type: ignore[union-attr]
    err = process.stderr.read()  # type: ignore[union-attr]
    assert (process.wait(100), err) == (1, "")


def test_real_api(start_doorward: StartDoorward, tmp_path: Path) -> None:
    """With the plugins that are meant for it: add an OpenAPI document, find its function, fail to reach it, run a
    program.
    CONTRACT: CLI-01."""
    for plugin in ("doorward_openapi", "doorward_sandbox_monty"):
        pytest.importorskip(plugin, reason=f"{plugin} is not installed")
    (tmp_path / "doorward.toml").unlink()
    operation = {"operationId": "getForecast", "summary": "The forecast", "responses": {"200": {"description": "ok"}}}
    spec = {
        "openapi": "3.1.0",
        "info": {"title": "Weather", "version": "1"},
        "paths": {"/forecast": {"get": operation}},
    }
    (tmp_path / "weather.json").write_text(json.dumps(spec))
    code, out, err = ended(
        start_doorward("add", "openapi", "weather", "weather.json", "--base-url", "http://127.0.0.1:9")
    )
    assert (code, "weather: 1 function, " in out, err) == (0, True, "")
    assert (
        json.loads(ended(start_doorward("search", "forecast", "--json"))[1])["functions"][0]["function"]
        == "weather.get_forecast"
    )
    code, out, err = ended(start_doorward("call", "weather.get_forecast"))
    assert (code, out, "127.0.0.1:9" in err) == (1, "", True)
    code, out, _ = ended(start_doorward("run", "-", "--json"), "result = 6 * 7")
    assert (code, json.loads(out)["value"]) == (0, 42)
