"""`surface = "calls"`: functions are found and called without code, through the SDK's own client, in both eras."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import jsonschema_rs
import pytest
from doorward import Call, Compiled, File, Function, Reply, hookimpl
from doorward.sandboxing import KEPT_PROGRAMS
from doorward_mcp_server.server import build
from doorward_testing.samples import CONFIG, Weather
from mcp import MCPError
from mcp.client.client import Client

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
CALLS = f'surface = "calls"\n{CONFIG}'


async def call(client: Any, function: str, /, **arguments: Any) -> Any:
    return await client.call_tool("call_function", {"function": function, "arguments": arguments})


class Saved:
    """A program that has a name."""

    async def find(self, queries: Any, principal: str) -> Any:
        return [{"cache_id": "forecast", "summary": "Forecast of a town", "params": {}}]


@pytest.mark.slow
@pytest.mark.parametrize(("surface", "is_told"), [("standard", True), ("minimal", False), ("calls", False)])
async def test_programs_are_found_where_they_can_be_run(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, surface: str, is_told: bool
) -> None:
    """By run_cached_code, which the other surfaces do not have."""
    async with doorward_host.gateway(f'surface = "{surface}"\n{CONFIG}') as gate, Client(build(gate)) as client:
        if gate.keeps_programs:  # what keeps them is installed here
            monkeypatch.setattr(gate.services[KEPT_PROGRAMS], "find", Saved().find)
        else:
            gate.services.give(KEPT_PROGRAMS, Saved())
        assert ("run_cached_code" in {tool.name for tool in (await client.list_tools()).tools}) == is_told
        found = await client.call_tool("search_functions", {"query": "forecast"})
        assert ("run_cached_code" in found.content[0].text, "programs" in (found.structured_content or ())) == (
            is_told,
            is_told,
        )


@pytest.mark.slow
@ERAS
async def test_the_main_job_without_code(doorward_host: Any, era: str) -> None:
    """Search, get, call: three tools, whose texts speak of nothing else; each answer fits its schema."""
    async with doorward_host.gateway(CALLS) as gate, Client(build(gate), mode=era) as client:
        tools = {t.name: t for t in (await client.list_tools()).tools}
        assert [*tools] == ["search_functions", "get_functions", "call_function"]
        assert "language" not in tools["get_functions"].input_schema["properties"]
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError, match="There are: none"):
            await client.get_prompt("reusable_code_guide")
        found = await client.call_tool("search_functions", {"query": "forecast"})
        card = await client.call_tool("get_functions", {"functions": ["weather.get_forecast"]})
        answer = await call(client, "weather.get_forecast", city="Oslo")
        assert found.content[0].text.startswith("weather.get_forecast")
        assert 'call_function({"function": "weather.get_forecast", "arguments": {"city": ' in card.content[0].text
        assert "import" not in card.content[0].text
        assert answer.content[0].text == '{"city":"Oslo","high":20.5}'
        assert answer.structured_content["value"] == {"city": "Oslo", "high": 20.5}
        for name, each in (("search_functions", found), ("get_functions", card), ("call_function", answer)):
            jsonschema_rs.validate(tools[name].output_schema, each.structured_content)
        assert not any("execute_code" in str(each) or "program" in str(each) for each in tools.values())
        about = (await client.read_resource("doorward://capabilities")).contents[0].text
        assert "call_function" in about
        assert "rogram" not in about
        assert (await client.call_tool("execute_code", {"code": "1"})).is_error


async def test_its_example_is_a_call(doorward_host: Any) -> None:
    """What the card shows can be sent as it is."""
    async with doorward_host.gateway(CALLS) as gate, Client(build(gate)) as client:
        card = await client.call_tool("get_functions", {"functions": ["weather.add_station"]})
        shown = re.search(r"call_function\((.*)\)$", card.content[0].text, re.MULTILINE)
        assert shown
        answer = await client.call_tool("call_function", json.loads(shown[1]))
        assert not answer.is_error


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"function": "weather.get_forecast"}, ["needs the argument 'city'", "weather.get_forecast({"]),
        (
            {"function": "weather.get_forecast", "arguments": {"city": 5}},
            ["argument city: expected string, got integer 5", "In the signature:\n      city: string;"],
        ),
        ({"function": "weather.get_forecast", "arguments": {"citty": "a"}}, ["did you mean 'city'?"]),
        ({"function": "weather.get_forecasts"}, ["did you mean 'weather.get_forecast'?"]),
        ({"function": "weather.fail"}, ["ApiError: 404"]),
        ({}, ["call_function needs the argument 'function'", "call_function(function: string, arguments?: object"]),
        ({"function": "doorward.search"}, ["no function to call here", "doorward.items"]),
        (
            {"function": "doorward.items", "arguments": {"functon": "weather.big"}},
            ["missing a required argument: 'function'", "It is written doorward.items({ function: string;"],
        ),
        ({"function": "weather.big", "cursor": "doorward://results/none"}, ["there is no result", "made again"]),
        ({"function": "weather.big", "cursor": "a\x1b[31m\u202e"}, ["there is no result a\\x1b[31m\\u202e"]),
    ],
)
async def test_mistakes_are_explained_in_its_terms(
    doorward_host: Any, arguments: dict[str, Any], told: list[str]
) -> None:
    """Errors show the signature that is right, and names like the wrong one."""
    async with doorward_host.gateway(CALLS) as gate, Client(build(gate)) as client:
        answer = await client.call_tool("call_function", arguments)
        assert answer.is_error
        assert all(each in answer.content[0].text for each in told), answer.content[0].text
        assert "def " not in answer.content[0].text


@ERAS
async def test_a_cut_answer_is_read_to_its_end(doorward_host: Any, era: str) -> None:
    """By what its text says, with no other tool, and without another call."""
    async with doorward_host.gateway(CALLS) as gate, Client(build(gate), mode=era) as client:
        answer, read, pages = await call(client, "weather.big"), "", 0
        assert "in a program" not in answer.content[0].text
        cursor = re.search(r'call_function with cursor="([^"]+)"', answer.content[0].text)
        while cursor:
            page = await client.call_tool("call_function", {"function": "weather.big", "cursor": cursor[1]})
            read, pages = read + page.structured_content["value"], pages + 1
            assert page.structured_content["value"] in page.content[0].text
            cursor = re.search(r'call_function with cursor="([^"]+)"', page.content[0].text)
            assert bool(cursor) == ("cursor" in page.structured_content)
        assert pages > 2
        assert len(json.loads(read)) == 2000


async def test_pages_end_with_whole_characters_and_files_are_told(doorward_host: Any) -> None:
    """A file of text is read by its handle; one of bytes is not, but an image is shown."""
    async with doorward_host.gateway(CALLS) as gate, Client(build(gate)) as client:

        async def read(content: bytes, type: str) -> tuple[str, Any]:
            kept = await gate.artefacts.keep(gate.artefacts.made(content, type), "local")
            text, cursor = "", kept.uri
            while cursor:
                page = await client.call_tool("call_function", {"function": "", "cursor": cursor})
                value = page.structured_content["value"]
                text, cursor = text + value if isinstance(value, str) else text, page.structured_content.get("cursor")
            return text, page

        whole = "x" + "äöü€" * 20_000
        assert (await read(whole.encode(), "text/csv"))[0] == whole
        _, page = await read(b"\0\1\2", "application/zip")
        assert page.structured_content["value"] == {
            "artefact": page.structured_content["artefacts"][0]["uri"], "type": "application/zip", "bytes": 3,
        }  # fmt: skip
        assert "this is no text" in page.content[0].text
        _, page = await read(PNG, "image/png")
        assert base64.b64decode(page.content[1].data) == PNG


class Files(Weather):
    """A source that answers images, and takes files."""

    async def compile(self) -> Compiled:
        file = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}, "required": ["file"]}
        return Compiled([Function("files", "draw", read_only=True), Function("files", "upload", parameters=file)])

    async def call(self, call: Call) -> Any:
        if call.function.name == "draw":
            return Reply(PNG, type="image/png", name="plot.png")
        file = call.arguments["file"]
        return [file.name, file.type, len(file.content)] if isinstance(file, File) else file


async def test_files_go_from_answer_to_argument(doorward_host: Any) -> None:
    """An image is shown, and its handle is the file for the next call; text is a file where a file is wanted."""
    doorward_host.install("source", "files", Files)
    config = CALLS + '[servers.files]\nsource = "files"\n'
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        drawn = await call(client, "files.draw")
        assert base64.b64decode(drawn.content[1].data) == PNG
        handle = drawn.structured_content["value"]
        sent = await call(client, "files.upload", file=handle)
        assert sent.structured_content["value"] == ["plot.png", "image/png", len(PNG)]
        sent = await call(client, "files.upload", file={"content": "a,b", "name": "a.csv", "type": "text/csv"})
        assert sent.structured_content["value"] == ["a.csv", "text/csv", 3]
        card = (await client.call_tool("get_functions", {"functions": ["files.upload"]})).content[0].text
        assert "bytes" not in card
        assert "artefact: string" in card
        gone = await call(client, "files.upload", file={"artefact": "doorward://results/gone"})
        assert "there is no result" in gone.content[0].text


async def test_policy_and_guards_hold(doorward_host: Any) -> None:
    """A single call takes the road of a program's: policy refuses it, guards see it, observers hear of it, and it
    counts as a run."""
    seen: list[str] = []

    class Guard:
        @hookimpl
        def guard_call(self, call: Any) -> str | None:
            seen.append(call.function.qualified)
            return "not today" if call.arguments.get("city") == "Rome" else None

        @hookimpl
        def call_finished(self, call: Any, record: Any) -> None:
            seen.append(f"{record.ok} {record.error}")

    doorward_host.install("plugin", "guard", Guard())
    config = CALLS.replace("plugins = []", 'plugins = ["guard"]').replace(
        "[servers", '[policy]\ndeny = ["weather.add_*"]\n[limits]\nrate = 4\n[servers'
    )
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        denied = await call(client, "weather.add_station", city="Oslo")
        assert "Refused: weather.add_station is not allowed by the operator's policy" in denied.content[0].text
        assert "not today" in (await call(client, "weather.get_forecast", city="Rome")).content[0].text
        assert not (await call(client, "weather.get_forecast", city="Oslo")).is_error
        assert seen == [
            "False Refused", "weather.get_forecast", "False GuardRefused", "weather.get_forecast", "True ",
        ]  # fmt: skip
        await call(client, "weather.get_forecast", city="Oslo")
        assert "LimitExceeded" in (await call(client, "weather.get_forecast", city="Oslo")).content[0].text


async def test_helpers_are_called_as_functions_are(doorward_host: Any) -> None:
    """All pages, status and headers: what a program has helpers for, and nothing that only a program can use."""
    async with doorward_host.gateway(CALLS) as gate, Client(build(gate)) as client:
        listed = (await client.call_tool("get_functions", {"functions": ["doorward"]})).content[0].text
        assert "doorward.items({ function: string;" in listed
        assert "Servers: weather." in listed
        assert "call_function" in listed
        assert "path(" not in listed
        card = (await client.call_tool("get_functions", {"functions": ["doorward.items"]})).content[0].text
        assert "import" not in card
        answer = await call(client, "doorward.reply", function="weather.get_forecast", arguments={"city": "Oslo"})
        assert answer.structured_content["value"]["value"] == {"city": "Oslo", "high": 20.5}
        few = await call(client, "doorward.items", function="weather.big", most=3)
        assert [each["id"] for each in few.structured_content["value"]] == [0, 1, 2]
        server = (await client.call_tool("get_functions", {"functions": ["weather"]})).content[0].text
        assert "Weather of the world" in server
        assert "import" not in server


async def test_direct_tools_are_there_too(doorward_host: Any) -> None:
    """Where the operator has configured them; the instructions speak of no program."""
    config = CALLS + 'expose = ["get_forecast"]\n'
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        await gate.ready()
        names = [t.name for t in (await client.list_tools()).tools]
        assert names[2:] == ["call_function", "weather_get_forecast"]
        assert not any(word in (client.instructions or "") for word in ("execute_code", "program", "Python", "sandbox"))


async def test_it_needs_no_executor(doorward_host: Any) -> None:
    """Nothing of a program is needed where none is run, so no executor is imported."""
    config = CALLS.replace('executor = "inprocess"', 'executor = "nowhere"')
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        await client.list_tools()
        card = await client.call_tool("get_functions", {"functions": ["weather.get_forecast"]})
        assert not card.is_error
        assert not (await call(client, "weather.get_forecast", city="Oslo")).is_error


async def test_the_next_page_is_told(doorward_host: Any) -> None:
    """As a call, where the answer says how it is asked for."""

    class Pages:
        @hookimpl
        def source_compiled(self, server: str, functions: list[Function]) -> None:
            page = {"type": "object", "properties": {"cursor": {"type": "string"}, "city": {"type": "string"}}}
            functions.append(Function(server, "list_all", "x", "Lists", parameters=page, read_only=True))

        @hookimpl
        def change_result(self, call: Any, result: Any) -> Any:
            return {"items": [1], "next_cursor": "b"} if call.function.name == "list_all" else None

    doorward_host.install("plugin", "pages", Pages())
    config = CALLS.replace("plugins = []", 'plugins = ["pages"]')
    async with doorward_host.gateway(config) as gate, Client(build(gate)) as client:
        await gate.compile(force=True)
        answer = await call(client, "weather.list_all", city="Oslo")
        note = 'note: there is a next page: call_function with the arguments {"city": "Oslo", "cursor": "b"}'
        assert note in answer.content[0].text
