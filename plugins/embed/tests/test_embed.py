"""Doorward inside: a server object behind it, and its tools in agents of each framework with a scripted model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as t
import pytest
from doorward import ConfigError, Gateway, InvalidArguments, UnknownName
from doorward_embed import Toolbox, Wrapped, wrap
from doorward_embed.source import OBJECTS, Embedded
from doorward_testing import SourceConformance, check_driver
from mcp import Client, StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PROGRAM = 'import shop\nresult = sum(shop.price(item=i)["cents"] for i in ["milk", "bread"])'
"""What the scripted model writes: two calls, whose sum alone it sees."""


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    return {"state": str(tmp_path / "state")}


@pytest.fixture
def bought() -> list[str]:
    return []


@pytest.fixture
def shop(bought: list[str]) -> MCPServer:
    return fill(MCPServer("Shop"), bought)


def fill(server: Any, bought: list[str]) -> Any:
    """The tools of a shop, at any server with the decorator `tool`."""

    @server.tool()
    def price(item: str) -> dict[str, Any]:
        """What an item costs."""
        return {"item": item, "cents": {"milk": 120, "bread": 300}[item]}

    @server.tool()
    def buy(item: str) -> str:
        """Buy an item."""
        bought.append(item)
        return f"bought {item}"

    return server


class Sure(BaseModel):
    sure: bool


def needed(module: str, package: str) -> Any:
    """A framework."""
    return pytest.importorskip(module, reason=f"{package} is absent: pip install {package}")


def low_level(bought: list[str]) -> Server[Any]:
    """The shop as someone writes it against the protocol."""

    async def listed(ctx: Any, params: Any) -> t.ListToolsResult:
        schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
        return t.ListToolsResult(tools=[t.Tool(name="price", input_schema=schema)])

    async def called(ctx: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
        cents = {"milk": 120, "bread": 300}[(params.arguments or {})["item"]]
        return t.CallToolResult(content=[t.TextContent(text=f'{{"cents": {cents}}}')])

    return Server("Shop", on_list_tools=listed, on_call_tool=called)


def fastmcp(bought: list[str]) -> Any:
    return fill(needed("fastmcp", "fastmcp").FastMCP("Shop"), bought)


@pytest.mark.parametrize("make", [low_level, lambda bought: fill(MCPServer("Shop"), bought), fastmcp])
async def test_each_kind_of_server(make: Any, options: dict[str, Any]) -> None:
    """Programs call the tools of a low-level server, of the SDK's high-level one and of a FastMCP."""
    server = make([])
    async with wrap(server, options=options).tools() as box:
        outcome = await box.run_code(PROGRAM)
        assert (outcome.value, outcome.error) == (420, None)


async def test_rules_hold_for_its_calls(shop: MCPServer, bought: list[str], options: dict[str, Any]) -> None:
    """What the policy denies never reaches the server, and the model reads why; what it allows does."""
    async with wrap(shop, options={**options, "policy": {"deny": ["shop.buy"]}}).tools() as box:
        refused = await box.call("execute_code", {"code": "import shop\nshop.buy(item='milk')"})
        assert "shop.buy" in refused
        assert "420" in await box.call("execute_code", {"code": PROGRAM})
    assert bought == []


async def test_an_agent_is_its_principal(shop: MCPServer, bought: list[str], options: dict[str, Any]) -> None:
    """Two agents of one program have what each may use, and no argument of a tool makes one of them the other."""
    wrapped = wrap(shop, options={**options, "principals": {"ana": {"servers": ["shop"]}, "bo": {"servers": []}}})
    async with wrapped.tools(principal="ana") as ana, wrapped.tools(principal="bo") as bo:
        assert (await ana.run_code(PROGRAM)).value == 420
        assert not (await bo.run_code(PROGRAM)).ok
        for answer in (
            await bo.call("execute_code", {"code": PROGRAM}),
            await bo.call("execute_code", {"code": PROGRAM, "principal": "ana"}),
            await bo.call("search_functions", {"query": "price"}),
        ):
            assert not {"420", "shop.price"} & {*answer.replace(":", " ").split()}
    assert bought == []


async def test_a_person_is_asked(shop: MCPServer, options: dict[str, Any]) -> None:
    """What a tool asks a person reaches the callback of whoever opened the tools, and goes on with the answer."""

    @shop.tool()
    async def order(item: str, ctx: Context) -> str:
        answer = await ctx.elicit(f"Really {item}?", Sure)
        return f"{item}: {answer.action}"

    asked: list[str] = []

    async def ask(context: Any, params: t.ElicitRequestParams) -> t.ElicitResult:
        asked.append(params.message)
        return t.ElicitResult(action="accept", content={"sure": True})

    async with wrap(shop, options=options).tools(elicitation_callback=ask) as box:
        answer = await box.call("execute_code", {"code": "import shop\nresult = shop.order(item='milk')"})
    assert "milk: accept" in answer
    assert "Really milk?" in asked[0]


async def called(wrapped: Wrapped) -> Any:
    async with Gateway.open(wrapped.load()) as gate:
        return await gate.call("shop.price", {"item": "milk"})


async def test_what_is_no_server_is_told(shop: MCPServer, options: dict[str, Any], tmp_path: Path) -> None:
    """Not a server, a name that cannot be imported, a table that names an object by itself: each is an error."""
    with pytest.raises(TypeError, match="dict is no MCP server"):
        wrap({})
    with pytest.raises(ConfigError, match="cannot name a server"):
        wrap(shop, name="os", options=options).load()
    with pytest.raises(UnknownName, match="url"):
        await called(wrap(shop, options={**options, "servers": {"shop": {"url": "http://x"}}}))
    file = tmp_path / "doorward.toml"
    file.write_text('state = "own"\n[servers.stolen]\nsource = "embed"\nobject = "gone"\n')
    async with Gateway.open(file) as gate:
        assert "no such server in this process" in str((await gate.list_servers())["servers"][0]["broken"])
    named = wrap(MCPServer("json")), wrap(MCPServer("7 Shops!")), wrap(MCPServer("Shop")), wrap(shop)
    assert [each.name for each in named] == ["json_mcp", "server_7_shops", "shop", "shop"]


async def test_five_lines_serve_it(tmp_path: Path) -> None:
    """A program of five lines serves FastMCP's tools behind Doorward over stdio, with the rules of the file beside it."""
    (tmp_path / "shop.py").write_text(
        "from mcp.server.mcpserver import MCPServer\n\nmcp = MCPServer('Shop')\n\n\n"
        "@mcp.tool()\ndef price(item: str) -> dict:\n    return {'cents': len(item)}\n\n\n"
        "@mcp.tool()\ndef buy(item: str) -> str:\n    raise SystemExit\n"
    )
    (tmp_path / "behind.py").write_text(
        "from doorward_embed import wrap\nfrom shop import mcp\n\nif __name__ == '__main__':\n    wrap(mcp).run()\n"
    )
    (tmp_path / "doorward.toml").write_text('state = "state"\n[policy]\ndeny = ["shop.buy"]\n')
    started = StdioServerParameters(command=sys.executable, args=[str(tmp_path / "behind.py")], cwd="/")
    async with Client(started) as client:
        assert "execute_code" in [tool.name for tool in (await client.list_tools()).tools]
        answer = await client.call_tool("execute_code", {"code": "import shop\nresult = shop.price(item='milk')"})
        assert answer.structured_content["value"] == {"cents": 4}
        assert (await client.call_tool("execute_code", {"code": "import shop\nshop.buy(item='x')"})).is_error


ASKED = "What do milk and bread cost together?"


async def test_any_framework(shop: MCPServer, options: dict[str, Any]) -> None:
    """Tools have name, text and schema, and are called by name or as they are; what a model writes wrongly is told it
    as text, and a form that is none is an error."""
    async with wrap(shop, options=options).tools() as box:
        tools = {tool.name: tool for tool in await box.tools()}
        code = tools["execute_code"]
        assert code.description
        assert code.parameters["required"] == ["code"]
        assert "search_functions" in box.instructions
        assert "420" in await code(code=PROGRAM)
        assert "420" in await box.call("execute_code", json.dumps({"code": PROGRAM}))
        assert "are no JSON" in await box.call("execute_code", "{")
        assert "are no object" in await box.call("execute_code", "[1]")
        assert "There is no tool 'nope'" in await box.call("nope")
        assert "code" in await box.call("execute_code", {"cod": 1})
        responses = await box.tools("openai-responses")
        assert {each["name"] for each in responses} == {*tools}
        with pytest.raises(InvalidArguments, match="no form 'crew'"):
            await box.tools("crew")


async def test_pydantic_ai(shop: MCPServer, options: dict[str, Any]) -> None:
    """An agent of pydantic-ai runs a program, and answers from what came of it."""
    pydantic_ai = needed("pydantic_ai", "pydantic-ai-slim")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import FunctionModel

    def model(messages: list[Any], info: Any) -> Any:
        answers = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if answers:
            return ModelResponse([TextPart(f"said: {answers[0].content}")])
        schema = next(tool for tool in info.function_tools if tool.name == "execute_code").parameters_json_schema
        assert schema["required"] == ["code"]
        return ModelResponse([ToolCallPart("execute_code", {"code": PROGRAM})])

    async with wrap(shop, options=options).tools() as box:
        agent = pydantic_ai.Agent(
            FunctionModel(model), tools=await box.tools("pydantic-ai"), instructions=box.instructions
        )
        assert (await agent.run(ASKED)).output.startswith("said: 420")


async def test_langchain(shop: MCPServer, options: dict[str, Any]) -> None:
    """A tool call of a LangChain message is answered by LangChain's tool; the schema reaches its models."""
    needed("langchain_core", "langchain-core")
    from langchain_core.messages import AIMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool

    async with wrap(shop, options=options).tools() as box:
        tools = {tool.name: tool for tool in await box.tools("langchain")}
        shown = convert_to_openai_tool(tools["execute_code"])["function"]
        assert (shown["name"], shown["parameters"]["required"]) == ("execute_code", ["code"])
        asked = {"name": "execute_code", "args": {"code": PROGRAM}, "id": "c1", "type": "tool_call"}
        message = AIMessage("", tool_calls=[asked])
        answer = await tools["execute_code"].ainvoke(message.tool_calls[0])
        assert (answer.tool_call_id, answer.content[:3]) == ("c1", "420")


class Api:
    """A provider's API, which answers with what it was given, one after the other; and what it was asked."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.asked: list[dict[str, Any]] = []
        self._answers = iter(answers)

    @property
    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(json.loads(request.content))
        return httpx2.Response(200, json=next(self._answers))


async def test_anthropic(shop: MCPServer, options: dict[str, Any]) -> None:
    """The loop that Anthropic's SDK leaves to its users: tools as they go in, a tool use as it comes out."""
    anthropic = needed("anthropic", "anthropic")
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    use = {"type": "tool_use", "id": "t1", "name": "execute_code", "input": {"code": PROGRAM}}
    api = Api(
        {**message, "stop_reason": "tool_use", "content": [use]},
        {**message, "stop_reason": "end_turn", "content": [{"type": "text", "text": "4.20"}]},
    )

    async def agent(box: Toolbox) -> str:
        client = anthropic.AsyncAnthropic(api_key="k", base_url="http://127.0.0.1", http_client=api.client)
        messages: list[Any] = [{"role": "user", "content": ASKED}]
        while True:
            answer = await client.messages.create(
                model="m",
                max_tokens=1000,
                system=box.instructions,
                messages=messages,
                tools=await box.tools("anthropic"),
            )
            if answer.stop_reason != "tool_use":
                return str(answer.content[0].text)
            results = [
                {"type": "tool_result", "tool_use_id": part.id, "content": await box.call(part.name, part.input)}
                for part in answer.content
                if part.type == "tool_use"
            ]
            messages += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]

    async with wrap(shop, options=options).tools() as box:
        assert await agent(box) == "4.20"
    assert api.asked[1]["messages"][-1]["content"][0]["content"].startswith("420")
    assert {"execute_code"} < {tool["name"] for tool in api.asked[0]["tools"]}


async def test_openai(shop: MCPServer, options: dict[str, Any]) -> None:
    """The loop that OpenAI's SDK leaves to its users, where arguments come as JSON."""
    openai = needed("openai", "openai")
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "execute_code", "arguments": json.dumps({"code": PROGRAM})},
    }

    def completion(message: dict[str, Any], why: str) -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": why, "message": {"role": "assistant", "content": None, **message}}
        return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    api = Api(completion({"tool_calls": [call]}, "tool_calls"), completion({"content": "4.20"}, "stop"))

    async def agent(box: Toolbox) -> str:
        client = openai.AsyncOpenAI(api_key="k", base_url="http://127.0.0.1", http_client=api.client)
        messages: list[Any] = [{"role": "system", "content": box.instructions}, {"role": "user", "content": ASKED}]
        while True:
            answer = await client.chat.completions.create(model="m", messages=messages, tools=await box.tools("openai"))
            message = answer.choices[0].message
            if not message.tool_calls:
                return str(message.content)
            messages.append(message)
            for each in message.tool_calls:
                content = await box.call(each.function.name, each.function.arguments)
                messages.append({"role": "tool", "tool_call_id": each.id, "content": content})

    async with wrap(shop, options=options).tools() as box:
        assert await agent(box) == "4.20"
    assert api.asked[1]["messages"][-1]["content"].startswith("420")
    assert all(
        tool["type"] == "function" and tool["function"]["parameters"]["type"] == "object"
        for tool in api.asked[0]["tools"]
    )


class TestEmbedConformance(SourceConformance):
    driver = Embedded

    def settings(self, host: Any) -> dict[str, Any]:
        server = MCPServer("Notes")

        @server.tool()
        def find_notes(words: str) -> str:
            return words

        @server.tool()
        def fail() -> str:
            raise ValueError("there is none")

        self._kept = OBJECTS["conformance"] = server._lowlevel_server
        return {"object": "conformance"}

    def example(self, host: Any) -> tuple[str, dict[str, Any]]:
        return "find_notes", {"words": "milk"}

    def refused(self, host: Any) -> tuple[str, dict[str, Any]]:
        return "fail", {}

    def broken(self, host: Any) -> dict[str, Any]:
        return {"object": "gone"}


def test_it_is_installed() -> None:
    """The driver is found under its word in the configuration."""
    assert check_driver("source", "embed") is Embedded
