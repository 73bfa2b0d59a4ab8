"""The modules that programs can import: what policy denies a principal is not in them."""

from __future__ import annotations

from typing import Any

import pytest

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
