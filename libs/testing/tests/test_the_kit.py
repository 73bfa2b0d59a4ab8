"""What plugin authors test with does what its README says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import doorward_testing
import pytest
from doorward import ConfigError, Secret, Settings
from doorward_testing import Cli, Host
from doorward_testing.samples import CONFIG

README = Path(__file__).parents[1] / "README.md"


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_the_example_of_the_readme(tmp_path: Path) -> None:
    """Somebody who has the distribution and this file has tests of their source."""
    (example,) = re.findall(
        r"^```python\n(# test_notes\.py\n.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "test_notes.py").write_text(example)
    (tmp_path / "pytest.ini").touch()
    done = run("-m", "pytest", "-q", "test_notes.py", folder=tmp_path)
    assert (done.returncode, "11 passed, 2 skipped" in done.stdout) == (0, True), done.stdout


def test_the_readme_names_every_export() -> None:
    """What is exported is told, and loaded when it is used."""
    text = README.read_text(encoding="utf-8")
    assert [name for name in doorward_testing.__all__ if f"`{name}" not in text] == ["Cli"]
    assert all(getattr(doorward_testing, name) for name in doorward_testing.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        doorward_testing.nope  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.slow
def test_the_pytest_plugin_imports_nothing(tmp_path: Path) -> None:
    """Coverage sees how Doorward is imported, though pytest has loaded the plugin before."""
    code = "import sys, doorward_testing.plugin; print(*(m for m in sys.modules if m.partition('.')[0] == 'doorward'))"
    assert run("-c", code, folder=tmp_path).stdout.split() == []


@pytest.mark.anyio
async def test_a_host_has_what_is_installed_in_it(doorward_host: Host) -> None:
    """And nothing of the machine but what keeps the catalog."""
    async with doorward_host.gateway(CONFIG) as gate:
        others = [entry for entry in gate.plugins.index.entries if entry.kind != "catalog"]
        assert {entry.name for entry in others} == {"fake", "inprocess"}
        assert (await gate.execute("await weather.get_forecast(city='Oslo')")).value["high"] == 20.5
    doorward_host.install("plugin", "broken", ImportError("no module"))
    with pytest.raises(Exception, match=r"broken' of test-plugin 1\.0 does not import"):
        async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["broken"]')):
            pass


class KeySettings(Settings):
    key: Secret
    more: int = 1


@pytest.mark.anyio
async def test_contexts_made_by_hand(host: Host) -> None:
    """They have validated settings, secrets of a given environment, and whatever else a test says."""
    given = {"environ": {"KEY": "h4rd-to-guess-0123456789"}, "name": "api"}
    context = host.context(KeySettings, {"key": "${KEY}"}, url="https://x.example", principal="alice", **given)
    assert (context.name, context.url, context.principal, context.settings.more) == (
        "api",
        "https://x.example",
        "alice",
        1,
    )
    assert await context.settings.key.get() == "h4rd-to-guess-0123456789"
    context.redact("t0ken-that-was-fetched-1")
    server = host.server(KeySettings, {"key": "${KEY}"}, changed=print, **given)
    assert (server.name, server.folder, server.changed) == ("api", host.folder, print)
    assert server.scrub("h4rd-to-guess-0123456789 t0ken-that-was-fetched-1") == "[secret] [secret]"
    with pytest.raises(ConfigError, match="did you mean 'more'"):
        host.context(KeySettings, {"key": "x", "mroe": 2})


@pytest.mark.anyio
async def test_a_test_that_fails_in_a_gateway_says_so(host: Host) -> None:
    """`pytest.fail` and `pytest.skip` leave it as they are, not in a group of exceptions; tables are a configuration."""
    for outcome in (pytest.fail, pytest.skip):
        with pytest.raises(outcome.Exception, match="the reason"):
            async with host.gateway({"executor": "none", "servers": {}}):
                outcome("the reason")


def test_a_command_line(cli: Cli, doorward_host: Any) -> None:
    """It runs in the host's folder; how it ended and what it wrote are there."""
    doorward_host.write(CONFIG)
    assert [server["name"] for server in cli("list", "--json").json["servers"]] == ["weather"]
    ended = cli("nope")
    assert (ended.code, ended.out, "there is no command 'nope'" in ended.err) == (2, "", True)
