"""Hints for errors of programs in TypeScript and JavaScript."""

from __future__ import annotations

import json
from typing import Any

import pytest
from doorward_sandbox_deno.reading import ReadsScripts
from doorward_testing.samples import CONFIG
from doorward_testing.scripted import Scripted

pytestmark = pytest.mark.anyio

BOTH = CONFIG.replace('"inprocess"', '["inprocess", "scripted"]')


@pytest.fixture
def host(doorward_host: Any) -> Any:
    class Read(ReadsScripts, Scripted):  # type: ignore[misc]
        """Runs a few statements, and reads them as Deno's do."""

    doorward_host.install("executor", "scripted", Read)
    doorward_host.install_real("text")
    return doorward_host


HINTS = [
    (("TypeError", "weather.get_forcast is not a function"), "weather.get_forecast"),
    (("SyntaxError", "The requested module 'weather' does not provide an export named 'addstation'"), "weather.add_station"),
    (("Error", "Cannot find module 'wether'"), "Near: weather."),
    (("ReferenceError", "weather is not defined"), 'Write `import * as weather from "weather"` first.'),
    (("TypeError", "Cannot read properties of undefined (reading 'hihg')"), "Did you mean 'high'?"),
    (("TypeError", "found.map is not a function"), "Each call is awaited"),
    (("TypeError", "found is not iterable"), "weather.get_forecast answered a dict with city, high"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "hint"), HINTS)
async def test_errors_have_hints(host: Any, error: tuple[str, str], hint: str) -> None:
    """Similar names, a missing import or `await`, and what an answer really was."""
    async with host.gateway(BOTH) as gate:
        code = f'const found = await weather.get_forecast({{"city": "Oslo"}})\nthrow {json.dumps(error)}'
        failed = (await gate.execute(code, language="typescript")).error
        assert failed is not None
        assert (failed.type, failed.line) == (error[0], 2)
        assert hint in (failed.hint or ""), failed.hint
