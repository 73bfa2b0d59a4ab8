"""The Docker executor on a real engine: what it starts, what it promises, and what is left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorward import LimitExceeded, Limits, Program, SandboxDied
from doorward_jail.probes import probe
from doorward_sandbox_docker import DockerExecutor, DockerSettings
from doorward_testing import Door, FullPythonConformance, SharedExecutor, check_driver, check_light_import

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

Run = Callable[..., Any]


class TestDocker(SharedExecutor, FullPythonConformance):
    """Docker keeps what the protocol promises."""

    def started(self, host: Any, request: pytest.FixtureRequest) -> Any:
        settings = request.getfixturevalue("engine").settings(pool=0)
        return DockerExecutor(host.context(DockerSettings, settings))


def program(code: str, **more: Any) -> Program:
    return Program(code, deadline=time.monotonic() + 30, **more)


def test_driver_and_imports() -> None:
    """It is a driver, and naming it imports neither the SDK nor what the SDK needs."""
    check_driver("executor", "docker")
    check_light_import("doorward_sandbox_docker")


async def test_the_container_is_hardened(run: Run, engine: Any) -> None:
    """As the engine shows it, whatever we meant to ask for."""
    await run("1", limits=Limits(memory_bytes=100 * 2**20, processes=10))
    (container,) = engine.containers()
    about, host = container["Config"], container["HostConfig"]
    assert about["User"] == "65534:65534"
    assert about["Labels"]["doorward"] == "sandbox"
    assert about["Labels"]["doorward.pid"] == str(os.getpid())
    assert not about["Tty"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert not host["Privileged"]
    assert "no-new-privileges" in host["SecurityOpt"]
    seccomp = next(option for option in host["SecurityOpt"] if option.startswith("seccomp="))
    assert '"SCMP_ACT_ERRNO"' in seccomp
    assert '"unconfined"' not in seccomp
    for refused in (
        "ptrace",
        "bpf",
        "io_uring_setup",
        "keyctl",
        "userfaultfd",
        "perf_event_open",
        "setns",
        "add_key",
        "kexec_load",
    ):
        assert f'"{refused}"' not in seccomp
    assert 100 * 2**20 < host["Memory"] == host["MemorySwap"] <= 400 * 2**20
    assert host["PidsLimit"] == 16
    assert host["NanoCpus"] == 10**9
    assert {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} == {"nofile": 8192, "core": 0}
    assert not host["Binds"]
    assert not container["Mounts"]
    assert host["IpcMode"] == "private"
    assert host["PidMode"] == ""
    assert host["AutoRemove"] is True
    assert host["LogConfig"]["Type"] == "none"
    assert "/proc/kcore" in host["MaskedPaths"]
    for place in ("/work", "/tmp"):
        options = host["Tmpfs"][place].split(",")
        assert {"noexec", "nosuid", "nodev", "nr_inodes=20000", f"size={256 * 2**20}"} <= set(options)


async def test_what_a_program_finds(run: Run) -> None:
    """No interface but loopback, no right, no environment of the engine, a root that cannot be written, a folder that
    can."""
    code = """
import os, socket
def refused(work):
    try:
        work()
    except OSError as error:
        return type(error).__name__
open("here.txt", "w").write("x")
result = {
    "uid": os.getuid(), "cwd": os.getcwd(), "environ": sorted(os.environ), "root": refused(lambda: open("/x", "w")),
    "etc": refused(lambda: open("/etc/passwd", "a")), "socket": refused(lambda: socket.create_connection(("1.1.1.1", 80), 1)),
    "mine": os.listdir("."),
}
"""
    ended, _ = await run(code)
    assert ended.error is None, ended.error
    found = ended.value
    assert found["uid"] == 65534
    assert found["cwd"] == "/work"
    assert not {"HOSTNAME", "DOCKER_HOST"} & set(found["environ"])
    assert found["root"] == "OSError"
    assert found["etc"] in ("OSError", "PermissionError")
    assert found["socket"]
    assert "here.txt" in found["mine"]


async def test_nothing_is_left_for_the_next_run(engine: Any, executing: Any) -> None:
    """Runs one after the other share a warm container, and nothing in it."""
    async with executing(engine.settings(pool=1)) as run:
        leave = "import os\nopen('/work/left', 'w').write('x')\nopen('/tmp/left', 'w').write('x')\nx = 1\n"
        leave += "if os.fork() == 0:\n    import time\n    time.sleep(100)\nresult = os.getpid()"
        assert (await run(leave))[0].error is None
        look = "import os\nresult = [os.path.exists('/work/left'), os.path.exists('/tmp/left'), 'x' in globals(), os.getppid()]"
        for _ in range(5):
            assert (await run(look))[0].value[:3] == [False, False, False]
        assert 1 <= len(engine.containers()) <= 4
    assert engine.empty()


async def test_a_cold_run_has_a_container_of_its_own(engine: Any, executing: Any) -> None:
    """Nothing is kept ready, and no container serves twice."""
    async with executing(engine.settings(mode="cold")) as run:
        seen = set()
        for _ in range(3):
            asked = program("1 + 1")
            sandbox = await run.executor.open(asked)
            (container,) = engine.containers()
            seen.add(container["Id"])
            assert (await sandbox.run(asked, Door())).value == 2
            await sandbox.close()
            assert await asyncio.to_thread(engine.empty, 2)
        assert len(seen) == 3


async def test_a_session_keeps_its_variables_and_files(engine: Any, executing: Any) -> None:
    """Runs of one sandbox share both; another sandbox sees neither."""
    async with executing(engine.settings(pool=0)) as run:
        first = program("x = [1]\nopen('kept', 'w').write('text')")
        session = await run.executor.open(first, session=True)
        assert (await session.run(first, Door())).error is None
        assert (await session.run(program("x.append(2)\nresult = [x, open('kept').read()]"), Door())).value == [
            [1, 2],
            "text",
        ]
        assert (await run("x"))[0].error.type == "NameError"
        await session.close()
    assert engine.empty()


async def test_files_of_a_program_are_kept(engine: Any, executing: Any) -> None:
    """What it leaves in ./out comes out whole, also when it is large."""
    large = bytes(range(256)) * 20_000
    async with executing(engine.settings(pool=0)) as run:
        asked, door = (
            program("open('out/a.csv', 'w').write('a,b')\nopen('out/b.bin', 'wb').write(bytes(range(256)) * 20_000)"),
            Door(),
        )
        sandbox = await run.executor.open(asked)
        assert (await sandbox.run(asked, door)).error is None
        await sandbox.close()
        assert sorted(door.kept) == [("a.csv", "text/csv", b"a,b"), ("b.bin", "application/octet-stream", large)]


async def test_what_one_run_ran_into_is_not_the_next_ones(engine: Any, executing: Any) -> None:
    """A child that was killed for its memory, of a program that succeeded, does not explain how the next program
    fails."""
    limits = Limits(memory_bytes=64 * 2**20)
    async with executing(engine.settings(pool=0)) as run:
        child = "import os\nif os.fork() == 0:\n    x = b'x' * 500_000_000\nos.WTERMSIG(os.wait()[1])"
        assert (await run(child, limits=limits))[0].value == 9
        assert (await run("1 / 0", limits=limits))[0].error.type == "ZeroDivisionError"
        assert len(engine.containers()) == 1


async def test_memory_is_limited(run: Run) -> None:
    """By the container's cgroup, however many processes share it; the next run is served."""
    alone = "x = []\nwhile True:\n    x.append(bytearray(2**20))"
    together = (
        f"import os\nfor _ in range(4):\n    if os.fork() == 0:\n{textwrap.indent(alone, '        ')}\nos.wait()\n"
        + alone
    )
    for code in (alone, together):
        with pytest.raises(LimitExceeded, match="more memory than its limit of 64 MiB"):
            await run(code, limits=Limits(memory_bytes=64 * 2**20))
    assert (await run("1 + 1", limits=Limits(memory_bytes=64 * 2**20)))[0].value == 2


@pytest.mark.parametrize("mode", ["cold", "warm"])
async def test_files_that_need_more_memory_than_there_is(engine: Any, executing: Any, mode: str) -> None:
    """They end a container for one run, which takes its counts with it. What to set is said."""
    fill = "with open('big', 'wb') as f:\n    for _ in range(200):\n        f.write(bytes(2**20))"
    async with executing(engine.settings(pool=0, mode=mode)) as run:
        with pytest.raises(LimitExceeded, match="more memory than its limit of 64 MiB") as refused:
            await run(fill, limits=Limits(memory_bytes=64 * 2**20))
        assert "may have 256 MiB ([executors.docker] scratch): the operator can set [limits] memory" in str(
            refused.value.hint
        )
        assert (await run(fill, limits=Limits(memory_bytes=512 * 2**20)))[0].error is None
        with pytest.raises(LimitExceeded, match="memory") as refused:
            await run("b'x' * 10**9", limits=Limits(memory_bytes=512 * 2**20))
        assert refused.value.hint == "Work on smaller pieces."


async def test_the_limit_of_memory_is_a_programs_own(run: Run) -> None:
    """What the container needs for itself is neither taken off nor given on top."""
    take = "held = b'x' * (MIB * 2**20)\nresult = len(held)"
    assert (await run(take.replace("MIB", "110"), limits=Limits(memory_bytes=128 * 2**20)))[0].value == 110 * 2**20
    with pytest.raises(LimitExceeded, match="memory"):
        await run(take.replace("MIB", "160"), limits=Limits(memory_bytes=128 * 2**20))


async def test_files_are_limited(run: Run, engine: Any) -> None:
    """In bytes and in number."""
    full = "with open('big', 'wb') as f:\n    while True:\n        f.write(bytes(2**20))"
    ended, _ = await run(full)
    assert ended.error.type == "OSError"
    many = "import os\nn = 0\ntry:\n    while True:\n        os.mkdir(f'd{n}')\n        n += 1\nexcept OSError:\n    result = n"
    assert (await run(many))[0].value < 20_000


async def test_processes_are_limited(run: Run) -> None:
    """A fork bomb ends by itself and leaves nothing."""
    bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        break\nresult = 1"
    with contextlib.suppress(Exception):
        await run(bomb, limits=Limits(processes=20))
    assert (await run("2", limits=Limits(processes=20)))[0].value == 2


async def test_probes(engine: Any, executing: Any) -> None:
    """All hold in containers for one run, too, the limit of processes among them. For shared ones `test_isolation` says
    so."""
    async with executing(engine.settings(mode="cold")) as run:
        assert [probed for probed in await probe(run.executor, Limits()) if probed.held is False] == []


async def test_a_cancelled_run_is_gone(engine: Any, executing: Any, until: Any) -> None:
    """With every process in it; the container is used again."""
    async with executing(engine.settings(pool=1)) as run:
        await run("1")
        for code in (
            "while True: pass",
            "import os\nos.fork()\nos.fork()\nimport time\nwhile True:\n    time.sleep(1)",
        ):
            asked, door = program(f"print('begun')\n{code}"), Door()
            sandbox = await run.executor.open(asked)
            running = asyncio.ensure_future(sandbox.run(asked, door))
            await until(lambda door=door: door.printed)
            running.cancel()
            await asyncio.wait([running])
            assert running.cancelled()
            await sandbox.close()
        assert (await run("1 + 1"))[0].value == 2
        await until(lambda: max(processes(engine)) <= 4)  # zygote, relay, and two that wait


async def test_a_start_that_nobody_waits_for_leaves_nothing(engine: Any, executing: Any) -> None:
    """A client that goes while its container is being started."""
    for delay in (0.0, 0.02, 0.05, 0.1, 0.15):
        async with executing(engine.settings(pool=0)) as run:
            task = asyncio.ensure_future(run("1"))
            await asyncio.sleep(delay)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        assert engine.empty()


GATEWAY = """
import asyncio, json, sys, time
from pathlib import Path
from doorward import PluginContext, Program
from doorward_testing import Door
from doorward_sandbox_docker import DockerExecutor, DockerSettings
async def main():
    executor = DockerExecutor(PluginContext("docker", DockerSettings(**json.loads(sys.argv[1])), Path(sys.argv[2])))
    async def run():
        asked = Program("while True: pass", deadline=time.monotonic() + 60)
        sandbox = await executor.open(asked)
        print("ready", flush=True)
        await sandbox.run(asked, Door())
    await asyncio.gather(run(), run())
asyncio.run(main())
"""


def test_a_killed_gateway_leaves_nothing(engine: Any, tmp_path: Path) -> None:
    """Every container ends by itself soon after `kill -9`, also what was kept ready. One that was made and not started
    yet is nothing but a name: the next gateway sweeps it."""
    command = [sys.executable, "-c", GATEWAY, json.dumps(engine.settings(pool=2)), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as gateway:
        assert gateway.stdout is not None
        assert [gateway.stdout.readline() for _ in range(2)] == [b"ready\n"] * 2
        assert len(engine.containers()) >= 2
        gateway.send_signal(signal.SIGKILL)
        gateway.wait()
    end = time.monotonic() + 60
    while (left := states(engine) - {"created"}) and time.monotonic() < end:
        time.sleep(0.02)
    assert not left
    with subprocess.Popen(command, stdout=subprocess.PIPE) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"ready\n"
        pids = {container["Config"]["Labels"]["doorward.pid"] for container in engine.containers()}
        following.kill()
    assert pids == {str(following.pid)}
    time.sleep(0.5)
    for container in engine.containers():
        engine.ask("DELETE", f"/containers/{container['Id']}?force=1")


def processes(engine: Any) -> list[int]:
    """How many run in each container."""
    told = [engine.ask("GET", f"/containers/{container['Id']}/top") for container in engine.containers()]
    return [len(json.loads(content)["Processes"]) for status, content in told if status == 200] or [0]


def states(engine: Any) -> set[str]:
    return {container["State"]["Status"] for container in engine.containers()}


async def test_orphans_are_swept(engine: Any, executing: Any) -> None:
    """What a dead gateway of this machine left is removed before the first run; what may be somebody's is left
    alone."""
    from doorward_containers import labels

    mine = labels("sandbox")
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    given = {
        "dead": mine | {"doorward.pid": str(gone.pid)},
        "reused": mine | {"doorward.started": "1"},
        "alive": mine,
        "untold": mine | {"doorward.started": "unknown"},
        "giant": mine | {"doorward.pid": "9" * 5000},
        "elsewhere": mine | {"doorward.place": "another machine", "doorward.pid": "1"},
        "foreign": {"doorward.pid": str(gone.pid)},
    }
    made = {}
    for name, about in given.items():
        status, content = engine.ask("POST", "/containers/create", {"Image": engine.image(), "Labels": about})
        assert status == 201, content
        made[name] = json.loads(content)["Id"]
    try:
        async with executing(engine.settings(pool=0)) as run:
            await run("1")
        left = {name for name, id in made.items() if engine.ask("GET", f"/containers/{id}/json")[0] == 200}
        assert left == {"alive", "untold", "giant", "elsewhere", "foreign"}
    finally:
        for id in made.values():
            engine.ask("DELETE", f"/containers/{id}?force=1")


async def test_a_container_that_is_killed_from_outside(engine: Any, executing: Any) -> None:
    """The run says so, and the next one gets another."""
    async with executing(engine.settings(pool=0)) as run:
        asked, door = program("import time\nprint('begun')\ntime.sleep(20)"), Door()
        sandbox = await run.executor.open(asked)
        task = asyncio.ensure_future(sandbox.run(asked, door))
        while not door.printed:
            await asyncio.sleep(0.02)
        for container in engine.containers():
            engine.ask("POST", f"/containers/{container['Id']}/kill")
        with pytest.raises(SandboxDied):
            await task
        await sandbox.close()
        assert (await run("1 + 1"))[0].value == 2
