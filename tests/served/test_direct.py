"""What operators put next to the catalog: functions as tools of their own, guides, and news of a new compile."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import re
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from .conftest import LIMITS, SHELF, WAYS
from .forked import Forked, project
from .product import TOOLS, Agent, Answering, Api, Project, until, web_of

__all__ = ["project"]

pytestmark = pytest.mark.anyio

EXPOSE = 'expose = ["getItem", "list_items", "status", "big", "nosuch"]\nskills = "guide.md"\n'
GUIDE = "# The shelf\nAsk for pages until `nextPage` is 0.\n"


@pytest.fixture(scope="module")
def shelf(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The server `shelf` with direct tools and a guide."""
    project = Forked(tmp_path_factory.mktemp("direct"), LIMITS + SHELF.format(url=api.url) + EXPOSE)
    (project.folder / "guide.md").write_text(GUIDE)
    return project


async def test_exposed_functions_are_tools_with_their_own_schemas(agent: Agent) -> None:
    """CONTRACT: TLF-01, TLF-03, DIS-20."""
    tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
    tool = tools["shelf_get_item"]
    assert tool.input_schema["properties"]["id"]["type"] == "integer"
    assert tool.input_schema["required"] == ["id"]
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is True
    assert "itemName" in json.dumps(tool.output_schema)
    answer = await agent.client.call_tool("shelf_get_item", {"id": 7})
    assert answer.structured_content == {"id": 7, "itemName": "item 7", "price": 10.5}
    assert json.loads(answer.content[0].text) == answer.structured_content


async def test_what_a_direct_tool_cannot_do_is_an_answer(agent: Agent) -> None:
    failed = await agent.client.call_tool("shelf_status", {"code": 404})
    assert failed.is_error
    assert "404" in failed.content[0].text
    assert "on purpose" in failed.content[0].text
    wrong = await agent.client.call_tool("shelf_get_item", {"id": "seven"})
    assert wrong.is_error
    assert "id" in wrong.content[0].text
    assert "In the signature:\n      id: int" in wrong.content[0].text


async def test_a_large_answer_of_a_direct_tool_is_cut_with_a_handle(agent: Agent) -> None:
    answer = await agent.client.call_tool("shelf_big", {"count": 5000})
    truncated = answer.structured_content["truncated"]
    assert truncated["shape"].startswith("list[5000]")
    assert len(json.dumps(answer.structured_content)) < 30_000
    rest = await agent.client.read_resource(truncated["rest"])
    assert "item 1" in rest.contents[0].text


async def test_an_unknown_name_in_expose_is_a_warning(shelf: Project) -> None:
    """CONTRACT: TLF-02, TLF-05."""
    report = json.loads(shelf.run("compile", "--json").stdout)["servers"]["shelf"]
    assert any("nosuch" in warning for warning in report["warnings"])
    assert any("4 functions become tools" in warning for warning in report["warnings"])


async def test_the_guide_is_a_resource_a_tool_and_in_the_instructions(agent: Agent, shelf: Project) -> None:
    """CONTRACT: SKL-01, SKL-02, SKL-03, SKL-04, DIS-06, TLF-04."""
    listed = {str(r.uri): r for r in (await agent.client.list_resources()).resources}
    assert listed["skills://shelf"].mime_type == "text/markdown"
    assert (await agent.call("list_skills"))["skills"] == ["shelf"]
    assert (await agent.call("get_server_skills", server="shelf"))["guide"] == GUIDE
    instructions = agent.client.instructions or ""
    assert "# Direct API Tools" in instructions
    assert "shelf_get_item" in instructions
    assert "# Server Skills" in instructions
    assert "until `nextPage` is 0" in instructions
    (shelf.folder / "guide.md").write_text(GUIDE + "Changed.\n")
    try:
        assert "Changed." in (await agent.client.read_resource("skills://shelf")).contents[0].text
        assert "Changed." in await agent.value("import doorward\nresult = doorward.skills('shelf')")
        assert await agent.value("import doorward\nresult = doorward.skills()") == ["shelf"]
    finally:
        (shelf.folder / "guide.md").write_text(GUIDE)


async def test_an_unknown_guide_is_an_answer_with_the_names_of_those_there_are(agent: Agent) -> None:
    await agent.call("get_server_skills", server="nosuch")
    assert "Guides: shelf." in agent.text


async def test_a_guide_that_is_not_there_is_a_warning_and_the_server_serves(project: Project) -> None:
    project.change('source = "openapi"', 'source = "openapi"\nskills = "missing.md"')
    report = json.loads(project.run("compile", "--json").stdout)["servers"]["shelf"]
    assert report["functions"] == 12
    assert any("missing.md" in warning and "No such file" in warning for warning in report["warnings"])
    async with project.stdio() as agent:
        assert (await agent.call("list_skills"))["skills"] == []
        assert await agent.value("import shelf\nresult = shelf.get_item(id=1)['price']") == 1.5


async def test_a_guide_by_http_is_fetched_by_each_compile_and_read_without_network(
    project: Project, tmp_path: Path
) -> None:
    """CONTRACT: SKL-01, SKL-05, SRC-12."""
    (tmp_path / "served").mkdir()
    with web_of(tmp_path / "served") as url:
        (tmp_path / "served" / "guide.md").write_text("one")
        project.change('source = "openapi"', f'source = "openapi"\nskills = "{url}/guide.md"')
        assert project.run("compile").returncode == 0
        (tmp_path / "served" / "guide.md").write_text("two")
        assert project.run("compile").returncode == 0
        async with project.stdio() as agent:
            assert (await agent.call("get_server_skills", server="shelf"))["guide"] == "two"
        (kept,) = project.state.rglob("skills.md")
        kept.unlink()
        kept.mkdir()
        report = json.loads(project.run("compile", "--json").stdout)["servers"]["shelf"]
    assert report["functions"] == 12
    assert "skills.md: is not a regular file" in report["warnings"][0]


async def test_without_guides_and_direct_tools_nothing_is_added(project: Project) -> None:
    """Neither a tool nor a word of the instructions. CONTRACT: DIS-06, SKL-02."""
    async with project.stdio() as agent:
        names = [tool.name for tool in (await agent.client.list_tools()).tools]
        assert names == TOOLS
        assert "Skills" not in (agent.client.instructions or "")


@pytest.mark.parametrize("way", WAYS)
async def test_a_compile_elsewhere_is_served_at_once_and_clients_are_told(way: str, project: Project) -> None:
    """CONTRACT: SRC-12."""
    transport, era = way.split("-")
    told = asyncio.Event()

    async def hear(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            told.set()

    async with _client(project, transport, era, hear) as client, contextlib.AsyncExitStack() as stack:
        if era == "auto":
            events = await stack.enter_async_context(client.listen(tools_list_changed=True))
        assert "shelf_get_item" not in {tool.name for tool in (await client.list_tools()).tools}
        await Agent(client).value("import shelf\nresult = shelf.get_item(id=1)['id']")
        project.change('source = "openapi"', 'source = "openapi"\nexclude = ["getItem"]')
        assert (await asyncio.to_thread(project.run, "compile")).returncode == 0
        async with asyncio.timeout(100):
            if era == "auto":
                await anext(aiter(events))
            else:
                await told.wait()
        answer = await Agent(client).run("import shelf\nresult = shelf.get_item(id=1)['id']")
        assert not answer["ok"]
        assert "get_item" in answer["error"]["message"]


@contextlib.asynccontextmanager
async def _client(project: Project, transport: str, era: str, hear: Any) -> AsyncIterator[Client]:
    options: dict[str, Any] = {"mode": era, "read_timeout_seconds": 60, "message_handler": hear}
    if transport == "http":
        with project.http() as (url, _):
            async with Client(url, **options) as client:
                yield client
        return
    program, *arguments = project.command("serve")
    server = StdioServerParameters(command=program, args=arguments, env=project.environment(), cwd=project.folder)
    with project.stderr.open("a") as errors:
        async with Client(stdio_client(server, errlog=errors), **options) as client:
            yield client


async def test_a_catalog_that_is_made_anew_is_served(project: Project) -> None:
    """`doorward clean` takes the file away from under a server: it serves what was there until it has made a new one,
    and then that."""
    call = "import shelf\nresult = shelf.get_item(id=1)['id']"
    file = project.state / "catalog.db"

    def compiled() -> list[tuple[str]]:
        with (
            contextlib.suppress(sqlite3.OperationalError),
            contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db,
        ):
            return db.execute("SELECT name FROM functions WHERE name = 'get_item'").fetchall()
        return []

    async with project.stdio() as agent:
        assert await agent.value(call) == 1
        assert (await asyncio.to_thread(project.run, "clean")).returncode == 0
        assert await agent.value(call) == 1
        assert await asyncio.to_thread(until, compiled), "without anybody's asking"
        assert await agent.value(call) == 1
        project.change('source = "openapi"', 'source = "openapi"\nexclude = ["getItem"]')
        assert (await asyncio.to_thread(project.run, "compile")).returncode == 0
        async with asyncio.timeout(100):
            while (answer := await agent.run(call))["ok"]:
                await asyncio.sleep(0.1)
        assert "get_item" in answer["error"]["message"], "the new file is read"


async def test_direct_tools_follow_the_last_compile(project: Project, api: Api) -> None:
    """What a function takes, and which functions there are by a pattern, are those of the document as it is now.
    CONTRACT: TLF-06."""
    document = api.get("/openapi.json")
    spec = project.folder / "shelf.json"
    spec.write_text(json.dumps(document))
    project.change(
        f'spec = "{api.url}/openapi.json"', f'spec = "shelf.json"\nbase_url = "{api.url}"\nexpose = ["get*"]'
    )
    async with project.stdio() as agent:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert {name for name in tools if name.startswith("shelf_")} == {"shelf_get_item"}
        one = document["paths"]["/items/{id}"]["get"]
        one["parameters"].append({"name": "lang", "in": "query", "schema": {"type": "string"}})
        document["paths"]["/big"]["get"]["operationId"] = "getBig"
        spec.write_text(json.dumps(document))
        assert (await asyncio.to_thread(project.run, "compile")).returncode == 0
        async with asyncio.timeout(100):
            while "shelf_get_big" not in tools:
                tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert {*tools["shelf_get_item"].input_schema["properties"]} == {"id", "lang"}


async def test_a_document_that_changes_while_it_is_served_is_compiled_again(project: Project, api: Api) -> None:
    """CONTRACT: SRC-21, CLI-05."""
    document = api.get("/openapi.json")
    spec = project.folder / "shelf.json"
    spec.write_text(json.dumps(document))
    project.change(
        f'spec = "{api.url}/openapi.json"', f'spec = "shelf.json"\nbase_url = "{api.url}"', first="refresh = 0.2\n"
    )
    async with project.stdio() as agent:
        assert (await agent.call("list_servers"))["servers"][0]["functions"] == 12
        del document["paths"]["/slow"]
        spec.write_text(json.dumps(document))
        async with asyncio.timeout(100):
            while (await agent.call("list_servers"))["servers"][0]["functions"] == 12:
                await asyncio.sleep(0.1)


class _Answers(Answering):
    """What takes for ever to check against the schemas of `_hostile`; anything else is the path."""

    def do_GET(self) -> None:
        answers = {"/circle": [[1]], "/slow": {"e": "a" * 40 + "!"}}
        self.answer(answers.get(self.path, {"path": self.path}))


def _hostile() -> dict[str, Any]:
    """A document whose functions would break who lists or calls them as tools."""
    parts = {"A": {"allOf": [{"$ref": "#/components/schemas/A"}]}}
    parts["B"] = {"anyOf": [{"$ref": "#/components/schemas/B"}, {"$ref": "#/components/schemas/A"}]}
    slow = {"type": "object", "properties": {"e": {"type": "string", "pattern": "^(a+)+$"}}}
    huge = {"type": "string", "enum": [f"{'v' * 490}{i}" for i in range(900)]}

    def operation(name: str, answer: Any = None, **query: Any) -> dict[str, Any]:
        content = {"application/json": {"schema": answer or {"type": "object"}}}
        parameters = [{"name": n, "in": "query", "required": n[0] == "x", "schema": s} for n, s in query.items()]
        return {
            "get": {
                "operationId": name,
                "parameters": parameters,
                "responses": {"200": {"description": "", "content": content}},
            }
        }

    paths = {
        "/circle": operation("circle", {"$ref": "#/components/schemas/B"}),
        "/slow": operation("slow", slow),
        "/huge": operation(
            "huge",
            {"type": "object", "properties": {f"p{i}": huge for i in range(9)}},
            **{f"a{i}": huge for i in range(9)},
        ),
        "/long": operation("long", None, **{"x" * 90: {"type": "string"}}),
        "/functions": operation("functions"),
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": paths,
        "components": {"schemas": parts},
    }


async def test_no_exposed_function_breaks_the_tools_of_a_client(tmp_path: Path) -> None:
    """Schemas that are huge, circular or take for ever, names that makers of models refuse or that are ours: all tools
    can be listed and called."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        settings = f'source = "openapi"\nspec = "evil.json"\nbase_url = "http://127.0.0.1:{server.server_port}"\nexpose = ["*"]\n'
        project = Forked(tmp_path, LIMITS + f"[servers.search]\n{settings}")
        (tmp_path / "evil.json").write_text(json.dumps(_hostile()))
        async with project.stdio() as agent:
            tools = (await agent.client.list_tools()).tools
            names = [tool.name for tool in tools]
            assert len(names) == len(set(names)) == 11
            assert all(
                re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key)
                for tool in tools
                for key in tool.input_schema.get("properties", {})
            )
            assert all(len(tool.model_dump_json()) < 100_000 for tool in tools)
            assert "functions" in await agent.call("search_functions", query="long")
            assert await agent.call("search_circle") == {"result": [[1]]}
            assert (await agent.call("search_slow"))["e"].startswith("a")
            long = next(tool for tool in tools if tool.name == "search_long").input_schema["required"]
            assert (await agent.call("search_long", **{long[0]: "1"}))["path"] == f"/long?{'x' * 90}=1"
        server.shutdown()
