"""The MCP surface, through the SDK's own client, in both protocol eras."""

from __future__ import annotations

import json
from typing import Any

import anyio
import jsonschema_rs
import pytest
from doorward import hookimpl
from doorward.model.functions import Function
from doorward.plugins.mcp_additions import RawPrompt, RawResource, RawTool
from doorward_mcp_server import guides
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG
from mcp import MCPError
from mcp.client.client import Client

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
TOKEN = 4
"""Bytes of a token, a low estimate: 4.4 were measured on 585 real tools."""


async def tokens(client: Any, instructions: str) -> float:
    tools = (await client.list_tools()).tools
    return (
        len(json.dumps([t.model_dump(by_alias=True, exclude_none=True, mode="json") for t in tools]))
        + len(instructions)
    ) / TOKEN


@ERAS
async def test_standard_surface(doorward_host: Any, era: str) -> None:
    """Five tools with titles, schemas and annotations, the prompt, the resources. CONTRACT: DIS-05, DIS-16, DIS-20,
    CAC-04."""
    async with doorward_host.gateway(CONFIG) as gate, Client(build(gate), mode=era) as client:
        tools = (await client.list_tools()).tools
        assert [t.name for t in tools] == [
            "list_servers",
            "search_functions",
            "get_functions",
            "execute_code",
            "run_cached_code",
        ]
        assert all(t.title and t.description and t.output_schema and t.annotations for t in tools)
        assert [p.name for p in (await client.list_prompts()).prompts] == ["reusable_code_guide"]
        guide = (await client.get_prompt("reusable_code_guide")).messages[0].content.text
        assert "run_cached_code" in guide
        assert (await client.list_resources()).resources[0].uri == "doorward://capabilities"
        assert "sandbox" in (await client.read_resource("doorward://capabilities")).contents[0].text
        card = (await client.read_resource("doorward://functions/weather/get_forecast")).contents[0].text
        assert "def get_forecast" in card
        for uri in ("doorward://functions/weather/nope", "doorward://results/nope", "file:///etc/passwd"):
            with pytest.raises(MCPError, match="not found"):
                await client.read_resource(uri)


@ERAS
async def test_the_main_job(doorward_host: Any, era: str) -> None:
    """Search, get, execute: text stands alone, and says the same as the structured content. CONTRACT: DIS-04, EXE-04,
    OUT-01, OUT-04."""
    async with doorward_host.gateway(CONFIG) as gate, Client(build(gate), mode=era) as client:
        schemas = {t.name: t.output_schema for t in (await client.list_tools()).tools}
        calls = [
            ("list_servers", {}, "weather: 8 functions"),
            ("search_functions", {"query": "forecast", "limit": 3}, "weather.get_forecast -> {high}: The forecast"),
            ("get_functions", {"functions": ["weather.get_forecast"]}, "from weather import get_forecast"),
            ("execute_code", {"code": "result = await weather.get_forecast('Oslo')"}, '{"city":"Oslo",'),
        ]
        for name, arguments, said in calls:
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error
            assert said in answer.content[0].text
            jsonschema_rs.validate(schemas[name], answer.structured_content)
        assert "Always look before you call" in client.instructions


async def test_failures_are_readable_answers(doorward_host: Any) -> None:
    """A failed run and a wrong argument are answers with `isError`, with advice. CONTRACT: OUT-05."""
    async with doorward_host.gateway(CONFIG) as gate, Client(build(gate)) as client:
        failed = await client.call_tool("execute_code", {"code": "x = 1\n1 / 0"})
        assert failed.is_error
        assert "ZeroDivisionError" in failed.content[0].text
        assert "line 2" in failed.content[0].text
        assert failed.structured_content["error"]["line"] == 2
        for arguments, said in [
            ({}, "execute_code needs the argument 'code'"),
            ({"code": 1}, "argument code: expected str, got int 1"),
            ({"code": "1", "tiemout": 1}, "no parameter 'tiemout'; did you mean 'timeout'?"),
            ({"code": "1", "functions": ["a.b", 2]}, "argument functions[1]: expected str, got int 2"),
            ({"code": "1", "params": None}, "argument params: expected dict, got None"),
        ]:
            wrong = await client.call_tool("execute_code", arguments)
            assert wrong.is_error
            assert said in wrong.content[0].text
            assert "hint: execute_code(code: string, description?: string, " in wrong.content[0].text
        none = await client.call_tool("get_functions", {"functions": []})
        assert "one to 5 functions" in none.content[0].text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("surface", "most", "many"), [("standard", 1200, 10_000), ("minimal", 400, 1000), ("calls", 700, 1000)]
)
async def test_tokens_are_few_and_constant(doorward_host: Any, surface: str, most: int, many: int) -> None:
    """The surface costs the same at 10 and at 10,000 functions, and stays below its limit. CONTRACT: DIS-05, DIS-17."""

    class Many:
        @hookimpl
        def source_compiled(self, server: str, functions: list[Function]) -> None:
            functions.extend(Function(server, f"many_{i}", f"many{i}", "One of many") for i in range(many))

    seen = []
    for plugins in ("[]", '["many"]'):
        doorward_host.entries = [entry for entry in doorward_host.entries if entry.name != "many"]
        doorward_host.install("plugin", "many", Many())
        config = f'surface = "{surface}"\n{CONFIG}'.replace("plugins = []", f"plugins = {plugins}")
        async with doorward_host.gateway(config) as gate:
            await gate.compile(force=True)
            server = build(gate)
            async with Client(server) as client:
                seen.append(await tokens(client, server.instructions or ""))
                if plugins != "[]":
                    assert len(gate.catalog.names("weather")) > many
    assert seen[0] == seen[1] < most


async def test_minimal_surface(doorward_host: Any) -> None:
    """`surface = "minimal"` shows execute_code alone; discovery happens inside. CONTRACT: DIS-05, DIS-07, DIS-17."""
    async with doorward_host.gateway('surface = "minimal"\n' + CONFIG) as gate, Client(build(gate)) as client:
        tools = (await client.list_tools()).tools
        assert [t.name for t in tools] == ["execute_code"]
        assert "doorward.search" in tools[0].description
        assert (await client.call_tool("search_functions", {"query": "x"})).is_error
        answer = await client.call_tool(
            "execute_code", {"code": "result = (await doorward.search('forecast'))['total'] > 0"}
        )
        assert answer.structured_content["value"] is True
        assert "next" not in answer.structured_content  # run_cached_code is not there
        lost = await client.call_tool("execute_code", {"code": "import doorward\ndoorward.nothing_like_it()"})
        assert 'see doorward.describe("doorward")' in lost.structured_content["error"]["hint"]
        assert "get_functions" not in lost.content[0].text


async def test_paged_results(doorward_host: Any) -> None:
    """A cut value is read to its end through the resource. CONTRACT: OUT-04."""
    async with doorward_host.gateway(CONFIG) as gate, Client(build(gate)) as client:
        answer = await client.call_tool("execute_code", {"code": "await weather.big()"})
        uri, pages = answer.structured_content["truncated"]["rest"], 0
        assert uri in answer.content[0].text
        while uri:
            contents = (await client.read_resource(uri)).contents[0]
            uri, pages = (contents.meta or {}).get("doorward/next"), pages + 1
        assert pages > 2


async def test_plugins_add_tools(doorward_host: Any) -> None:
    """A hook plugin adds raw MCP tools; it cannot replace ours."""
    import mcp_types as t

    async def call(ctx: Any, arguments: Any) -> t.CallToolResult:
        return t.CallToolResult(content=[t.TextContent(text=f"hello {arguments['name']}")])

    class Greeter:
        @hookimpl
        def mcp_tools(self) -> list[RawTool]:
            return [
                RawTool(t.Tool(name=n, description="greets", input_schema={"type": "object"}), call)
                for n in ("greet", "execute_code")
            ]

    doorward_host.install("plugin", "greeter", Greeter())
    async with (
        doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["greeter"]')) as gate,
        Client(build(gate)) as client,
    ):
        assert [t.name for t in (await client.list_tools()).tools].count("execute_code") == 1
        assert (await client.call_tool("greet", {"name": "you"})).content[0].text == "hello you"


@ERAS
async def test_plugins_add_prompts_resources_and_handlers(doorward_host: Any, era: str) -> None:
    """By hooks, beside ours, which they cannot replace; and they tell clients that lists have changed."""
    import mcp_types as t
    from mcp.server.subscriptions import PromptsListChanged

    tell: list[Any] = []

    async def get(ctx: Any, arguments: Any) -> t.GetPromptResult:
        return t.GetPromptResult(
            messages=[t.PromptMessage(role="user", content=t.TextContent(text=f"about {arguments['topic']}"))]
        )

    async def read(ctx: Any, uri: str) -> t.ReadResourceResult:
        return t.ReadResourceResult(contents=[t.TextResourceContents(uri=uri, text=f"I am {uri}")])

    async def complete(ctx: Any, params: Any) -> t.CompleteResult:
        return t.CompleteResult(completion=t.Completion(values=["a"]))

    class More:
        @hookimpl
        def mcp_prompts(self) -> list[RawPrompt]:
            return [RawPrompt(t.Prompt(name=n, description="d"), get) for n in ("talk", "reusable_code_guide")]

        @hookimpl
        def mcp_resources(self) -> tuple[RawResource, ...]:
            fixed = [
                RawResource(t.Resource(name=uri, uri=uri), read) for uri in ("mine://one", "doorward://capabilities")
            ]
            return (*fixed, RawResource(t.ResourceTemplate(name="many", uri_template="mine://many/{id}"), read))

        @hookimpl
        def mcp_server(self, server: Any, changed: Any) -> None:
            server.add_request_handler("completion/complete", t.CompleteRequestParams, complete)
            tell.append(changed)

    doorward_host.install("plugin", "more", More())
    heard: list[Any] = []

    async def listen(message: Any) -> None:
        heard.append(message)

    config = CONFIG.replace("plugins = []", 'plugins = ["more"]')
    async with doorward_host.gateway(config) as gate, Client(build(gate), mode=era, message_handler=listen) as client:
        prompts = [p.name for p in (await client.list_prompts()).prompts]
        assert prompts == ["reusable_code_guide", "talk"]
        assert (await client.get_prompt("talk", {"topic": "tea"})).messages[0].content.text == "about tea"
        assert "run_cached_code" in (await client.get_prompt("reusable_code_guide")).messages[0].content.text
        with pytest.raises(MCPError, match="There are: reusable_code_guide, talk"):
            await client.get_prompt("nope")
        assert "mine://one" in [str(r.uri) for r in (await client.list_resources()).resources]
        assert "mine://many/{id}" in [
            r.uri_template for r in (await client.list_resource_templates()).resource_templates
        ]
        for uri in ("mine://one", "mine://many/7"):
            assert (await client.read_resource(uri)).contents[0].text == f"I am {uri}"
        assert "sandbox" in (await client.read_resource("doorward://capabilities")).contents[0].text
        with pytest.raises(MCPError, match="not found") as missing:
            await client.read_resource("mine://many/7/more")
        assert missing.value.data == {"uri": "mine://many/7/more"}
        reference = t.PromptReference(name="talk")
        assert (await client.complete(reference, {"name": "topic", "value": ""})).completion.values == ["a"]
        if era == "legacy":
            await tell[0](PromptsListChanged())
            await anyio.wait_all_tasks_blocked()
            assert any(isinstance(message, t.PromptListChangedNotification) for message in heard)
        else:
            async with client.listen(prompts_list_changed=True) as events:
                await tell[0](PromptsListChanged())
                assert isinstance(await anext(aiter(events)), PromptsListChanged)


@ERAS
async def test_a_plugin_that_fails_takes_nothing_from_others(
    doorward_host: Any, era: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its additions are missing, what it does is answered with an error that names it, and everything else is
    served."""
    import mcp_types as t

    async def fail(*given: Any) -> Any:
        raise KeyError("a secret of the plugin")

    async def odd(*given: Any) -> Any:
        return "no result"

    async def fine(*given: Any) -> Any:
        return t.CallToolResult(content=[t.TextContent(text="fine")])

    def tool(name: str, call: Any) -> RawTool:
        return RawTool(t.Tool(name=name, input_schema={"type": "object"}), call)

    class Broken:
        @hookimpl
        def mcp_tools(self) -> Any:
            return [tool("lost", fine), RawTool({"name": "no tool"}, fail)]

        @hookimpl
        def mcp_prompts(self) -> Any:
            raise RuntimeError("no prompts")

        @hookimpl
        def mcp_resources(self) -> Any:
            return [RawResource(t.ResourceTemplate(name="x", uri_template="{a}{b"), fail)]

        @hookimpl
        def mcp_server(self, server: Any) -> None:
            raise RuntimeError("no handlers")

    class Fails:
        @hookimpl
        def mcp_tools(self) -> Any:
            return [tool("fails", fail), tool("works", fine)]

        @hookimpl
        def mcp_prompts(self) -> Any:
            return [RawPrompt(t.Prompt(name="fails"), fail)]

        @hookimpl
        def mcp_resources(self) -> Any:
            return [RawResource(t.Resource(name="fails", uri="x://fails"), odd)]

    doorward_host.install("plugin", "broken", Broken())
    doorward_host.install("plugin", "fails", Fails())
    config = CONFIG.replace("plugins = []", 'plugins = ["broken", "fails"]')
    async with doorward_host.gateway(config) as gate, Client(build(gate), mode=era) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[5:] == ["fails", "works"]
        assert (await client.call_tool("works", {})).content[0].text == "fine"
        failed = await client.call_tool("fails", {})
        assert failed.is_error
        assert "the tool fails failed inside plugin 'fails' of test-plugin 1.0: KeyError" in failed.content[0].text
        assert [p.name for p in (await client.list_prompts()).prompts] == ["reusable_code_guide", "fails"]
        with pytest.raises(MCPError, match=r"the prompt fails failed inside plugin 'fails' .*: KeyError"):
            await client.get_prompt("fails")
        with pytest.raises(MCPError, match=r"the resource x://fails failed inside plugin 'fails' .*: it answered str"):
            await client.read_resource("x://fails")
        assert not (await client.call_tool("execute_code", {"code": "1"})).is_error
    said = capsys.readouterr().err
    for hook in ("mcp_tools", "mcp_prompts", "mcp_resources", "mcp_server"):
        assert f"hook='{hook}'" in said
    assert "plugin='broken'" in said
    assert "is not an mcp_types.Tool" in said


def test_instructions_are_not_cut() -> None:
    """Clients cut instructions at 2,048 characters."""
    assert len(guides.STANDARD) <= 2048
    assert len(guides.MINIMAL) <= 2048
