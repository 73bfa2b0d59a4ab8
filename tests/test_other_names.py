"""Guards and other systems' names: what programs have without an import is not missing."""

from __future__ import annotations

from typing import Any

import pytest

CODES = [
    "mcp_servers['weather'].get_forecast(city='Oslo')['city']",
    "mcp_weather.get_forecast(city='Oslo')['city']",
    "call_mcp_tool('mcp__weather__get_forecast', {'city': 'Oslo'})['city']",
]


@pytest.mark.anyio
@pytest.mark.slow
async def test_ruff_knows_what_programs_of_other_systems_have(doorward_host: Any) -> None:
    """It refuses them where these names are not there."""
    doorward_host.install_real("compat", "monty", "ruff")
    text = 'cache = "none"\nplugins = ["ruff"]\n[servers.weather]\nsource = "fake"\n'
    async with doorward_host.gateway(text) as gate:
        await gate.ready()
        for code in CODES:
            outcome = await gate.execute(code)
            assert (outcome.value, outcome.error) == ("Oslo", None), code
        error = (await gate.execute("cal_mcp_tool('mcp__weather__big')")).error
        assert error is not None
        assert "(ruff F821)" in error.message
    async with doorward_host.gateway("capabilities = []\n" + text) as gate:
        await gate.ready()
        for code in CODES:
            error = (await gate.execute(code)).error
            assert error is not None
            assert error.message.count("ruff F821") == 1, code


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
