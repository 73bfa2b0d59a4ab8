"""`doorward plugins --chain`: the layers around runs and calls, outermost first."""

from __future__ import annotations

from typing import Any

from doorward import CallLayer, RunLayer, hookimpl
from doorward_testing import Cli
from doorward_testing.samples import CONFIG


async def passing(run: Any, *given: Any) -> Any:
    return await given[-1]()


class Mine:
    @hookimpl
    def call_layers(self) -> list[CallLayer]:
        return [CallLayer("b", passing, after=["a"]), CallLayer("a", passing)]

    @hookimpl
    def run_layers(self) -> list[RunLayer]:
        return [RunLayer("c", passing)]


def test_the_chain_is_shown(cli: Cli, doorward_host: Any) -> None:
    """Each layer with its plugin and distribution."""
    doorward_host.install("plugin", "mine", Mine(), distribution="acme", version="2.1")
    doorward_host.write(CONFIG.replace("plugins = []", 'plugins = ["mine"]'))
    found = cli("plugins", "--chain", "--json").json["layers"]
    assert [(row["around"], row["layer"]) for row in found] == [
        ("runs", "c"),
        ("calls", "a"),
        ("calls", "b"),
    ]
    assert found[0] == {"around": "runs", "layer": "c", "plugin": "mine", "distribution": "acme 2.1"}
    assert cli("plugins", "--chain").out.splitlines()[-1].split("\t") == ["calls", "b", "mine", "acme 2.1"]
