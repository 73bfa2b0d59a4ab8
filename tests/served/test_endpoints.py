"""Endpoints of a served product, attacked for what is beyond them: by names, ids of what others stored, and tokens."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked
from .issuer import Issuer
from .product import Agent, Api, Project, needs_proc
from .test_http_auth import AUDIENCE, HTTP, connected, post, token

pytestmark = [pytest.mark.anyio, pytest.mark.slow, needs_proc]

ENDPOINTS = """
[runs]
durable = "always"
[endpoints.readers]
servers = ["shelf"]
include = ["shelf.*item*"]
read_only = true
[endpoints.tools]
surface = "calls"
[endpoints.tools.limits]
calls = 2
[endpoints.few]
principals = ["carol"]
"""
ABSENT = "crexte_item"
"""A name that nobody has, as long as that of `create_item`, which readers do not have."""

PYTHON = [
    "import shelf\nresult = [dir(shelf), hasattr(shelf, 'NAME'), hasattr(shelf, 'createItem')]",
    "import shelf\nshelf.NAME(name='x')",
    "from shelf import NAME",
    "import doorward\ndoorward.call('shelf.NAME', {'name': 'x'})",
    "import doorward\nresult = [doorward.describe('shelf.NAME')]",
    "import doorward\nresult = doorward.search('create an item', limit=50)",
    "import doorward\nresult = doorward.servers()",
    "import vault",
]
SCRIPTS = [
    'import * as shelf from "shelf";\nexport default [Object.keys(shelf), "NAME" in shelf]',
    'import { NAME } from "shelf";\nawait NAME({ name: "x" })',
    'import * as shelf from "shelf";\nawait shelf.NAME({ name: "x" })',
    'import * as doorward from "doorward";\nawait doorward.call("shelf.NAME", { name: "x" })',
    'import "vault"',
]
EXECUTORS = {
    "monty": [],
    "nsjail": [pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux")],
    "deno": [pytest.mark.skipif(importlib.util.find_spec("deno") is None, reason="no deno")],
}


def configured(folder: Path, api: Api, more: str = "") -> Project:
    servers = SHELF.format(url=api.url) + SHELF.format(url=api.url).replace("shelf", "vault")
    return Forked(folder, LIMITS + ENDPOINTS + servers + more)


def plain(answer: Any) -> str:
    """An answer without what differs from run to run."""
    if isinstance(answer, dict):
        answer = {key: value for key, value in answer.items() if key not in ("ms", "cache_id", "next", "usage", "run")}
    return json.dumps(answer)


@pytest.mark.parametrize("executor", [pytest.param(name, marks=marks) for name, marks in EXECUTORS.items()])
async def test_a_program_knows_nothing_beyond_its_endpoint(tmp_path: Path, api: Api, executor: str) -> None:
    """Over stdio, in each sandbox: what is said of a function that is left out is said of a name that nobody has."""
    project = configured(tmp_path, api)
    project.change('executor = "monty"', f'executor = "{executor}"')
    async with project.stdio(command=project.command("serve", "--endpoint", "readers")) as agent:
        for code in SCRIPTS if executor == "deno" else PYTHON:
            them, nobody = [
                plain(await agent.run(code.replace("NAME", name))) for name in ("create_item", ABSENT)
            ]  # fmt: skip
            assert them.replace("create_item", ABSENT) == nobody
            assert "create_item" not in nobody
            assert "createItem" not in nobody or "'createItem'" in code
            assert "vault" not in nobody or "vault" in code
        listed = (await agent.call("list_servers"))["servers"]
        assert [each["name"] for each in listed] == ["shelf"]
        assert all("create" not in name for name in listed[0]["first"])
        found = await agent.call("search_functions", query="create item", limit=50)
        assert found["total"] == len(found["functions"]) < 30
        assert "create" not in json.dumps(found)
        for name in ("shelf.create_item", "shelf.createItem", "mcp__shelf__create_item", "vault.get_item"):
            assert "there is no function" in plain(await agent.call("get_functions", functions=[name]))
        narrowed = [plain(await agent.run("1", functions=[f"shelf.{name}"])) for name in ("create_item", ABSENT)]
        assert narrowed[0].replace("create_item", ABSENT) == narrowed[1]


async def test_what_one_endpoint_stores_is_not_there_for_another(tmp_path: Path, api: Api) -> None:
    """Kept programs, runs, results and sessions of the same person; and a bound token opens its endpoint alone."""
    project = configured(tmp_path, api)
    alice = token(project, "alice")["token"]
    bound = token(project, "alice", "--endpoint", "readers")["token"]
    assert "no endpoint 'nowhere'" in project.run("token", "new", "alice", "--endpoint", "nowhere").stderr
    with project.http() as (url, _):
        paths = ("", "/readers", "/tools", "/few", "/nowhere", "/readers/x", "/%72eaders", "/../mcp/readers")
        by = {name: [post(url + path, token)[0] for path in paths] for name, token in
              (("alice", alice), ("bound", bound), ("nobody", "doorward_x"))}  # fmt: skip
        assert by == {
            "alice": [200, 200, 200, 404, 404, 404, 200, 404],
            "bound": [404, 200, 404, 404, 404, 404, 200, 404],
            "nobody": [401] * 8,
        }
        async with (
            connected(url, alice, "auto") as whole,
            connected(f"{url}/readers", bound, "auto") as readers,
            connected(f"{url}/tools", alice, "legacy") as tools,
        ):
            assert [tool.name for tool in (await tools.client.list_tools()).tools][:3] == [
                "search_functions", "get_functions", "call_function",
            ]  # fmt: skip
            assert not (await tools.client.list_prompts()).prompts
            kept = await whole.run("import shelf\nname = 'x'\nresult = shelf.create_item(itemName=name)")
            assert kept["ok"], kept
            large = await whole.run("result = ['a line of text'] * 20000")
            session = await whole.run("secret = 'canary'", session_id="new")
            uri = large["truncated"]["rest"]
            runs = [each["run"] for each in json.loads(project.run("runs", "list", "--json").stdout)["runs"]]
            assert runs
            seen = [await readers.call("run_cached_code", cache_id=kept["cache_id"])]
            seen += [await readers.run("result = secret", session_id=session["session_id"])]
            seen += [await readers.call("resume_run", run=run) for run in runs]
            seen += [await readers.run(f"import doorward\nresult = doorward.read({{'artefact': {uri!r}}})")]
            seen += [await tools.call("call_function", function="", cursor=uri)]
            assert [each for each in seen if not isinstance(each, str) and each.get("ok")] == []
            assert not [each for each in seen if "canary" in str(each) or "a line of text" in str(each)]
            with pytest.raises(Exception, match=r"(?i)not found"):
                await readers.client.read_resource(uri)
            assert "run_cached_code" in str(await tools.call("run_cached_code", cache_id=kept["cache_id"]))
    assert {each["principal"] for each in project.audit() if "principal" in each} >= {
        "alice", "alice via readers",
    }  # fmt: skip


async def test_a_session_of_the_protocol_is_of_one_endpoint(tmp_path: Path, api: Api) -> None:
    """Its id opens nothing at another, not even for the same token; and a server of one endpoint serves no other."""
    project = configured(tmp_path, api)
    alice = token(project, "alice")["token"]
    other = token(project, "alice", "--endpoint", "tools")["token"]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
    }}  # fmt: skip
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    version = {"MCP_Protocol_Version": "2025-06-18"}
    with project.http() as (url, _):
        session = post(f"{url}/readers", alice, hello)[1]["mcp-session-id"]
        answers = [post(url + path, alice, listing, Mcp_Session_Id=session, **version)[0]
                   for path in ("/readers", "", "/tools")]  # fmt: skip
        assert answers == [200, 404, 404]
    with project.http("--endpoint", "readers") as (url, _):
        assert [post(url + path, alice)[0] for path in ("", "/readers", "/tools")] == [200, 200, 404]
        assert post(url, other)[0] == 404
        async with connected(url, alice, "auto") as agent:
            assert await _names(agent) == ["shelf"]
    refused = project.run("serve", "--endpoint", "nowhere")
    assert (refused.returncode != 0, "there is no endpoint 'nowhere'" in refused.stderr) == (True, True)


def test_a_token_of_an_issuer_is_bound_by_its_audience_or_a_claim(tmp_path: Path, api: Api) -> None:
    """A JWT for the URL of an endpoint (RFC 8707), or whose claim names some, opens those and no page of the console;
    what clients are told of an endpoint before they have a token (RFC 9728) is told of any name."""
    with Issuer() as issuer:
        project = configured(tmp_path, api, HTTP.format(issuer=issuer.url, audience=AUDIENCE))
        project.change('scopes = ["use"]', 'scopes = ["use"]\nendpoint = "doors"')
        with project.http("--console") as (url, _):
            paths = ("", "/readers", "/tools", "/few", "/nowhere", "/readers/x")

            def opened(who: str = "alice", audience: Any = AUDIENCE, **claims: Any) -> list[int]:
                made = issuer.token(who, audience=audience, **claims)
                return [post(url + path, made)[0] for path in paths]

            everywhere, readers = [200, 200, 200, 404, 404, 404], [404, 200, 404, 404, 404, 404]
            refused = [401] * len(paths)
            assert opened() == opened(audience=[AUDIENCE, f"{url}/readers"]) == everywhere
            assert opened(audience=f"{url}/readers") == opened(doors="readers") == readers
            assert opened(audience=[f"{url}/readers", f"{url}/tools"]) == opened(doors=["readers", "tools"])
            assert opened(audience=[f"{url}/readers", f"{url}/tools"]) == [404, 200, 200, 404, 404, 404]
            assert opened(audience=[f"{url}/readers", f"{url}/tools"], doors=["readers"]) == readers
            assert opened(audience=f"{url}/few") == opened(doors="nowhere") == [404] * len(paths)
            assert opened("carol", audience=f"{url}/few")[3] == 200
            for wrong in (
                f"{url}/nowhere",
                f"{url}/readers/",
                f"{url}/Readers",
                f"{url}/readers#",
                "readers",
                f"{url}/",
            ):
                assert opened(audience=wrong) == refused, wrong
            for wrong in ([], "", {"readers": 1}, ["readers", 1], 7, True):
                assert opened(doors=wrong) == refused, wrong
            assert opened(audience=f"{url}/readers", doors="tools") == refused
            site = url.removesuffix("/mcp") + "/console/approvals"
            answers = [post(site, issuer.token("alice", audience=each), Accept="application/json")[0]
                       for each in (f"{url}/readers", AUDIENCE)]  # fmt: skip
            assert answers[0] == 401 != answers[1]
            for name in ("readers", "few", "nowhere"):
                status, headers, _ = post(f"{url}/{name}")
                (where,) = re.findall(r'resource_metadata="([^"]+)"', headers["www-authenticate"])
                assert (status, where.endswith(f"/.well-known/oauth-protected-resource/mcp/{name}")) == (401, True)
                told = json.loads(urlopen(where).read())
                assert told["resource"] == f"{url}/{name}"
                assert told["authorization_servers"] == [issuer.url]
                assert told["scopes_supported"] == ["use"]
            with pytest.raises(HTTPError):
                urlopen(where + "%22")


async def _names(agent: Agent) -> list[str]:
    return [each["name"] for each in (await agent.call("list_servers"))["servers"]]


async def test_guides_tools_and_pages_are_of_the_endpoint(tmp_path: Path, api: Api) -> None:
    """Functions that are tools, guides as tool and resource, and the console, which a bound token does not open."""
    more = 'expose = ["getItem", "createItem"]\nskills = "guide.md"\n[console]\noperators = ["alice"]\n'
    project = configured(tmp_path, api, more)
    project.change("[servers.shelf]", '[servers.shelf]\nexpose = ["getItem", "createItem"]\nskills = "guide.md"')
    (project.folder / "guide.md").write_text("# A guide\n")
    alice = token(project, "alice")["token"]
    bound = token(project, "alice", "--endpoint", "readers")["token"]
    with project.http() as (url, _):
        async with connected(f"{url}/readers", bound, "auto") as readers, connected(url, alice, "auto") as whole:
            here, there = [
                [tool.name for tool in (await agent.client.list_tools()).tools if "Item" in tool.name or "_item" in tool.name]
                for agent in (readers, whole)
            ]  # fmt: skip
            assert here == ["shelf_get_item"]
            assert {"shelf_create_item", "vault_get_item"} <= {*there}
            for name in ("shelf_create_item", "vault_get_item"):
                assert "There is no tool" in str(await readers.call(name, item_id="1"))
            seen = [(await readers.client.list_resources()).model_dump_json(), readers.client.instructions or ""]
            seen += [
                str(await readers.call("list_skills")),
                str(await readers.call("get_server_skills", server="vault")),
            ]
            with pytest.raises(Exception, match=r"not found"):
                await readers.client.read_resource("doorward://skills/vault")
        assert not [text for text in seen if "vault" in text.replace("'vault'", "").replace('"vault"', "")]
        site = url.removesuffix("/mcp") + "/console"
        opened = [post(f"{site}/approvals", each, Accept="application/json")[0] for each in (alice, bound)]
        assert opened[1] == 401 != opened[0]


async def test_workers_keep_endpoints_apart(tmp_path: Path, api: Api) -> None:
    """A session of the sandbox that another worker has is found by its endpoint alone."""
    project = configured(tmp_path, api)
    alice = token(project, "alice")["token"]
    with project.http("--workers", "2") as (url, _):
        async with connected(f"{url}/readers", alice, "auto") as first:
            session = (await first.run("kept = 'canary'", session_id="new"))["session_id"]
        for path, found in (("/readers", True), ("", False), ("/tools", False)) * 3:
            async with connected(url + path, alice, "auto") as agent:
                answer = str(await agent.run("kept", session_id=session))
            assert ("canary" in answer) == found, answer
