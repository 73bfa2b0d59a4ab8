"""Where control groups are looked for, on machines of every kind: files as the kernel shows them, in a folder.

That limits hold is tested with the groups of this machine's kernel (`test_nsjail_limits.py`), whichever version they
have.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from doorward import ExecutorError
from doorward_jail.nsjail import cgroups
from doorward_jail.nsjail.cgroups import LEAF, Parents


class Machine:
    """What /proc/self and the mounted hierarchies say."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.fs = folder / "proc", folder / "cgroup"
        self.proc.mkdir()

    def says(self, groups: str, *mounts: str) -> None:
        (self.proc / "cgroup").write_text(groups)
        lines = [
            f"30 20 0:26 {root} {self.fs / name} rw,nosuid - {kind} cgroup {options}"
            for root, name, kind, options in map(str.split, mounts)
        ]
        (self.proc / "mountinfo").write_text("22 20 0:5 / /proc rw - proc proc rw\n" + "\n".join(lines) + "\n")

    def group(
        self,
        path: str,
        *,
        controllers: str = "cpu memory pids",
        control: str = "",
        processes: str = "",
        root: bool = False,
    ) -> Path:
        (place := self.fs / path).mkdir(parents=True, exist_ok=True)
        for name, text in (
            ("controllers", controllers),
            ("subtree_control", control),
            ("procs", processes),
            ("type", "domain"),
        ):
            if name != "type" or not root:
                (place / f"cgroup.{name}").write_text(text)
        return place

    def find(self, setting: str = "auto", *, cpu: bool = False) -> Parents | str:
        return cgroups.find(setting, cpu=cpu, proc=self.proc)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_version_2_delegated(machine: Machine) -> None:
    """A service's own group that holds Doorward alone: Doorward moves into a leaf, and passes the controllers on."""
    machine.says("0::/app/doorward.service\n", "/ . cgroup2 rw")
    machine.group("", root=True)
    own = machine.group("app/doorward.service", processes=f"{os.getpid()}\n{os.getppid()}\n")
    found = machine.find()
    assert found == Parents(2, {"memory": own, "pids": own})
    assert not isinstance(found, str)
    cgroups.prepare(found)
    assert (own / LEAF / "cgroup.procs").read_text() in (str(os.getpid()), str(os.getppid()))
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_version_2_from_the_leaf(machine: Machine) -> None:
    """Who is in the leaf already makes groups beside it, not below."""
    machine.says(f"0::/svc/{LEAF}\n", "/ . cgroup2 rw")
    machine.group("", root=True)
    own = machine.group("svc", control="memory pids")
    machine.group(f"svc/{LEAF}", processes=f"{os.getpid()}\n")
    assert machine.find() == Parents(2, {"memory": own, "pids": own})


def test_version_2_with_strangers(machine: Machine) -> None:
    """A group that holds others' processes is left alone: root goes to the top, anybody else does without."""
    machine.says("0::/session\n", "/ . cgroup2 rw")
    top = machine.group("", root=True)
    machine.group("session", processes=f"{os.getpid()}\n1\n2\n")
    found = machine.find()
    if os.geteuid() == 0:
        assert found == Parents(2, {"memory": top, "pids": top})
    else:
        assert isinstance(found, str)
        assert "not Doorward's (2)" in found


def test_version_2_without_controllers(machine: Machine) -> None:
    """Where memory was not delegated, the reason names it; a configured group fails with it."""
    machine.says("0::/user\n", "/ . cgroup2 rw")
    machine.group("", controllers="cpu", root=True)
    machine.group("user", controllers="cpu")
    assert "memory" in str(machine.find())
    with pytest.raises(ExecutorError, match="cannot be used"):
        machine.find(str(machine.fs / "user"))


def test_version_2_in_a_container(machine: Machine) -> None:
    """Behind a cgroup namespace one's own group is the root of what is mounted."""
    machine.says("0::/\n", "/ . cgroup2 rw")
    top = machine.group("", control="cpu memory pids")
    assert machine.find(cpu=True) == Parents(2, dict.fromkeys(("memory", "pids", "cpu"), top))


def test_version_1(machine: Machine) -> None:
    """A folder for each controller, below the own group; together with an empty version 2, as on hybrid machines;
    mounted from a container's group without a namespace."""
    machine.says(
        "9:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n3:pids:/docker/abc\n0::/\n",
        "/docker/abc cpu cgroup rw,cpu,cpuacct",
        "/docker/abc memory cgroup rw,memory",
        "/ pids cgroup rw,pids",
        "/ unified cgroup2 rw",
    )
    machine.group("unified", controllers="hugetlb", root=True)
    for name in ("cpu", "memory", "pids/docker/abc"):
        (machine.fs / name).mkdir(parents=True)
    expected = {"memory": machine.fs / "memory", "pids": machine.fs / "pids/docker/abc", "cpu": machine.fs / "cpu"}
    assert machine.find(cpu=True) == Parents(1, expected)
    (machine.fs / "memory/mine").mkdir()
    (machine.fs / "pids/mine").mkdir()
    assert machine.find("/mine") == Parents(1, {"memory": machine.fs / "memory/mine", "pids": machine.fs / "pids/mine"})


def test_none(machine: Machine) -> None:
    """Nothing mounted is a reason, not an error; for `cpus` it is one."""
    machine.says("")
    assert machine.find() == "no cgroup hierarchy for memory is mounted"
    with pytest.raises(ExecutorError, match="`cpus` needs cgroups"):
        machine.find(cpu=True)
