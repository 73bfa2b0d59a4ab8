"""An MCP server behind a gateway: compiled, called, changed, and never Doorward itself."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from doorward import Gateway, InvalidArguments, ServerError, ToolError
from doorward_mcp_upstream import MCP
from doorward_mcp_upstream.connections import connection
from doorward_testing import Host, check_light_import

pytestmark = pytest.mark.slow

WIRE = Path(__file__).parent / "servers/wire.py"
READS = {"readOnlyHint": True}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Wire:
    """A server that says what its file says, and gateways before it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._file = host.folder / "wire.json"
        host.install("source", "mcp", MCP)

    def says(self, *tools: dict[str, Any], **more: Any) -> None:
        full = [{"inputSchema": {"type": "object", "properties": {}}, **tool} for tool in tools]
        self._file.write_text(json.dumps({"tools": full, **more}))

    def gateway(self, more: str = "", command: list[str] | None = None) -> AbstractAsyncContextManager[Gateway]:
        command = [sys.executable, str(WIRE), str(self._file)] if command is None else command
        return self._host.gateway(f'[servers.w]\nsource = "mcp"\ncommand = {json.dumps(command)}\n{more}')


@pytest.fixture
def wire(host: Host) -> Wire:
    return Wire(host)


def test_importing_the_plugin_is_light() -> None:
    check_light_import("doorward_mcp_upstream", forbidden=("mcp", "mcp_types", "httpx2", "jsonschema_rs"))


@pytest.mark.anyio
async def test_tools_are_functions_by_either_name(wire: Wire) -> None:
    """CONTRACT: SRC-18, SRC-20, MCP-10, SEC-10."""
    schema = {
        "type": "object",
        "properties": {"auth-method": {"enum": ["key", "none"]}, "from": {"type": "integer"}},
        "required": ["from"],
    }
    wire.says({"name": "get-it.now", "description": "Gets it. Now.", "inputSchema": schema, "annotations": READS})
    async with wire.gateway() as gate:
        (card,) = await gate.get_functions(["w.get-it.now"])
        assert card["function"] == "w.get_it_now"
        assert card["signature"] == 'def get_it_now(from_: int, auth_method: Literal["key", "none"] = ...) -> Any'
        assert "Gets it.\n\n    Now." in card["text"]
        for name in ("w.get_it_now", "w.get-it.now", "mcp__w__get_it_now"):
            assert await gate.call(name, {"from": 1, "auth-method": "key"}) == {"from": 1, "auth-method": "key"}
        assert await gate.call("w.get_it_now", {"from_": 1, "auth_method": "none"}) == {
            "from": 1,
            "auth-method": "none",
        }
        with pytest.raises(InvalidArguments, match="from_"):
            await gate.call("w.get_it_now", {"auth-method": "key"})
        with pytest.raises(InvalidArguments, match="two values"):
            await gate.call("w.get_it_now", {"from": 1, "from_": 2})
        with pytest.raises(InvalidArguments, match="has no parameter 'form'") as refused:
            await gate.call("w.get_it_now", {"form": 1})
        assert "def get_it_now(from_: int" in (refused.value.hint or "")


@pytest.mark.anyio
async def test_values_and_artefacts(wire: Wire) -> None:
    """CONTRACT: SRC-25."""
    picture = {"type": "image", "data": base64.b64encode(b"PNG!").decode(), "mimeType": "image/png"}
    output = {"type": "object", "properties": {"result": {"type": "array", "items": {"type": "integer"}}}}
    wire.says(
        {"name": "mixed"}, {"name": "picture"}, {"name": "fails"}, {"name": "wrapped", "outputSchema": output}, {"name": "many"},
        results={
            "mixed": {"content": [{"type": "text", "text": '{"a": 1}'}, picture, picture]},
            "picture": {"content": [picture]},
            "fails": {"content": [{"type": "text", "text": "no luck"}], "isError": True},
            "wrapped": {"content": [], "structuredContent": {"result": [1, 2]}},
            "many": {"content": [picture] * 101},
        },
    )  # fmt: skip
    async with wire.gateway() as gate:
        value, first, second = await gate.call("w.mixed")
        assert value == {"a": 1}
        assert first["type"] == second["type"] == "image/png"
        assert first["artefact"] != second["artefact"]
        assert (await gate.file(second["artefact"])).content == b"PNG!"
        whole = await gate.call("w.picture")
        assert ((await gate.file(whole["artefact"])).content, whole["bytes"]) == (b"PNG!", 4)
        assert await gate.call("w.wrapped") == [1, 2]
        assert "-> list[int]" in (await gate.get_functions(["w.wrapped"]))[0]["signature"]
        with pytest.raises(ToolError, match="no luck"):
            await gate.call("w.fails")
        with pytest.raises(Exception, match="more than 100 files"):
            await gate.call("w.many")


@pytest.mark.anyio
async def test_resources_and_prompts_are_offered(wire: Wire) -> None:
    pages = [
        {"resources": [{"uri": "a:1", "name": "one", "_meta": {}}], "nextCursor": "1"},
        {"resources": [{"uri": "a:2", "name": "two"}]},
    ]
    wire.says(
        {"name": "t"},
        capabilities={"tools": {}, "resources": {}, "prompts": {}},
        answers={
            "resources/list": pages,
            "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "a:{n}", "name": "any"}]},
            "resources/read": {"a:1": {"contents": [{"uri": "a:1", "text": '{"x": 1}'}]}},
            "prompts/list": {"prompts": [{"name": "p", "arguments": [{"name": "who"}]}]},
            "prompts/get": {
                "p": {"description": "d", "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]}
            },
        },
    )
    async with wire.gateway() as gate:
        listed = await gate.call("w.list_resources")
        assert listed == [
            {"uri": "a:1", "name": "one"},
            {"uri": "a:2", "name": "two"},
            {"uriTemplate": "a:{n}", "name": "any"},
        ]
        assert await gate.call("w.read_resource", {"uri": "a:1"}) == {"x": 1}
        assert await gate.call("w.resources/read", {"uri": "a:1"}) == {"x": 1}
        assert await gate.call("w.list_prompts") == [{"name": "p", "arguments": [{"name": "who"}]}]
        assert await gate.call("w.get_prompt", {"name": "p"}) == {
            "description": "d",
            "messages": [{"role": "user", "content": "hi"}],
        }
        assert (await gate.list_servers())["servers"][0]["functions"] == 1


@pytest.mark.anyio
async def test_a_server_without_resources_says_so(wire: Wire) -> None:
    wire.says({"name": "t"})
    async with wire.gateway() as gate:
        assert await gate.call("w.list_resources") == []
        with pytest.raises(ServerError, match="w has no resources"):
            await gate.call("w.read_resource", {"uri": "a"})


@pytest.mark.anyio
async def test_the_description_has_instructions_and_folder(wire: Wire, host: Host) -> None:
    """CONTRACT: DIS-14."""
    wire.says({"name": "t"}, instructions="Be\x1b[0m kind.")
    async with wire.gateway('cwd = "."') as gate:
        (server,) = (await gate.list_servers())["servers"]
        assert server["about"] == f"Working directory: {host.folder}. Be kind."
    wire.says({"name": "t"}, info={"name": "fine", "title": "Fine server", "version": "7"})
    async with wire.gateway() as gate:
        await gate.compile(force=True)
        assert (await gate.list_servers())["servers"][0]["about"] == "Fine server 7"


@pytest.mark.anyio
async def test_a_tool_that_has_changed_is_refused_and_compiled_anew(wire: Wire) -> None:
    wire.says(
        {"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        {"name": "gone"},
        {"name": "other"},
    )
    async with wire.gateway() as gate:
        assert await gate.call("w.t", {"a": "x"}) == {"a": "x"}
    wire.says(
        {"name": "t", "inputSchema": {"type": "object", "properties": {"b": {"type": "string"}}}}, {"name": "other"}
    )
    async with wire.gateway() as gate:
        with pytest.raises(ServerError, match=r"w\.t has changed at its server") as changed:
            await gate.call("w.t", {"a": "x"})
        assert "get_functions" in (changed.value.hint or "")
        with pytest.raises(ServerError, match=r"w\.gone is gone"):
            await gate.call("w.gone")
        assert await gate.call("w.other") == {}
        while gate.catalog.function("w", "gone"):
            await _soon(gate)
        assert await gate.call("w.t", {"b": "x"}) == {"b": "x"}


@pytest.mark.anyio
async def test_a_tool_that_changed_without_notice_is_refused(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an open connection, once what the server has listed is old; until then it is not listed again."""
    listings = 0
    read = connection.Connection._read

    async def counted(self: connection.Connection) -> Any:
        nonlocal listings
        listings += 1
        return await read(self)

    monkeypatch.setattr(connection.Connection, "_read", counted)
    wire.says({"name": "t"}, {"name": "other"}, silent=True)
    async with wire.gateway() as gate:
        for _ in range(3):
            assert await gate.call("w.t") == {}
        assert listings <= 2, "to compile, and to call"
        wire.says({"name": "t", "annotations": {"destructiveHint": False}}, {"name": "other"}, silent=True)
        monkeypatch.setattr(connection, "LISTING_SECONDS", 0.0)
        with pytest.raises(ServerError, match=r"w\.t has changed at its server"):
            await gate.call("w.t")
        assert await gate.call("w.other") == {}


async def _soon(gate: Gateway) -> None:
    import anyio

    await anyio.sleep(0.05)
    gate.catalog.refresh()


@pytest.mark.anyio
async def test_results_without_a_schema_are_observed(wire: Wire) -> None:
    """CONTRACT: SRC-23, SRC-25."""
    wire.says(
        {"name": "t"}, results={"t": {"content": [{"type": "text", "text": '[{"id": 1, "name": "secret value"}]'}]}}
    )
    async with wire.gateway() as gate:
        await gate.call("w.t")
        (card,) = await gate.get_functions(["w.t"])
        assert card["signature"].endswith("-> list[TResponseItem]  # observed once, last today, not promised")
        assert "    id: int\n    name: str" in card["text"]
        assert "secret value" not in json.dumps(card)


@pytest.mark.parametrize(
    "command",
    [
        ["doorward", "serve"],
        ["uvx", "doorward", "serve"],
        ["sh", "-c", "exec doorward serve"],
        [sys.executable, "-m", "doorward", "serve"],
    ],
)
@pytest.mark.anyio
async def test_an_entry_that_starts_doorward_is_skipped(
    wire: Wire, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CONTRACT: SEC-13, MCP-13."""
    monkeypatch.setattr("asyncio.create_subprocess_exec", _never)
    async with wire.gateway(command=command) as gate:
        report = (await gate.compile(force=True))["w"]
        assert report.functions == 0
        assert "would start Doorward itself" in report.warnings[0]
        assert "allow_self" in report.warnings[0]
        with pytest.raises(ServerError, match="would start Doorward itself") as refused:
            await gate.call("w.list_resources")
        assert "allow_self" in (refused.value.hint or "")


def _never(*command: Any, **options: Any) -> Any:
    raise AssertionError(f"started {command}")


@pytest.mark.anyio
async def test_a_script_that_turns_out_to_be_doorward_is_skipped(wire: Wire) -> None:
    """CONTRACT: SEC-13."""
    wire.says({"name": "t"}, info={"name": "doorward", "version": "1"})
    async with wire.gateway() as gate:
        (server,) = (await gate.list_servers())["servers"]
        assert "Doorward itself" in server["broken"]
        assert "allow_self" in server["broken"]
    async with wire.gateway("allow_self = true") as gate:
        assert await gate.call("w.t") == {}


@pytest.mark.anyio
async def test_hostile_listings_compile(wire: Wire) -> None:
    many = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(10_000)}}
    names: Callable[[int], dict[str, Any]] = lambda i: {"name": f"tool {i}", "description": '"""\nimport os' * 100}  # noqa: E731
    wire.says(
        {"name": "many", "inputSchema": many}, {"name": "__proto__"}, {"name": "ok"}, *(names(i) for i in range(300))
    )
    async with wire.gateway() as gate:
        report = (await gate.compile(force=True))["w"]
        assert report.functions == 302
        assert [s["where"] for s in report.skipped] == ["many"]
        assert await gate.call("w.__proto__") == {}


@pytest.mark.anyio
async def test_no_tool_takes_the_place_of_a_resource(wire: Wire) -> None:
    """`doorward.read_resource` called the tool of a server that had named one `resources/read`."""
    wire.says({"name": "resources/read"}, {"name": "read_resource"}, capabilities={"tools": {}, "resources": {}},
              answers={"resources/read": {"contents": [{"uri": "a", "text": "the resource"}]}})  # fmt: skip
    async with wire.gateway() as gate:
        assert await gate.call("w.resources/read", {"uri": "a"}) == "the resource"
        assert await gate.call("w.resources_read") == {}
        assert await gate.call("w.read_resource") == {}


@pytest.mark.anyio
async def test_a_server_that_says_its_secret_everywhere_does_not_get_it_into_the_catalog(
    wire: Wire, host: Host
) -> None:
    secret = "canary-secret-abcdef"
    (host.folder / ".env").write_text(f"CANARY={secret}\n")
    schema = {"type": "object", "properties": {"a": {"$ref": f"#/$defs/{secret}"}, "b": {"enum": [secret], "default": secret}},
              "$defs": {secret: {"type": "string", "description": secret}}}  # fmt: skip
    wire.says(
        {"name": "a", "title": secret, "description": secret, "inputSchema": schema},
        {"name": f"{secret}!", "inputSchema": 5},
        {"name": f"x{secret}", "inputSchema": {"$ref": f"http://{secret}"}},
        instructions=secret,
        info={"name": secret, "version": secret},
    )
    async with wire.gateway('env = { CANARY = "${CANARY}" }') as gate:
        (card,) = await gate.get_functions(["w.a"])
        assert "a: str = ..." in card["text"]
        assert secret not in json.dumps([card, await gate.list_servers()])
    found = [file for file in host.folder.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]
    assert {file.name for file in found} == {".env", "wire.json"}


@pytest.mark.anyio
async def test_pages_of_a_tool(wire: Wire) -> None:
    """What its answer calls `next_range` is its next `range`; a note says what no parameter gets."""
    properties = {name: {"type": "string"} for name in ("range", "next_range", "cursor_")}
    schema = {"type": "object", "properties": {**properties, "values": {"type": "array"}, "more": {"type": "boolean"}}}
    wire.says({"name": "read", "inputSchema": schema})  # it answers with its arguments
    async with wire.gateway() as gate:
        pages = await gate.answer("doorward.pages", {"function": "w.read", "values": [1], "next_range": "A3:B5"})
        assert [page.get("range") for page in pages.value] == [None, "A3:B5"]
        assert "it is what was asked for" in pages.notes[0]
        items = await gate.answer("doorward.items", {"function": "w.read", "values": [1], "more": True})
        assert items.value == [1]
        assert items.notes == (
            "doorward.items got 1 page of w.read; there is another that it did not get: "
            "the answer has more, but the function has no parameter that fits it",
        )
