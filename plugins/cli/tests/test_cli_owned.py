"""What the command line says of tables and keys of servers that belong to plugins."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from doorward import Settings
from doorward.administration import Plugins
from doorward.configuration import Entry, Index
from doorward_cli.schema import whole
from doorward_testing import Cli, Host
from doorward_testing.samples import CONFIG
from pydantic import Field


class Table(Settings):
    calls: int = Field(1, description="Calls")


def test_the_schema_has_them(doorward_host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """One that cannot be used is left out, with a notice."""
    given: list[tuple[str, str, Any]] = [
        ("table", "quota", Table),
        ("table", "quotas", list[Table]),
        ("table", "odd", object()),
        ("server_key", "weight", int),
    ]
    for kind, name, thing in given:
        doorward_host.install(kind, name, thing, distribution="acme-quota", version="2.1")
    schema = whole(Plugins(Index(doorward_host.entries)))
    assert schema["properties"]["quota"]["$ref"] == "#/$defs/Table"
    assert schema["properties"]["quotas"]["type"] == "array"
    assert schema["$defs"]["Table"]["properties"]["calls"]["description"] == "Calls"
    assert "odd" not in schema["properties"]
    assert '"weight": {' in json.dumps(schema["properties"]["servers"])
    assert "left out: table 'odd' of acme-quota 2.1 gives no type" in capsys.readouterr().err


def test_they_are_listed(doorward_host: Host, cli: Cli) -> None:
    """`doorward plugins` imports none, or it would fail here; what the configuration has is active, and so is its
    plugin."""
    kinds = ("plugin", "quota"), ("table", "quota"), ("server_key", "weight")
    for kind, name in kinds:
        point = EntryPoint(name, "a_module_that_is_nowhere:Thing", "doorward.test")
        doorward_host.entries.append(Entry(kind, name, point, "acme-quota", "2.1"))

    def listed(text: str) -> dict[tuple[str, str], str]:
        doorward_host.write(text)
        found = cli("plugins", "--json").json["plugins"]
        return {(row["kind"], row["name"]): row["status"] for row in found if row["distribution"] == "acme-quota"}

    weight = CONFIG.replace("[servers.weather]", "[servers.weather]\nweight = 2")
    assert listed(CONFIG) == dict.fromkeys(kinds, "installed")
    assert listed(f"{CONFIG}[quota]\ncalls = 7\n") == dict(zip(kinds, ("active", "active", "installed"), strict=True))
    assert listed(weight) == dict(zip(kinds, ("active", "installed", "active"), strict=True))
