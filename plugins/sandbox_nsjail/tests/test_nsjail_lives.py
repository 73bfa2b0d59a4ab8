"""Beginning and end of jails: nothing outlives its gateway, and leftovers are swept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorward import Program
from doorward_jail import start_time
from doorward_jail.nsjail import cgroups
from doorward_jail.nsjail.groups import Groups
from doorward_jail.nsjail.launch import launch
from doorward_sandbox_nsjail import NsjailExecutor, NsjailSettings
from doorward_testing import Door

pytestmark = pytest.mark.slow

RESTLESS = """
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
try:
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            break
except OSError:
    pass
print("runs", flush=True)
while True:
    try:
        time.sleep(0.01)
    except BaseException:
        pass
"""

LINGERING = """
import os, time
try:
    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
except OSError:  # one process only
    pass
print("runs")
"""


def descendants(pid: int) -> set[int]:
    """All processes below one, at this moment."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := cgroups._stat(int(entry.name))):
            parents[int(entry.name)] = int(stat[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if (stat := cgroups._stat(pid)) and stat[0] != "Z"}


def until(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(0.01)


@pytest.mark.parametrize("who", ["here", "user"])
def test_a_killed_gateway(who: str, request: pytest.FixtureRequest) -> None:
    """After kill -9 all of its jails are gone, whatever their programs do; the next gateway removes its groups."""
    someone = request.getfixturevalue(who)
    gateway = someone.harness(RESTLESS, settings={"pool": 3})
    until(lambda: len(descendants(gateway.pid)) >= 6)
    time.sleep(0.5)
    jails = descendants(gateway.pid)
    os.kill(gateway.pid, signal.SIGKILL)
    gateway.communicate()
    until(lambda: not alive(jails))
    someone.run("1")
    found = cgroups.find("auto", cpu=False)
    if not isinstance(found, str):
        assert [g for place in found.folders.values() for g in place.glob(f"doorward-{gateway.pid}-*")] == []


def test_nothing_is_left(here: Any) -> None:
    """No process and no file descriptor of 30 runs, whose children would have lived on."""
    *runs, last = here.run(*[LINGERING] * 30)
    assert [run["printed"] for run in runs] == ["runs\n"] * 30
    assert (last["opened"], last["children"]) == (0, [])


@pytest.mark.anyio
async def test_a_jail_is_killed_with_all_in_it(tmp_path: Path) -> None:
    """Also when its first process ignores every signal that can be ignored."""
    from doorward_jail.nsjail.binary import candidates
    from doorward_jail.nsjail.interpreter import interpreter
    from doorward_jail.nsjail.policy import jail_config

    python = await interpreter(sys.executable)
    config = jail_config(python, (), user=65534)
    jail = await launch(
        candidates(None, "nsjail")[0].path,
        config,
        [str(python.executable), "-I", "-S", "-c", f"import os\nos.write(2, b'said')\n{RESTLESS}"],
    )
    until(lambda: len(descendants(jail.pid)) >= 4)
    below = descendants(jail.pid)
    await jail.kill()
    assert not alive(below | {jail.pid})
    assert "said" in jail.said()
    jail.socket.close()


def test_names_of_groups(tmp_path: Path) -> None:
    """Groups of dead gateways are swept; those of living ones, and what is not ours, stay."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    start = start_time(child.pid)
    child.wait()
    dead, reused, living, other = (
        tmp_path / name
        for name in (
            f"doorward-{child.pid}-{start}-0",
            f"doorward-{os.getpid()}-1-7",
            f"doorward-{os.getpid()}-{start_time(os.getpid())}-0",
            "doorward-of-somebody",
        )
    )
    for folder in (dead, reused, living, other):
        folder.mkdir()
    groups = Groups(cgroups.Parents(1, {"memory": tmp_path}))
    cgroups.sweep(groups.parents)
    assert sorted(tmp_path.iterdir()) == sorted([living, other])
    dead.mkdir()
    groups.close()  # what was in use when this gateway started
    assert sorted(tmp_path.iterdir()) == sorted([living, other])


@pytest.mark.anyio
async def test_two_gateways_in_one_process(host: Any) -> None:
    """Their sandboxes have groups of their own."""
    first, second = (NsjailExecutor(host.context(NsjailSettings)) for _ in range(2))
    try:
        for executor in (first, second):
            program = Program("1 + 1", deadline=time.monotonic() + 30)
            sandbox = await executor.open(program)
            assert (await sandbox.run(program, Door())).value == 2
            await sandbox.close()
    finally:
        await first.close()
        await second.close()
