"""What the command line says of observers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from doorward import PluginContext, Settings
from doorward_observers import Event
from doorward_testing import Cli
from doorward_testing.samples import CONFIG


class ExportSettings(Settings):
    endpoint: str = "here"


class Export:
    """An observer."""

    Settings = ExportSettings

    def __init__(self, context: PluginContext[ExportSettings]) -> None: ...

    async def observe(self, batch: Sequence[Event]) -> None: ...

    async def close(self) -> None: ...


@pytest.mark.slow
def test_the_commands_know_it(cli: Cli, doorward_host: Any) -> None:
    """`plugins` shows it as active, `schema` has its settings, and `doctor` a line."""
    doorward_host.install_real("doorward-observers")
    doorward_host.install("observer", "export", Export)
    doorward_host.write(f"observer = 'export'\n{CONFIG}")
    (row,) = [each for each in json.loads(cli("plugins", "--json").out)["plugins"] if each["kind"] == "observer"]
    assert (row["name"], row["status"]) == ("export", "active")
    schema = json.loads(cli("schema").out)
    assert "endpoint" in json.dumps(schema["$defs"]["ExportSettings"])
    assert list(schema["properties"]["observers"]["properties"]) == ["export"]
    assert {"type": "string"} in schema["properties"]["observer"]["anyOf"]
    assert "observer export" in cli("doctor").out
