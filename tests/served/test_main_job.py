"""The main job: an agent finds functions, reads them, writes a program, and runs it again. By every transport and
era."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from .conftest import LIMITS, SHELF
from .forked import Forked, project
from .product import TOOLS, Agent, Api, Project, apart, connected, until

__all__ = ["project"]  # one of a test's own; `shelf` is started as users start it

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SUM = """\
import asyncio
import shelf

pages = 2
factor: float = 1.0

total = 0
for page in range(1, pages + 1):
    answer = shelf.list_items(page=page)
    got = await asyncio.gather(*[shelf.get_item(id=one["id"]) for one in answer["items"]])
    total = total + sum([one["price"] for one in got])
    if not answer["nextPage"]:
        break
result = total * factor
"""


def expected(pages: int, factor: float = 1.0) -> float:
    return factor * sum((10 * page + n) * 1.5 for page in range(1, pages + 1) for n in range(10))


@pytest.fixture(scope="module")
async def client(anyio_backend: str, http_url: str) -> AsyncIterator[Agent]:
    """A client for what does not depend on the transport: it needs no server of its own."""
    async with apart(connected(http_url)) as agent:
        yield agent


@pytest.mark.essential
async def test_search_get_execute_and_again(agent: Agent, api: Api) -> None:
    """The whole job, text and structured content alike, and never the address of the API or a header. CONTRACT: DIS-04,
    EXE-01, EXE-04, EXE-05, EXE-06, CAC-01, CAC-02, DIS-08, CLI-02, SRC-26, AUT-12."""
    before = len(agent.received)
    assert "Always look before you call" in (agent.client.instructions or "")
    found = await agent.call("search_functions", query="list the items of the shelf")
    assert found["functions"][0]["function"] == "shelf.list_items"
    assert found["functions"][0].keys() <= {"function", "summary", "gives", "needs", "read_only", "matched"}
    cards = await agent.call("get_functions", functions=["shelf.list_items", "shelf.getItem"])
    assert [card["function"] for card in cards["functions"]] == ["shelf.list_items", "shelf.get_item"]
    assert "from shelf import list_items" in agent.text
    assert "def list_items(" not in json.dumps(found)
    assert "def list_items(" in agent.text
    first = await agent.run(SUM, description="the price of all items")
    assert first["ok"], first
    assert (first["value"], first["executor"]) == (expected(2), "monty")
    assert {call["function"]: call["count"] for call in first["calls"]} == {"shelf.list_items": 2, "shelf.get_item": 20}
    assert f'"{first["cache_id"]}"' in first["next"]
    assert first["next"] in agent.text
    again = await agent.call("run_cached_code", cache_id=first["cache_id"], params={"pages": 3, "factor": 2.0})
    assert (again["value"], again["cache_id"]) == (expected(3, 2.0), first["cache_id"])
    assert str(expected(3, 2.0)) in agent.text
    await agent.call("list_servers")
    told = "".join(agent.received[before:])
    assert [word for word in (api.url.partition("//")[2], "2022-11-28") if word in told] == []


async def test_the_tools_hold_what_their_schemas_promise(agent: Agent) -> None:
    """Each answer fits the tool's output schema, and tools carry titles and annotations. CONTRACT: DIS-01, DIS-05,
    DIS-20, OUT-04."""
    tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
    assert list(tools) == TOOLS
    assert all(tool.title and tool.annotations for tool in tools.values())
    asked: list[tuple[str, dict[str, Any]]] = [
        ("list_servers", {}),
        ("search_functions", {"query": "item", "limit": 2}),
        ("get_functions", {"functions": ["shelf.get_item", "shelf.no_such"]}),
        ("execute_code", {"code": "1 / 0"}),
        ("execute_code", {"code": "print('x'); [1, {'a': None}]"}),
        ("run_cached_code", {"cache_id": "nope"}),
    ]
    for name, arguments in asked:
        jsonschema_rs.validate(tools[name].output_schema, await agent.call(name, **arguments))


async def test_list_servers_prompt_and_resources(agent: Agent) -> None:
    """Servers with their functions, the executors, the guide, what can be done here, a function as a resource.
    CONTRACT: DIS-01, DIS-16, CAC-04."""
    listed = await agent.call("list_servers")
    server, executor = listed["servers"][0], listed["executors"][0]
    assert (executor["executor"], executor["packages"], "json" in executor["modules"]) == ("monty", [], True)
    assert "executors: monty" in agent.text
    assert (server["name"], server["functions"]) == ("shelf", 12)
    assert "list_items" in server["first"]
    guide = (await agent.client.get_prompt("reusable_code_guide")).messages[0].content
    assert "run_cached_code" in guide.text
    text = (await agent.client.read_resource("doorward://capabilities")).contents[0].text
    assert "shelf" in text
    card = (await agent.client.read_resource("doorward://functions/shelf/list_items")).contents[0].text
    assert "def list_items" in card
    assert len(agent.client.instructions or "") <= 2048


async def test_a_function_is_shown_with_what_it_answers(client: Agent) -> None:
    """Signature, TypedDict of the response in its own field names, import line and example; Any where nothing is known,
    and the original id is accepted. CONTRACT: SRC-01, SRC-03, SRC-04, SRC-09, SRC-10, SRC-11, DIS-02, DIS-03,
    SRC-24."""
    await client.call("get_functions", functions=["shelf.listItems", "shelf.drop", "shelf.create_item"])
    assert "def list_items(" in client.text
    assert "page: int" in client.text
    assert "TypedDict" in client.text
    assert "nextPage: int" in client.text
    assert "itemName: " in client.text
    assert "-> Any" in client.text
    for name in ("list_items", "drop", "create_item"):
        assert f"from shelf import {name}\n" in client.text
    five = [f"shelf.{name}" for name in ("list_items", "drop", "create_item", "get_item", "slow")]
    assert [card["function"] for card in (await client.call("get_functions", functions=five))["functions"]] == five
    assert "one to 5 functions at a time" in await client.call("get_functions", functions=[*five, "shelf.big"])


@pytest.mark.essential
async def test_errors_say_where_and_what_to_do(agent: Agent) -> None:
    """A failure has its type, the line in the agent's own code, what was printed before, and a hint with near names or
    the right signature. CONTRACT: OUT-05, SEC-10, SRC-22."""
    wrong = (await agent.run("import shelf\nprint('before')\nshelf.get_item(number=1)"))["error"]
    assert wrong["line"] == 3
    assert "get_item(" in json.dumps(wrong)
    assert "id" in json.dumps(wrong)
    assert "before" in agent.text
    assert "\nhint: " in agent.text
    typed = (await agent.run("import shelf\nshelf.get_item(id='one')"))["error"]
    assert "argument id: expected int, got str 'one'" in typed["message"]
    missing = (await agent.run("import shelf\nshelf.list_itms()"))["error"]
    assert "list_items" in json.dumps(missing)
    assert missing["line"] == 2
    failed = (await agent.run("import shelf\n\ndef f():\n    return shelf.status(code=404)\n\nf()"))["error"]
    assert failed["line"] == 4
    assert "404" in failed["message"]
    assert "on purpose" in failed["message"]
    assert [frame["line"] for frame in failed["frames"]] == [6, 4]


async def test_a_server_of_another_name_gets_advice(limited: Agent) -> None:
    """A module that is no server is told with the servers of such a name; one that is broken with what is wrong."""
    near, gone, none = [
        (await limited.run(f"import {name}", timeout=60))["error"]["hint"] for name in ("shelff", "gone", "pandas")
    ]
    assert near.startswith("Near: shelf.")
    assert gone.startswith("The server 'gone' is broken: spec = 'gone.json'")
    assert none.startswith("There is no server 'pandas' either")


async def test_parameters_are_checked(client: Agent) -> None:
    """A misspelt parameter and one of a wrong type are refused, and nothing runs. CONTRACT: CAC-02, CAC-06."""
    kept = (await client.run('import shelf\nname = "a"\nshelf.mark(name="p-" + name)\nresult = name'))["cache_id"]
    misspelt = await client.call("run_cached_code", cache_id=kept, params={"nmae": "b"})
    assert "name" in json.dumps(misspelt["error"])
    wrong = await client.call("run_cached_code", cache_id=kept, params={"name": 5})
    assert "string" in json.dumps(wrong["error"])
    odd = 'C:\\new"\n"""#{x}\u2028'
    assert (await client.call("run_cached_code", cache_id=kept, params={"name": "odd"}))["value"] == "odd"
    echoed = (await client.run('text = ""\nresult = text', params={"text": odd}))["value"]
    assert echoed == odd


async def test_a_restarted_serve_still_has_the_program(project: Project) -> None:
    """Kept programs and the catalog outlive `serve`. `[caches.sqlite] max_entries` holds: the program unused for
    longest goes. CONTRACT: CAC-03, SRC-12, SRC-13."""
    project.change(last="\n[caches.sqlite]\nmax_entries = 2\nttl = 3600\n")
    async with project.stdio() as agent:
        used, unused = [(await agent.run(f"result = {n}"))["cache_id"] for n in range(2)]
        await agent.call("run_cached_code", cache_id=used)
        kept = (await agent.run(SUM))["cache_id"]
    with project.http() as (url, _):  # an answer does not wait until its program is written
        async with connected(url) as agent:
            assert (await agent.call("run_cached_code", cache_id=kept, params={"pages": 3}))["value"] == expected(3)
            assert (await agent.call("run_cached_code", cache_id=used))["value"] == 0
            gone = await agent.call("run_cached_code", cache_id=unused)
            assert "no cached program" in gone["error"]["message"]


async def test_only_what_succeeded_is_kept(project: Project, client: Agent) -> None:
    """A program that failed has no id; with `cache = "none"` no program has. CONTRACT: CAC-01."""
    assert "cache_id" not in await client.run("1 / 0")
    project.change('cache = "sqlite"', 'cache = "none"')
    async with project.stdio() as agent:
        answer = await agent.run("1")
        assert (answer["ok"], "cache_id" in answer) == (True, False)


async def test_minimal_surface_finds_functions_inside(project: Project) -> None:
    """With `surface = "minimal"` one tool is shown, and the same discovery works in programs. CONTRACT: DIS-05, DIS-07,
    DIS-09, DIS-11, DIS-12, DIS-15."""
    project.change(first='surface = "minimal"\n')
    async with project.stdio() as agent:
        assert [tool.name for tool in (await agent.client.list_tools()).tools] == ["execute_code"]
        code = """\
import doorward
found = doorward.search("list items")["functions"][0]["function"]
result = [
    [s["name"] for s in doorward.servers()], found, "def list_items" in doorward.describe(found),
    doorward.call(found, {"page": 2})["items"][0]["id"], "sandbox" in doorward.capabilities(),
    [f["function"] for f in doorward.search("throw away an item", limit=1)["functions"]],
]"""
        assert await agent.value(code) == [["shelf"], "shelf.list_items", True, 20, True, ["shelf.delete_item"]]


async def test_a_large_value_is_cut_and_handed_out_in_pages(agent: Agent) -> None:
    """A large value comes with its shape and size, and can be read to its end. CONTRACT: OUT-01, OUT-04."""
    answer = await agent.run("import shelf\nresult = shelf.big(count=5000)")
    assert [name for name, value in answer.items() if value in (None, "", [], {})] == [], "what is empty is not there"
    cut = answer["truncated"]
    assert cut["shape"].startswith("list[5000]")
    assert cut["rest"] in agent.text
    uri, text = cut["rest"], ""
    while uri:
        page = (await agent.client.read_resource(uri)).contents[0]
        meta = page.meta or {}
        text += (
            page.text[: meta["doorward/total"] - len(text)]
            if "doorward/next" not in meta
            else page.text.rpartition("\n[")[0]
        )
        uri = meta.get("doorward/next", "")
    assert [one["id"] for one in json.loads(text)] == list(range(5000))


# Policy, limits and settings of a server


async def test_read_only_include_and_headers(api: Api, tmp_path: Path) -> None:
    """Writing functions are left out at compile, names narrow, headers go along with every request. CONTRACT: SRC-05,
    SRC-06, SRC-11, SEC-15, AUT-08."""
    servers = f"""
[limits]
rate = 1000
[servers.reads]
source = "openapi"
spec = "{api.url}/openapi.json"
read_only = true
headers = {{ X-Version = "v1", X-Other = "o" }}
[servers.few]
source = "openapi"
spec = "{api.url}/openapi.json"
base_url = "{api.url}"
include = ["getItem", "tag:items", "GET /slow"]
exclude = ["deleteItem", "create_*"]
"""
    async with Forked(tmp_path, servers).stdio() as agent:
        listed = {server["name"]: server for server in (await agent.call("list_servers"))["servers"]}
        assert set(listed["few"]["first"]) == {"list_items", "get_item", "slow"}
        found = await agent.call("search_functions", query="put throw item", server="reads", limit=50)
        assert not {"reads.create_item", "reads.delete_item"} & {f["function"] for f in found["functions"]}
        refused = await agent.run("import reads\nreads.create_item(body={'itemName': 'x'})")
        assert not refused["ok"]
        sneaky = await agent.run('import doorward\ndoorward.call("reads.create_item", {"itemName": "x"})')
        assert "is left out by `read_only`" in sneaky["error"]["message"]
        got = await agent.value("import reads\nresult = reads.headers()")
        assert got["x-version"] == "v1"
        assert "x-other" in got["names"]
        assert await agent.value("import few\nresult = few.get_item(id=1)['id']") == 1
        assert api.seen()[-1] | {"origin": 0} == {"origin": 0, "path": "/items/1", "credentials": []}


async def test_policy_and_functions_narrow_a_run(project: Project) -> None:
    """The operator's policy holds whatever the caller asks; `functions` narrows a run and cannot widen it. CONTRACT:
    SEC-06, DIS-18."""
    project.change(last='[policy]\ndeny = ["shelf.delete_*", "*.big"]\n')
    async with project.stdio() as agent:
        denied = await agent.run(
            "import doorward\ndoorward.call('shelf.delete_item', {'id': 1})", functions=["shelf.delete_item"]
        )
        assert denied["error"]["message"] == "shelf.delete_item is not allowed by the operator's policy: [policy] deny"
        code = "import shelf\nshelf.list_items()\nshelf.get_item(id=1)"
        for narrow in (["shelf.list_*"], ["mcp__shelf__listItems"]):
            narrowed = await agent.run(code, functions=narrow)
            assert "not among the `functions`" in narrowed["error"]["message"]
            assert narrowed["error"]["line"] == 3
        assert (await agent.run(code, functions=["shelf"]))["ok"]
        around = await agent.run(
            'import doorward\ndoorward.call("shelf.get_item", {"id": 1})', functions=["shelf.list_*"]
        )
        assert "not among the `functions`" in around["error"]["message"]
        nothing = await agent.run(code, functions=[])
        assert not nothing["ok"]


@pytest.mark.parametrize(("rate", "most"), [("rate = 3", 3), ("", 60)])
async def test_runs_a_minute_are_limited(project: Project, rate: str, most: int) -> None:
    """More runs than `[limits] rate` in a minute, 60 by default, are refused in all processes of a state folder, with when to try
    again. CONTRACT: SEC-09."""
    project.change("rate = 100000", rate)
    async with project.stdio() as agent:
        answers = [await agent.run("1") for _ in range(most + 1)]
        assert [answer["ok"] for answer in answers] == [True] * most + [False]
        assert answers[-1]["error"]["kind"] == "limit"
        assert "Try again in" in agent.text
        async with project.stdio() as another:
            assert not (await another.run("1"))["ok"], "it has no minute of its own"


@pytest.fixture(scope="module")
async def limited(anyio_backend: str, api: Api, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Agent]:
    """A client of a project with low limits, and a broken server."""
    project = Forked(tmp_path_factory.mktemp("limited"), LIMITS + SHELF.format(url=api.url))
    project.change("[limits]", '[limits]\ntimeout = 1\noutput = 1000\ncode = 2000\nmemory = "64MiB"')
    project.change(last='[servers.gone]\nsource = "openapi"\nspec = "gone.json"\n')
    async with apart(project.stdio()) as agent:
        yield agent


async def test_limits_of_a_run(limited: Agent) -> None:
    """Time, code, output, memory and a tool's own timeout end a run with a clear error, and the next run works.
    CONTRACT: EXE-01, SBX-07, SBX-08, SBX-09, SBX-10, SEC-01, SEC-02."""

    async def error(code: str, **options: Any) -> dict[str, Any]:
        answer = await limited.run(code, **options)
        assert not answer["ok"], answer
        return dict(answer["error"])

    assert (await error("while True: pass"))["kind"] == "limit"
    assert (await error("import shelf\nshelf.slow(ms=30000)"))["kind"] == "limit"
    assert (await error("import time\ntime.sleep(30)"))["kind"] == "limit"
    assert (await error("x = []\nwhile True: x.append('a' * 10000 + str(len(x)))"))["kind"] == "limit"
    assert "2000" in (await error("x = 1\n" * 2000))["message"]
    assert "at most 300" in (await error("1", timeout=301))["message"]
    loud = await limited.run("for n in range(100000): print('loud')", timeout=60)
    assert loud["printed"].endswith("… more than 1000 bytes of output; the rest was dropped")
    assert len(loud["printed"]) < 1100
    for module in ("subprocess", "socket", "urllib.request"):
        refused = await error(f"import {module}", timeout=60)
        assert (refused["kind"], refused["line"]) == ("guard", 1), module
    for call in ("eval('1')", "exec('x = 1')", "compile('1', '', 'eval')", "__import__('os')"):
        refused = await error(f"x = 1\ny = {call}", timeout=60)
        assert (refused["kind"], refused["line"]) == ("guard", 2), call
    assert await limited.value("import shelf\nshelf.slow(ms=1200)", timeout=60)
    assert await limited.value("1 + 1", timeout=60) == 2


async def test_the_audit_log_tells_each_run_and_call(project: Project) -> None:
    """A line for each run and each call, with its time and sizes, never contents. CONTRACT: OBS-02."""
    async with project.stdio() as agent:
        await agent.run("import shelf\nname = 'wordxyz'\nshelf.mark(name=name)\nresult = name")
        await agent.run("1 / 0")
    lines = project.audit()
    assert [line["event"] for line in lines if line["event"].startswith("run")] == ["run_started", "run_finished"] * 2
    call = next(line for line in lines if line["event"] == "call_finished")
    assert call["function"] == "shelf.mark"
    assert [line["ok"] for line in lines if line["event"] == "run_finished"] == [True, False]
    assert all(line["time"] for line in lines)
    assert "wordxyz" not in json.dumps(lines)


# Many calls


async def test_a_thousand_calls_and_not_one_more(client: Agent) -> None:
    """In a program 1,000 sequential calls work; the next one is refused, with the limit. CONTRACT: EXE-06."""
    code = "import shelf\nfor i in range(1001):\n    print(shelf.get_item(id=i)['id'])"
    over = await client.run(code, timeout=300)
    assert over["printed"].split()[-1] == "999"
    assert over["calls"][0]["count"] == 1000
    assert (over["error"]["kind"], over["error"]["line"]) == ("limit", 3)
    assert "1000 calls" in over["error"]["message"]


async def test_calls_in_parallel_are_all_under_way(agent: Agent, api: Api) -> None:
    """`asyncio.gather` of 50 slow calls: the API has all of them before it answers one. CONTRACT: EXE-06."""
    code = (
        "import asyncio\nimport shelf\nresult = len(await asyncio.gather(*[shelf.slow(ms=29000) for _ in range(50)]))"
    )
    before = api.get("/log")["waiting"]
    run = asyncio.create_task(agent.run(code))
    assert await asyncio.to_thread(until, lambda: api.get("/log")["waiting"] >= before + 50)
    with api.hurried():
        assert (await run)["value"] == 50


async def test_a_slow_call_holds_nobody_up(agent: Agent, api: Api) -> None:
    """While one run waits for its API, others run. CONTRACT: EXE-23."""
    slow = asyncio.create_task(agent.run("import shelf\nshelf.mark(name='slow')\nshelf.slow(ms=60000)"))
    await asyncio.to_thread(api.marked, "slow")
    assert await agent.value("1 + 1") == 2
    assert not slow.done()
    slow.cancel()
