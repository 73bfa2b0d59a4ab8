"""Tools and texts where executors run other languages than Python, and where they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward_mcp_server import guides
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG
from doorward_testing.scripted import Scripted
from mcp.client.client import Client

pytestmark = pytest.mark.anyio
BOTH = CONFIG.replace('"inprocess"', '["inprocess", "scripted"]')
ALONE = CONFIG.replace('"inprocess"', '"scripted"')


@pytest.fixture
def host(doorward_host: Any) -> Any:
    doorward_host.install("executor", "scripted", Scripted)
    return doorward_host


async def schemas(gate: Any) -> dict[str, Any]:
    async with Client(build(gate)) as client:
        return {tool.name: tool.input_schema["properties"] for tool in (await client.list_tools()).tools}


async def test_python_alone_needs_no_word(host: Any) -> None:
    """What a model is sent says nothing of languages, and nothing of them is in a hint; a program in one is refused
    with what to install. CONTRACT: DIS-17."""
    async with host.gateway(CONFIG) as gate:
        found = await schemas(gate)
        assert not any("language" in arguments for arguments in found.values())
        async with Client(build(gate)) as client:
            wrong = await client.call_tool("execute_code", {"code": 1})
            assert "language" not in wrong.content[0].text
            refused = await client.call_tool("execute_code", {"code": "1", "language": "typescript"})
            assert "pip install doorward-sandbox-deno" in refused.content[0].text
            assert (await client.call_tool("execute_code", {"code": "1", "language": "python"})).is_error is False


async def test_a_model_chooses_where_there_is_a_choice(host: Any) -> None:
    """`execute_code` and `get_functions` take the language; a sentence says how TypeScript looks. CONTRACT: EXE-02."""
    async with host.gateway(BOTH) as gate:
        found = await schemas(gate)
        served = ["python", "typescript", "javascript"]
        assert found["execute_code"]["language"]["enum"] == served
        assert "import * as server from" in found["execute_code"]["language"]["description"]
        assert found["get_functions"]["language"] == {"type": "string", "enum": served}
        assert not any("language" in found[name] for name in found if name not in ("execute_code", "get_functions"))
        async with Client(build(gate)) as client:
            call = client.call_tool
            ran = await call("execute_code", {"code": "const a = 2", "language": "typescript"})
            assert ran.structured_content["executor"] == "scripted"
            card = await call("get_functions", {"functions": ["weather.get_forecast"], "language": "typescript"})
            assert "declare function get_forecast(args: {" in card.content[0].text
            assert (
                "def get_forecast("
                in (await call("get_functions", {"functions": ["weather.get_forecast"]})).content[0].text
            )
            listed = await call("list_servers", {})
            assert [each["languages"] for each in listed.structured_content["executors"]] == [["python"], served[1:]]
            assert "scripted: a few statements" in listed.content[0].text


@pytest.mark.parametrize("surface", ["standard", "minimal"])
async def test_texts_without_python(host: Any, surface: str) -> None:
    """Where no executor runs Python, all texts are about TypeScript."""
    async with host.gateway(f'surface = "{surface}"\n{ALONE}') as gate, Client(build(gate)) as client:
        assert "Python" not in (client.instructions or "")
        assert ("TypeScript" in (client.instructions or "")) == (surface == "standard")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "TypeScript" in (tools["execute_code"].description or "")
        assert not any("Python" in (tool.description or "") for tool in tools.values())
        assert tools["execute_code"].input_schema["properties"]["language"]["enum"] == ["typescript", "javascript"]
        ran = await client.call_tool("execute_code", {"code": "const a = 2"})
        assert ran.structured_content["value"] == 2
    assert len(guides.STANDARD_TYPESCRIPT) < 1300
    assert len(guides.MINIMAL_TYPESCRIPT) <= 2048


@pytest.mark.parametrize("surface", ["standard", "minimal"])
async def test_no_text_denies_a_network_that_there_is(host: Any, surface: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the operator gives one to an executor, only credentials are said to be absent."""
    declared = Scripted.capabilities
    for has, said in ((False, "without network or credentials"), (True, "sandbox without credentials")):
        monkeypatch.setattr(
            Scripted, "capabilities", lambda scripted, has=has: replace(declared(scripted), network=has)
        )
        async with host.gateway(f'surface = "{surface}"\n{ALONE}') as gate, Client(build(gate)) as client:
            tools = {tool.name: tool.description for tool in (await client.list_tools()).tools}
            assert said in f"{client.instructions} {tools['execute_code']}"
