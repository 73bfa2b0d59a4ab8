"""The modules that programs can import: what policy denies a principal is not in them."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import InvalidArguments, PluginError, Refused, hookimpl
from doorward.helping import PROGRAM_NAMES, HelperContext
from doorward.model.program_names import ProgramNames
from doorward.sandboxing import Aliases

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio

ALL = {"get_forecast", "getForecast", "add_station", "addStation", "big"}


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize(
    ("policy", "denied"),
    [
        ("", set()),
        ("[policy]\ndeny = ['weather.add_station']", {"add_station", "addStation"}),
        ("[policy]\ndeny = ['weather.addStation']", {"add_station", "addStation"}),
        ("[policy]\nallow = ['weather.get_*']", {"add_station", "addStation", "big"}),
        ("[policy]\ndeny = ['https://api.example.com#POST /stations']", {"add_station", "addStation"}),
        ("[principals.local]\ndeny = ['weather.big']", {"big"}),
        ("[principals.other]\ndeny = ['weather.big']", set()),
        ("[[policy.rules]]\nmatch = 'weather.big'\nthen = 'deny'", {"big"}),
        ("[[policy.rules]]\nmatch = 'weather.big'\nthen = 'confirm'", set()),
    ],
)
async def test_a_module_has_no_name_of_a_denied_function(
    doorward_host: Any, policy: str, denied: set[str], prepared: bool
) -> None:
    """Neither its name nor its original id, by whatever list or rule, in a stub neither; a new compile changes nothing."""
    config = f'{CONFIG}url = "https://api.example.com"\n{policy}\n'
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        for _ in range(2):
            if prepared:
                await gate.modules.prepare("local", "import weather")
            assert ALL.difference(gate.modules.members("weather", "local")) == denied
            stub = gate.modules.stub("weather", sorted(ALL), "local")
            assert {name for name in ALL if f"{name}(" in stub or f"{name} =" in stub} == ALL - denied
            await gate.compile(force=True)


class Metres:
    """A capability that gives programs a module, and other names for servers; by what `doorward` exports alone."""

    def __init__(self, context: Any) -> None:
        pass

    @hookimpl
    def gateway_made(self, gateway: Any) -> None:
        gateway.modules.add("doorward.metres", {"feet": self.feet, "forecast": self.forecast}, recorded=("feet",))
        with pytest.raises(PluginError, match="is given already"):
            gateway.modules.add("doorward.metres", {})
        with pytest.raises(PluginError, match=r"is not called doorward\.NAME"):
            gateway.modules.add("metres", {})

    async def feet(self, run: HelperContext, metres: float) -> float:
        return metres * 3.28

    async def forecast(self, run: HelperContext, city: str) -> Any:
        run.helper_makes_calls()
        return await run.call("weather.get_forecast", (), {"city": city})


async def test_a_capability_gives_programs_a_module(doorward_host: Any) -> None:
    """Its helpers get the run, and the calls that they make are those of the program: counted, and decided."""
    doorward_host.install("plugin", "metres", Metres)
    config = CONFIG.replace("plugins = []", 'plugins = ["metres"]')
    async with doorward_host.gateway('policy = { deny = ["weather.get_forecast"] }\n' + config) as gate:
        assert await gate.call("doorward.metres.feet", {"metres": 2}) == 6.56
        with pytest.raises(Refused):
            await gate.call("doorward.metres.forecast", {"city": "Oslo"})
        with pytest.raises(InvalidArguments, match=r"doorward\.metres\.feet: missing a required argument"):
            await gate.call("doorward.metres.feet")
        assert gate.modules.recorded("metres.feet")
        assert not any(map(gate.modules.recorded, ("metres.forecast", "feet")))
        door = gate.execution.of_call("ann")
        assert door.members("doorward.metres") == ["feet", "forecast"]
        assert "def feet(*args: Any" in door.stub("doorward.metres", ["feet"])
    async with doorward_host.gateway(config) as gate:
        outcome = await gate.execute("(await doorward.call('doorward.metres.forecast', {'city': 'Oslo'}))['city']")
        assert outcome.value == "Oslo"
        assert [call["function"] for call in outcome.calls] == ["weather.get_forecast"]


class Nicknames(ProgramNames):
    """A capability for which `sky` is another name of the server `weather`."""

    @hookimpl
    def gateway_made(self, gateway: Any) -> None:
        gateway.services.give(PROGRAM_NAMES, self)

    def aliases(self, language: Any, code: Any, servers: Any, has: Any, *, everything: bool = False) -> Aliases:
        return Aliases({"sky": "weather"})

    def functions(self, asked: Any) -> list[str]:
        return [name.replace("sky.", "weather.") for name in asked]


async def test_a_capability_says_what_other_names_mean(doorward_host: Any) -> None:
    """One alone: two that say it stop the start."""
    doorward_host.install("plugin", "nicknames", Nicknames())
    config = CONFIG.replace("plugins = []", 'plugins = ["nicknames"]')
    async with doorward_host.gateway(config) as gate:
        await gate.ready()
        assert gate.execution.of_call("ann").aliases("").modules == {"sky": "weather"}
        assert (await gate.get_functions(["sky.get_forecast"]))[0]["function"] == "weather.get_forecast"
    doorward_host.install("plugin", "others", Nicknames())
    with pytest.raises(PluginError, match="other names in programs is given twice"):
        async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["nicknames", "others"]')):
            pass
