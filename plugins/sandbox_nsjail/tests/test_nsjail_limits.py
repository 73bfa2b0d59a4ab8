"""Limits of memory, processes, disk and processors, with control groups and without, as root and as an ordinary
user."""

from __future__ import annotations

import os
from typing import Any

import pytest
from doorward import ExecutorError
from doorward_jail.nsjail import cgroups
from doorward_jail.nsjail.groups import Groups
from doorward_jail.nsjail.prepared import groups
from doorward_sandbox_nsjail import NsjailSettings

pytestmark = pytest.mark.slow

MIB = 2**20
EATER = "x = [0]\nwhile True:\n    x = x + x"
CHILDREN = """
import os, time
filled, full = os.pipe()
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(40 * 2**20)
        os.close(full)
        time.sleep(30)
os.close(full)
os.read(filled, 1)  # until each has its memory, or is dying
time.sleep(0.2)
"""
BOMB = """
import os, time
made = 0
try:
    while made < 1000:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError as error:
    result = [made, type(error).__name__]
"""


@pytest.fixture
def grouped() -> None:
    """Needs control groups that these tests may make."""
    if isinstance(why := cgroups.find("auto", cpu=False), str):
        pytest.skip(f"no control groups: {why}")


def ours() -> list[str]:
    """All control groups of gateways, of this process's children or not."""
    found = cgroups.find("auto", cpu=False)
    return (
        [] if isinstance(found, str) else [str(g) for place in found.folders.values() for g in place.glob("doorward-*")]
    )


@pytest.mark.parametrize("settings", [{}, {"cgroup": "off"}], ids=["groups", "rlimits"])
@pytest.mark.parametrize("who", ["here", "user"])
def test_memory(who: str, settings: dict[str, Any], request: pytest.FixtureRequest) -> None:
    """Who needs more memory is ended, and told how much there was; the next run is served. CONTRACT: SBX-10."""
    ended, after, _ = request.getfixturevalue(who).run(
        EATER, "1 + 1", settings=settings, limits={"memory_bytes": 128 * MIB}
    )
    said = ended.get("message", "") + str(ended.get("error"))
    assert "memory" in said.lower(), ended
    assert after["value"] == 2


def test_memory_of_all_processes_together(grouped: None, here: Any) -> None:
    """Eight processes of 40 MiB are too much for 128 MiB. CONTRACT: SBX-10."""
    ended, _ = here.run(
        CHILDREN + "import sys\nresult = sum(1 for _ in range(8) if os.waitpid(-1, os.WNOHANG)[0])",
        limits={"memory_bytes": 128 * MIB},
    )
    assert ended.get("raised") == "LimitExceeded" or ended["value"] > 0, ended


def test_files_in_memory_count(grouped: None, here: Any) -> None:
    """Scratch space is memory."""
    ended, _ = here.run(
        "open('/tmp/f', 'wb').write(bytes(2**20) * 150)\nresult = 1",
        settings={"scratch": "1GiB"},
        limits={"memory_bytes": 128 * MIB},
    )
    assert ended.get("raised") == "LimitExceeded"
    assert "memory" in ended["message"]


def test_one_process_without_groups(user: Any) -> None:
    """Where nothing counts the memory of several processes together, a program is one process; threads work. CONTRACT:
    SBX-12."""
    bomb, threads, _ = user.run(
        BOMB,
        "import threading\nt = threading.Thread(target=print, args=(1,))\nt.start()\nt.join()",
        settings={"cgroup": "off"},
    )
    assert bomb["value"][0] == 0
    assert (threads["error"], threads["printed"]) == (None, "1\n")


def test_fork_bomb(grouped: None, here: Any) -> None:
    """It ends at the limit, and all of it is gone for the next run. CONTRACT: SBX-12."""
    bomb, after, _ = here.run(
        BOMB, "import os\n[n for n in os.listdir('/proc') if n.isdigit()]", limits={"processes": 20}
    )
    assert bomb["value"] == [19, "BlockingIOError"]
    assert after["value"] == ["2"]


@pytest.mark.parametrize("who", ["here", "user"])
def test_disk(who: str, request: pytest.FixtureRequest) -> None:
    """Scratch space holds so many bytes and so many files. CONTRACT: SBX-15."""
    large = "open('/work/f', 'wb').write(bytes(2**20) * 20)"
    many = "for n in range(1000):\n    open(f'/tmp/{n}', 'w').close()"
    little = "open('/work/f', 'wb').write(bytes(2**20))"
    *ended, _ = request.getfixturevalue(who).run(
        large, little, many, little, settings={"scratch": "10MiB", "inodes": 200}
    )
    for full, after in (ended[:2], ended[2:]):
        assert full.get("error") == "OSError" or full.get("raised") == "LimitExceeded", full
        assert after["value"] == 2**20


def test_cpus(here: Any) -> None:
    """A fifth of a processor computes for a fifth of the time. CONTRACT: SBX-11."""
    try:
        found = cgroups.find("auto", cpu=True)
    except Exception as error:
        pytest.skip(f"no control groups for processors: {error}")
    assert not isinstance(found, str)
    code = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nresult = time.process_time()"
    slow, said = here.run(code, settings={"cpus": 0.2})
    assert 0.02 < slow["value"] < 0.5  # less, where others want the processors, too
    assert said["limits"]["cpu"] == "cgroup"


def test_cpus_without_groups(here: Any) -> None:
    """What cannot be limited is refused, with what to do. CONTRACT: SBX-11."""
    refused, _ = here.run("1", settings={"cpus": 0.5, "cgroup": "off"})
    assert refused["raised"] == "ExecutorError"
    assert "`cpus` needs cgroups" in refused["message"]
    assert "Delegate=yes" in refused["hint"]


def test_a_group_that_is_not_there(user: Any) -> None:
    """A configured group that cannot be used stops the executor."""
    refused, _ = user.run("1", settings={"cgroup": "/sys/fs/cgroup/nowhere"})
    assert refused["raised"] == "ExecutorError"
    assert "/nowhere" in refused["message"]


def test_what_is_said_of_limits(here: Any, user: Any) -> None:
    """Capabilities and check name what enforces each limit."""
    *_, with_groups = here.run("1")
    *_, without = user.run("1", settings={"cgroup": "off"})
    if not isinstance(cgroups.find("auto", cpu=False), str):
        assert with_groups["limits"]["memory"] == "cgroup"
        assert "cgroup v" in with_groups["check"][-1]
    assert without["limits"]["memory"].startswith("rlimit")
    assert "switched off" in without["check"][-1]
    assert os.path.exists(without["check"][0].split()[1])


def test_no_group_is_left(grouped: None, here: Any) -> None:
    """Neither of runs that ended nor of those that were ended."""
    process = here.harness(
        "1", EATER, BOMB, "import time\ntime.sleep(0.2)", limits={"memory_bytes": 128 * MIB, "processes": 20}
    )
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert [g for g in ours() if f"doorward-{process.pid}-" in g] == []


SOCKETS = """
import socket
held, most = [], 0
try:
    while True:
        pair = socket.socketpair()
        for end in pair:
            try:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**24)
            except PermissionError:
                pass
            end.setblocking(False)
            try:
                while True:
                    most += end.send(bytes(2**15))
            except BlockingIOError:
                pass
        held.append(pair)
except OSError:
    result = most
"""


def test_memory_of_sockets_without_groups(here: Any) -> None:
    """What the kernel holds for a program, and no limit counts, is little. CONTRACT: SBX-10."""
    ended, _ = here.run(SOCKETS, settings={"cgroup": "off"})
    assert 0 < ended["value"] < 100 * MIB


def test_each_sandbox_has_its_share_of_the_processors(grouped: None) -> None:
    """Without `cpus` too, where that can be had: a program of many threads gets no more than one of one."""
    try:
        cgroups.find("auto", cpu=True)
    except ExecutorError as error:
        pytest.skip(str(error))
    made = groups(NsjailSettings())
    assert isinstance(made, Groups)
    assert "cpu" in made.parents.folders
    assert made.cpus is None
