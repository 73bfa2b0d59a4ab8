"""What `execute_code` and `run_cached_code` really send, against the schema that they say they have and the whole
one."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from doorward import Finding, hookimpl
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG, MemoryCache
from doorward_testing.schemas import closed
from doorward_text import outcome_schema
from mcp.client.client import Client

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ANSWERS = {
    "nothing": ("pass", ["ok"]),
    "a value": ("1 + 1", ["value"]),
    "a text": ("'a'", ["value"]),
    "no value": ("result = None", ["value"]),
    "printed": ("print('a')\nresult = 1", ["printed", "value"]),
    "too much printed": ("print('a' * 20_000)", ["printed"]),
    "a cut value": ("['a' * 100] * 1000", ["truncated"]),
    "a cut text": ("'é' * 20_000", ["truncated"]),
    "bytes": ("b'x' * 1000", ["value", "artefacts"]),
    "a file of an upstream": ("await weather.raw(map=1)", ["calls"]),
    "calls": (
        "await weather.get_forecast('Oslo')\nresult = await weather.get_forecast('Bergen')",
        ["calls", "executor", "cache_id", "next"],
    ),
    "a note": ("result = 'noted'", ["notes"]),
    "an error": ("def f():\n    raise ValueError('a')\nf()", ["error", "executor"]),
    "an error without words": ("raise ValueError()", ["error"]),
    "no program": ("1 +", ["error"]),
    "refused by a guard": ("'refused'", ["error"]),
    "an error of a server": ("await weather.fail()", ["error", "calls"]),
    "a defect of a source": ("await weather.crash()", ["error", "calls"]),
    "wrong arguments": ("await weather.get_forecast(town='Oslo')", ["error"]),
    "no such server": ("import nope", ["error"]),
    "no executor": ("'needs full python'", ["error"]),
    "too long": ("await weather.sleep()", ["error"]),
}


class Guard:
    @hookimpl
    def guard_program(self, program: Any) -> list[Finding]:
        refuse = "refused" in program.code
        return [Finding("it says so", 1, "Say otherwise", refuse=refuse)] if refuse or "noted" in program.code else []


@pytest.fixture
async def call(doorward_host: Any) -> Any:
    """A tool's structured answer, held against what it says of itself, and what of that may be there."""
    doorward_host.install("plugin", "guard", Guard())
    doorward_host.install("cache", "memory", MemoryCache)
    config = CONFIG.replace("plugins = []", 'plugins = ["guard"]').replace('cache = "none"', 'cache = "memory"')
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        said = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            answer = (await client.call_tool(name, arguments)).structured_content
            jsonschema_rs.validate({**said[name], "additionalProperties": False}, answer)
            jsonschema_rs.validate(closed(outcome_schema()), answer)
            return answer

        yield call


@pytest.mark.parametrize("kind", ANSWERS)
async def test_every_kind_of_answer_has_the_schema(call: Any, kind: str) -> None:
    """Nothing is sent that the schema of the tool does not name, whatever became of the program. CONTRACT: OUT-01."""
    code, there = ANSWERS[kind]
    answer = await call("execute_code", code=code, timeout=2 if kind == "too long" else 60)
    assert [name for name in there if name not in answer] == []
    assert answer["ok"] is ("error" not in answer)


async def test_answers_of_sessions_and_kept_programs_have_the_schema(call: Any) -> None:
    """So has a session, a program that is run again, and one that cannot be."""
    assert (await call("execute_code", code="x = 1", session_id="new"))["session_id"]
    kept = (await call("execute_code", code="city = 'Oslo'\nresult = await weather.get_forecast(city)"))["cache_id"]
    assert (await call("run_cached_code", cache_id=kept, params={"city": "Bergen"}))["value"]["city"] == "Bergen"
    for arguments in ({"cache_id": kept, "params": {"town": "Oslo"}}, {"cache_id": "nope"}):
        assert not (await call("run_cached_code", **arguments))["ok"]
