"""The executor `docker` as it is served: `doorward` and its MCP server in front of a real engine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import tomli_w
from doorward_sandbox_docker import DockerSettings

from .forked import project
from .product import Api, Project, Wire, until

__all__ = ["project"]

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


def use(project: Project, **settings: Any) -> Project:
    """Let a project run its programs by `docker`, with these settings, and with no guard that would refuse them
    before."""
    project.change('"ast", ', "")
    text = tomli_w.dumps({"executors": {"docker": settings}})
    project.change('executor = "monty"', 'executor = "docker"', last=f"\n{text}")
    return project


@pytest.fixture
def docked(project: Project, engine: Any) -> Iterator[Project]:
    yield use(project, **engine.settings(pool=1))
    assert engine.empty()


LOOK = """
import os, socket

def refused(work):
    try:
        return work() and None
    except OSError as error:
        return type(error).__name__

status = open("/proc/self/status") if os.path.exists("/proc/self/status") else []
result = {
    "uid": os.getuid(), "root": refused(lambda: open("/x", "w")), "home": refused(lambda: open("/usr/x", "w")),
    "network": refused(lambda: socket.create_connection(("1.1.1.1", 80), 2)),
    "capabilities": [line.split()[1] for line in status if line.startswith("Cap")],
    "written": open("/work/x", "w").write("abc"),
}
"""


async def test_a_program_in_a_container(docked: Project, engine: Any) -> None:
    """Calls as frames over the container's pipes, in a container as the engine shows it: no network, read-only root, no
    capability, no new privileges, nobody's user, a share of the processors; its own modules and classes, which the
    subset of Python lacks.
    CONTRACT: SBX-01, SBX-11, SBX-13, SBX-15, SBX-16, SBX-17, EXE-15."""
    code = """
import asyncio, shelf, statistics
from enum import Enum

class Page(Enum):
    FIRST = 1

def numbers():
    yield from (one["id"] for one in shelf.list_items(page=Page.FIRST.value)["items"])

items = await asyncio.gather(*[shelf.get_item(id=number) for number in numbers()])
print("looked at", len(items))
result = statistics.mean(item["price"] for item in items)
"""
    async with docked.stdio() as agent:
        answer = await agent.run(code)
        assert answer["ok"], answer
        assert (answer["value"], answer["executor"], answer["printed"]) == (21.75, "docker", "looked at 10\n")
        assert {call["function"]: call["count"] for call in answer["calls"]} == {
            "shelf.list_items": 1,
            "shelf.get_item": 10,
        }
        found = await agent.value(LOOK)
        assert found["uid"] == 65534
        assert found["root"]
        assert found["home"]
        assert found["network"]
        assert all(int(word, 16) == 0 for word in found["capabilities"])
        assert found["written"] == 3
        for container in engine.containers():
            host = container["HostConfig"]
            assert (host["NetworkMode"], host["ReadonlyRootfs"], host["CapDrop"]) == ("none", True, ["ALL"])
            assert "no-new-privileges" in host["SecurityOpt"]
            assert container["Config"]["User"] == "65534:65534"
            assert host["NanoCpus"] == 10**9
            assert {place: "noexec" in options for place, options in host["Tmpfs"].items()} == {
                "/work": True,
                "/tmp": True,
            }


async def test_a_late_program_names_its_line(docked: Project) -> None:
    """As it stands in the agent's code."""
    async with docked.stdio() as agent:
        await agent.late()


async def test_a_shell_in_one_line(project: Project, engine: Any) -> None:
    """`shell = true` is all that it takes for the commands of the image, beside the guard that refuses them else.
    CONTRACT: EXE-20."""
    text = tomli_w.dumps({"executors": {"docker": engine.settings(pool=1, shell=True)}})
    project.change('executor = "monty"', 'executor = "docker"', last=f"\n{text}")
    code = "import os\nresult = os.popen('(echo b; echo a) | sort; pwd').read().split()"
    async with project.stdio() as agent:
        assert await agent.value(code) == ["a", "b", "/work"]
        await agent.call("list_servers")
        assert ", a shell" in agent.text


async def test_what_an_api_complains_of_is_told(docked: Project) -> None:
    """Which field, and why: caught or not, in what a program and its reader are told."""
    async with docked.stdio() as agent:
        await agent.complaint()


async def test_runs_share_a_warm_container(docked: Project, engine: Any) -> None:
    """The second run waits for no container, and finds nothing of the first. CONTRACT: EXE-16, SBX-04."""
    began = time.time()
    async with docked.stdio() as agent:
        await agent.value("open('/work/left', 'w').write('x')\nleft = 1")
        for _ in range(5):
            code = "import os\nresult = [os.path.exists('/work/left'), 'left' in globals()]"
            assert await agent.value(code) == [False, False]
    about = quote(json.dumps({"event": ["create"], "label": ["doorward=sandbox"]}))
    _, made = engine.ask("GET", f"/events?since={began:.6f}&until={time.time():.6f}&filters={about}")
    assert 1 <= len(made.splitlines()) < 6, "six runs share containers"


async def test_a_sandbox_is_ready_before_a_run(project: Project, engine: Any) -> None:
    """A run borrows a sandbox that was started before the run was asked for, two of which there are unless `pool` says
    otherwise; with none it is started for it. CONTRACT: SBX-04."""
    assert (DockerSettings().pool, DockerSettings().mode) == (2, "warm")

    async def waited(agent: Any) -> bool:
        """Whether the sandbox of a run was there before the run: its scratch space is made when it starts."""
        asked = time.time() - 0.05  # the clock of a file system is late by a tick
        return bool(await agent.value("import os\nresult = os.stat('/dev/shm').st_mtime") < asked)

    use(project, **engine.settings())
    async with project.stdio() as agent, asyncio.timeout(100):
        while not await waited(agent):  # the first sandbox of all is started for its run, the next may not be ready
            await asyncio.sleep(0.1)
    project.change("[executors.docker]\n", "[executors.docker]\npool = 0\n")
    async with project.stdio() as agent:
        assert [await waited(agent) for _ in range(3)] == [False] * 3
    assert engine.empty()


async def test_cold_runs(project: Project, engine: Any) -> None:
    """`mode = "cold"`: each run has a container of its own, and none is left or kept ready. CONTRACT: SBX-05."""
    use(project, **engine.settings(mode="cold"))
    async with project.stdio() as agent:
        for _ in range(2):
            assert await agent.value("1 + 1") == 2
            assert until(lambda: not engine.containers())


async def test_a_session_keeps_its_container(docked: Project, engine: Any) -> None:
    """Variables and files last as long as the session; what is unused is ended after `idle`, and a next run starts
    anew.
    CONTRACT: SBX-06."""
    docked.change("pool = 1", "pool = 1\nidle = 1")
    async with docked.stdio() as agent:
        await agent.value("1 + 1")
        assert until(lambda: not engine.containers()), "what is kept ready ends, too"
        first = await agent.run("x = 1\nopen('kept', 'w').write('yes')", session_id="new")
        assert first["ok"], first
        session = first["session_id"]
        for n in range(3):
            answer = await agent.run("x += 1\nresult = [x, open('kept').read()]", session_id=session)
            assert answer["value"] == [n + 2, "yes"], answer
        assert until(lambda: len(engine.containers()) == 1), "only the session's is left"
        time.sleep(1.5)
        assert (await agent.run("x", session_id=session))["value"] == 4


ENDLESS = """
import os, signal

print("started", flush=True)
os.fork()
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
while True:
    try:
        pass
    except BaseException:
        pass
"""


async def test_time_is_kept(docked: Project, engine: Any) -> None:
    """A run that takes too long is ended with all its processes, and what it printed is told; the next run is served.
    CONTRACT: EXE-16, SBX-07."""
    async with docked.stdio() as agent:
        await agent.value("1")
        answer = await agent.run(ENDLESS, timeout=3)
        assert answer["error"]["kind"] == "limit", answer
        assert "started" in answer["printed"]
        assert await agent.value("1 + 1") == 2
        assert until(lambda: all(processes(engine, c["Id"]) <= 4 for c in engine.containers()))


def processes(engine: Any, container: str) -> int:
    status, content = engine.ask("GET", f"/containers/{container}/top")
    return len(json.loads(content)["Processes"]) if status == 200 else 0


async def test_a_named_network(project: Project, engine: Any, api: Api) -> None:
    """`network = "…"`: the container joins that network of the engine, and `doctor` does not hide it. CONTRACT:
    SBX-14."""
    engine.ask("POST", "/networks/create", {"Name": "doorward-served"})
    try:
        use(project, **engine.settings(pool=0, network="doorward-served"))
        async with project.stdio() as agent:
            names = await agent.value("import socket\nresult = sorted(name for _, name in socket.if_nameindex())")
            assert names == ["eth0", "lo"]
    finally:
        until(lambda: not engine.containers())
        engine.ask("DELETE", "/networks/doorward-served")


async def test_an_engine_that_is_not_there(project: Project, tmp_path: Path) -> None:
    """`serve` starts, and all but programs works; the first program says what is missing and what to do. Another
    executor behind it is not asked in secret. CONTRACT: SBX-21."""
    use(project, host=f"unix://{tmp_path}/no.sock")
    async with project.stdio() as agent:
        assert (await agent.call("list_servers"))["servers"]
        answer = await agent.run("1 + 1")
        assert answer["error"]["kind"] == "executor"
        assert "container engine" in answer["error"]["message"]
        assert "DOCKER_HOST" in answer["error"]["hint"]


class SlowEngine:
    """The engine behind a socket of ours: it makes no container until it may."""

    def __init__(self, engine: Any, at: Path) -> None:
        self.host = f"unix://{at}"
        self.asked, self.may, self.gave_up = threading.Event(), threading.Event(), False
        self._engine = engine
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(at))
        self._listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = self._listening.accept()
                theirs = socket.socket(socket.AF_UNIX)
                theirs.connect(self._engine.at)
                for pair in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(2**16):
                if b"/containers/create" in data:
                    self.asked.set()
                    self.gave_up |= not self.may.wait(30)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.may.set()
        self._listening.close()


async def test_a_slow_engine_holds_nobody_up(project: Project, engine: Any, tmp_path: Path) -> None:
    """While a container is being made, other questions are answered. CONTRACT: SBX-03."""
    import anyio

    slow = SlowEngine(engine, tmp_path / "slow.sock")
    use(project, **(engine.settings(mode="cold") | {"host": slow.host}))
    try:
        async with project.stdio() as agent, anyio.create_task_group() as group:

            async def run() -> None:
                assert await agent.value("1") == 1

            await agent.call("list_servers")
            group.start_soon(run)
            assert await anyio.to_thread.run_sync(slow.asked.wait, 60)
            for _ in range(3):
                assert (await agent.client.list_tools()).tools
            assert not slow.gave_up, "they were answered only when the engine had"
            slow.may.set()
    finally:
        slow.close()
    assert until(lambda: not engine.containers())


def test_a_killed_server_leaves_no_container(docked: Project, engine: Any) -> None:
    """kill -9 of `serve` in the middle of a program: nothing runs any more, and no file is left in the temporary
    folder. CONTRACT: SBX-24."""
    folder = docked.folder / "tmp"
    folder.mkdir()
    docked.env["TMPDIR"] = str(folder)
    with Wire(docked) as wire:
        wire.connect()
        wire.run("1")
        wire.start("print('x')\nwhile True:\n    pass")
        assert until(lambda: any(c["State"]["Running"] for c in engine.containers()))
        time.sleep(0.5)
        wire.kill()
        assert until(lambda: {c["State"]["Status"] for c in engine.containers()} <= {"created"})
    assert list(folder.iterdir()) == []
    for container in engine.containers():
        engine.ask("DELETE", f"/containers/{container['Id']}?force=1")


async def test_packages(project: Project, engine: Any) -> None:
    """What computes in C, imported ahead; pandas and figures: in `nsjail`. CONTRACT: EXE-17."""
    if not engine.has(["numpy"]):
        pytest.skip("a package index is absent: pip must be able to download numpy")
    use(project, **engine.settings(engine.build(["numpy"]), pool=1, preload=["numpy"]))
    code = """
import numpy, shelf

numbers = numpy.array([item["id"] for item in shelf.list_items(page=1)["items"]])
result = {"rows": len(numbers), "sum": int(numbers.sum()), "inverse": float(numpy.linalg.inv([[2.0]])[0][0])}
"""
    async with project.stdio() as agent:
        assert await agent.value(code, timeout=60) == {"rows": 10, "sum": 145, "inverse": 0.5}


async def test_podman_is_found(project: Project, docker_engine: Any) -> None:
    """Without a word of where it is, at the place where its user's service listens. CONTRACT: SBX-02."""
    with docker_engine.podman() as engine:
        runtime = Path(engine.at).parent
        (runtime / "podman").mkdir()
        (runtime / "podman/podman.sock").symlink_to(engine.at)
        project.env["XDG_RUNTIME_DIR"] = str(runtime)
        use(project, **engine.settings(pool=1, host=""))
        async with project.stdio() as agent:
            if Path("/var/run/docker.sock").exists() or Path("/run/podman/podman.sock").exists():
                pytest.skip("another engine of this machine would be found first")
            answer = await agent.run("1 + 1")
            assert answer.get("value") == 2, answer
            assert engine.containers()
        assert engine.empty()
