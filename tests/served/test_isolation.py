"""No run sees another: not its variables, not its output, not its answers, not its session."""

from __future__ import annotations

import asyncio
import json
import sys

import anyio
import pytest

from .forked import project, shelf
from .product import Agent, Api, Project, connected

__all__ = ["project", "shelf"]

pytestmark = pytest.mark.anyio


async def test_runs_see_nothing_of_each_other(agent: Agent) -> None:
    """Variables, functions, module state and output of one run are not there in the next. CONTRACT: EXE-10."""
    code = "import json\nleft = 'left-behind'\ndef f(): return left\nprint(left)\ntry:\n    json.left = left\nexcept Exception:\n    pass"
    assert "left-behind" in (await agent.run(code))["printed"]
    for look in ("left", "f()", "import json\njson.left", "import shelf\nshelf.left", "result"):
        answer = await agent.run(look)
        assert not answer["ok"], look
        assert "left-behind" not in json.dumps(answer)
    assert await agent.value("try:\n    left\nexcept NameError:\n    result = 'nothing'") == "nothing"
    assert "printed" not in await agent.run("1")


async def test_many_runs_at_once_get_their_own_answers(agent: Agent) -> None:
    """20 runs at once: each has its own value, output, parameters and count of calls. CONTRACT: EXE-10, EXE-23."""
    code = """\
import asyncio
import shelf
me = 0
print("I am", me)
got = await asyncio.gather(*[shelf.get_item(id=1000 * me + n) for n in range(5)])
shelf.slow(ms=20)
result = [me] + [one["id"] for one in got]"""
    answers = await asyncio.gather(*[agent.run(code, params={"me": n}) for n in range(20)])
    for n, answer in enumerate(answers):
        assert answer["value"] == [n, *(1000 * n + k for k in range(5))]
        assert answer["printed"].strip() == f"I am {n}"
        assert {call["function"]: call["count"] for call in answer["calls"]} == {"shelf.get_item": 5, "shelf.slow": 1}


async def test_a_run_waits_while_all_workers_are_busy(project: Project) -> None:
    """Six runs share two workers, and each comes to its end. CONTRACT: EXE-23."""
    project.change(last="\n[executors.monty]\nworkers = 2\n")
    async with project.stdio() as agent:
        code = "import shelf\nshelf.slow(ms=100)\nresult = 1"
        answers = await asyncio.gather(*[agent.run(code) for _ in range(6)])
    assert [answer.get("value") for answer in answers] == [1] * 6


async def test_a_session_keeps_its_variables_to_itself(agent: Agent) -> None:
    """A session keeps variables, functions and imports; another session and runs without one see none of it. CONTRACT:
    EXE-09."""
    code = "import shelf\ncount = 1\ndef add(n):\n    global count\n    count = count + n\n    return count"
    opened = await agent.run(code, session_id="new")
    session, other = opened["session_id"], (await agent.run("count = 100", session_id="new"))["session_id"]
    assert session != other
    assert len(session) >= 16
    assert await agent.value("add(5)", session_id=session) == 6
    assert await agent.value("shelf.get_item(id=add(1))['id']", session_id=session) == 7
    assert await agent.value("count", session_id=other) == 100
    assert not (await agent.run("add(1)", session_id=other))["ok"]
    assert not (await agent.run("count"))["ok"]
    assert (await agent.run("1 / 0", session_id=session))["error"]["type"] == "ZeroDivisionError"
    assert await agent.value("count", session_id=session) == 7
    unknown = await agent.run("1", session_id="nope")
    assert "no session" in unknown["error"]["message"]


async def test_sessions_are_limited(project: Project) -> None:
    """More sessions than `[limits] sessions` are refused with what to do."""
    project.change("[limits]", "[limits]\nsessions = 2")
    async with project.stdio() as agent:
        for _ in range(2):
            assert (await agent.run("1", session_id="new"))["ok"]
        refused = await agent.run("1", session_id="new")
        assert refused["error"]["kind"] == "limit"


async def test_the_value_is_result_however_it_is_set(stdio: Agent) -> None:
    """`result`, wherever it is set, else the last expression; `main` is never called; what is printed is told.
    CONTRACT: EXE-03, EXE-04, EXE-05."""
    for code, value in [
        ("result = 1\n2", 1),
        ("1\n2", 2),
        ("if True:\n    result = 3", 3),
        ("try:\n    1 / 0\nexcept ZeroDivisionError:\n    result = 4", 4),
        ("for result in [1, 5]:\n    pass", 5),
        ("other, result = 1, 6", 6),
        ("if True: result = 7", 7),
        ("def f():\n    global result\n    result = 8\nf()", 8),
        ("def main():\n    return 9\nresult = main()", 9),
        ("def main():\n    return 9", None),
        ("def f():\n    result = 1\n    return 10\nf()", 10),
        ("x = 11", None),
        ("", None),
    ]:
        answer = await stdio.run(code)
        assert (answer["ok"], answer["value"]) == (True, value), code
    assert (await stdio.run("n = 3\ndef main():\n    print(n)\nresult = main()"))["printed"] == "3\n"


@pytest.mark.parametrize("way", ["stdio-auto", "stdio-legacy", "http-auto", "http-legacy"])
async def test_a_cancelled_request_ends_its_run(api: Api, project: Project, way: str) -> None:
    """A client that cancels a call ends the program: the only worker is free again at once."""
    project.change(last="\n[executors.monty]\nworkers = 1\n")
    transport, era = way.split("-")

    async def check(agent: Agent) -> None:
        for what, code in [("computing", "while True:\n    pass"), ("waiting", "shelf.slow(ms=30000)")]:
            name = f"{what}-{way}"
            async with anyio.create_task_group() as group:
                group.start_soon(agent.run, f"import shelf\nshelf.mark(name='{name}')\n{code}")
                assert await anyio.to_thread.run_sync(api.marked, name)
                group.cancel_scope.cancel()
            with anyio.fail_after(25):
                assert await agent.value("1 + 1") == 2

    if transport == "stdio":
        async with project.stdio(era) as agent:
            await check(agent)
    else:
        with project.http() as (url, _):
            async with connected(url, era) as agent:
                await check(agent)


async def test_no_file_of_the_host_is_there(agent: Agent, shelf: Project) -> None:
    """Neither by a whole path nor by one that leads upwards, nor by a link: there is no file system to lead through.
    CONTRACT: SEC-07, SEC-08."""
    (shelf.folder / "link").unlink(missing_ok=True)
    (shelf.folder / "link").symlink_to(shelf.file)
    for path in ("/etc/passwd", "../../etc/passwd", str(shelf.file), "doorward.toml", "link", "/proc/self/environ"):
        for code in (f"open({path!r}).read()", f"import pathlib\npathlib.Path({path!r}).read_text()"):
            answer = await agent.run(code)
            assert not answer["ok"], answer
            assert "[servers.shelf]" not in json.dumps(answer)


@pytest.mark.skipif(sys.platform != "linux", reason="nsjail needs Linux")
async def test_no_file_of_the_host_is_in_a_jail(project: Project) -> None:
    """A program that has files finds none of the host's, by whatever path. CONTRACT: SEC-07, SEC-08."""
    project.change('executor = "monty"', 'executor = "nsjail"')
    paths = [
        "/etc/passwd",
        str(project.file),
        f"../../../..{project.file}",
        f"/proc/1/root{project.file}",
        "doorward.toml",
    ]
    found = "import os\nresult = [path for path in paths if os.path.exists(path)]"
    async with project.stdio() as agent:
        assert await agent.value(f"paths = {paths!r}\n{found}") == []


@pytest.mark.parametrize("executor", ["monty", "nsjail"])
async def test_unpickling_and_opening_files(project: Project, executor: str) -> None:
    """What is unpickled is refused before anything runs. `open` reads and writes files of the sandbox alone, where it has
    any, never the host's; an operator who wants it refused says so in one line. CONTRACT: SEC-02."""
    if executor == "nsjail" and sys.platform != "linux":
        pytest.skip("nsjail needs Linux")
    project.change('executor = "monty"', f'executor = "{executor}"')
    files = "open('mine.txt', 'w').write('own')\nopen('mine.txt').read()"
    async with project.stdio() as agent:
        for line in ("pickle.loads(b'')", "pickle.load(None)", "marshal.loads(b'')"):
            error = (await agent.run(f"import pickle, marshal\n{line}"))["error"]
            assert (error["kind"], error["line"]) == ("guard", 2), line
        stolen = await agent.run(f"open({str(project.file)!r}).read()")
        assert not stolen["ok"]
        assert "servers.shelf" not in json.dumps(stolen)
        own = await agent.run(files)
        assert own.get("value") == "own" if executor == "nsjail" else "monty has no files" in own["error"]["message"]
    project.change(last='\n[hooks.ast]\nrefuse = ["open"]\n')
    async with project.stdio() as agent:
        assert (await agent.run(files))["error"]["kind"] == "guard"


async def test_what_can_be_done_here_is_told(agent: Agent) -> None:
    """Clients and programs read what programs can do, what they cannot, and how much. CONTRACT: SEC-16, DIS-15."""
    for told in (
        (await agent.client.read_resource("doorward://capabilities")).contents[0].text,
        (await agent.run("import doorward\nprint(doorward.capabilities())"))["printed"],
    ):
        assert "without network and credentials" in told
        assert "no files" in told
        assert "these servers: shelf." in told
        assert "30 s, 1000 calls" in told
    assert "executors" in await agent.call("list_servers")
