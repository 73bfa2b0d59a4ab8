"""What is written into the control groups of sandboxes, in both versions, and what becomes of groups that the kernel keeps."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from doorward import ExecutorError, Limits
from doorward_jail.nsjail.cgroups import NAME, Parents
from doorward_jail.nsjail.groups import Groups

LIMITS = Limits(memory_bytes=64 * 2**20, processes=7)

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def swap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that counts swap: its file is there in every group."""
    mkdir = Path.mkdir

    def made(self: Path, *words: Any, **more: Any) -> None:
        mkdir(self, *words, **more)
        for name in ("memory.memsw.limit_in_bytes", "memory.swap.max"):
            (self / name).touch()

    monkeypatch.setattr(Path, "mkdir", made)


def written(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


@pytest.mark.usefixtures("swap")
def test_one_group_has_all_limits_in_version_2(tmp_path: Path) -> None:
    """Memory with swap, processes and processors; the process is put into it last."""
    groups = Groups(Parents(2, dict.fromkeys(("memory", "pids", "cpu"), tmp_path)), cpus=0.5)
    (folder,) = groups.make(4242, LIMITS).folders
    found = NAME.fullmatch(folder.name)
    assert found is not None
    assert int(found["pid"]) == os.getpid()
    assert written(folder) == {
        "pids.max": "7",
        "memory.max": str(64 * 2**20),
        "memory.oom.group": "1",
        "memory.swap.max": "0",
        "memory.memsw.limit_in_bytes": "",
        "cpu.max": "50000 100000",
        "cgroup.procs": "4242",
    }


@pytest.mark.usefixtures("swap")
def test_each_hierarchy_has_its_limits_in_version_1(tmp_path: Path) -> None:
    """A group of the same name in each, and the process in all of them."""
    places = {name: tmp_path / name for name in ("memory", "pids", "cpu")}
    for place in places.values():
        place.mkdir()
    group = Groups(Parents(1, places), cpus=2).make(4242, LIMITS)
    told = {name: written(folder) for name, folder in group.by_controller.items()}
    memory = str(64 * 2**20)
    assert told["memory"]["memory.limit_in_bytes"] == told["memory"]["memory.memsw.limit_in_bytes"] == memory
    assert told["pids"]["pids.max"] == "7"
    assert (told["cpu"]["cpu.cfs_period_us"], told["cpu"]["cpu.cfs_quota_us"]) == ("100000", "200000")
    assert all(files["cgroup.procs"] == "4242" for files in told.values())
    assert len({folder.name for folder in group.folders}) == 1


def test_a_group_without_processors_and_swap(tmp_path: Path) -> None:
    """What is not wanted, or not counted by the kernel, is not written."""
    (folder,) = Groups(Parents(2, dict.fromkeys(("memory", "pids"), tmp_path))).make(1, LIMITS).folders
    assert set(written(folder)) == {"pids.max", "memory.max", "memory.oom.group", "cgroup.procs"}


@pytest.mark.parametrize(
    ("version", "events", "reached"),
    [
        (2, {"memory.events": "low 0\noom_kill 2\n", "pids.events": "max 0\n"}, ["memory"]),
        (2, {"memory.events": "oom_kill 0\n", "pids.events": "max 3\n"}, ["processes"]),
        (
            1,
            {"memory.oom_control": "oom_kill_disable 0\noom_kill 1\n", "pids.events": "max 1\n"},
            ["memory", "processes"],
        ),
        (2, {}, []),
    ],
)
async def test_which_limits_were_reached(
    tmp_path: Path, version: int, events: dict[str, str], reached: list[str]
) -> None:
    """As the kernel counts it; a group that is gone tells nothing."""
    group = Groups(Parents(version, dict.fromkeys(("memory", "pids"), tmp_path))).make(1, LIMITS)
    for name, text in events.items():
        (group.folders[0] / name).write_text(text)
    assert await group.reached() == reached


async def test_a_group_that_is_in_use_is_removed_later(tmp_path: Path) -> None:
    """The kernel notices the end of processes late: the next group, or the end of the executor, tries again."""
    groups = Groups(Parents(2, dict.fromkeys(("memory", "pids"), tmp_path)))
    group = groups.make(1, LIMITS)
    (folder,) = group.folders
    await group.close()  # files of ours are in it, as processes would be
    assert folder.is_dir()
    for file in folder.iterdir():
        file.unlink()
    other = groups.make(2, LIMITS)
    assert not folder.exists()
    for file in other.folders[0].iterdir():
        file.unlink()
    groups.close()
    assert list(tmp_path.iterdir()) == []
    await other.close()  # it is gone already


def test_a_kernel_that_refuses(tmp_path: Path) -> None:
    """The sandbox does not start without its limits, and nothing is left."""
    places = {"memory": tmp_path / "memory", "pids": tmp_path / "absent"}
    places["memory"].mkdir()
    with pytest.raises(ExecutorError, match="could not be limited by its cgroup") as refused:
        Groups(Parents(1, places)).make(1, LIMITS)
    assert re.search("doctor", str(refused.value.hint))
    assert list(places["memory"].iterdir()) == []


def of_the_kernel(folder: Path, *, usage: int = 0, killed: int = 0) -> None:
    """What the kernel shows in a group of version 2 whose processes are gone."""
    (folder / "cgroup.procs").write_text("")
    (folder / "memory.current").write_text(f"{usage}\n")
    (folder / "memory.events").write_text(f"oom_kill {killed}\n")
    (folder / "pids.events").write_text("max 0\n")


@pytest.mark.parametrize(
    ("left", "limits", "again"),
    [
        ({}, LIMITS, True),
        ({"usage": 64 * 2**20}, LIMITS, False),
        ({"killed": 1}, LIMITS, False),
        ({}, Limits(memory_bytes=2**25, processes=7), False),
    ],
    ids=["clean", "memory in use", "a limit was reached", "other limits"],
)
async def test_a_group_is_used_again_if_nothing_is_left_in_it(
    tmp_path: Path, left: dict[str, int], limits: Limits, again: bool
) -> None:
    """It counts from zero for the next sandbox, or it is another one."""
    groups = Groups(Parents(2, dict.fromkeys(("memory", "pids"), tmp_path)))
    first = groups.make(1, LIMITS)
    of_the_kernel(first.folders[0], **left)
    await first.close()
    second = await groups.begin(2, limits)
    assert (second.folders == first.folders) is again
    assert (second.folders[0] / "cgroup.procs").read_text() == "2"
    await first.close()  # again: it takes nothing from the second
    third = groups.make(3, LIMITS)
    assert third.folders != second.folders


@pytest.mark.parametrize(
    ("file", "text", "again"),
    [
        ("cgroup.procs", "", True),
        ("cgroup.procs", "4242\n", False),
        ("memory.current", str(64 * 2**20), False),
        ("memory.events", "oom_kill 1\n", False),
        ("pids.events", "max 3\n", False),
    ],
)
async def test_only_a_group_in_which_nothing_is_left_is_used_again(
    tmp_path: Path, file: str, text: str, again: bool
) -> None:
    """No process, no memory, no limit that was reached; and only for a sandbox with the same limits."""
    groups = Groups(Parents(2, dict.fromkeys(("memory", "pids"), tmp_path)))
    group = groups.make(4242, LIMITS)
    (folder,) = group.folders
    for name, said in {"cgroup.procs": "", "memory.current": "8192\n", file: text}.items():
        (folder / name).write_text(said)
    await group.close()
    assert list(groups.make(1, Limits(memory_bytes=2**20, processes=7)).folders) != [folder]
    assert (list(groups.make(1, LIMITS).folders) == [folder]) is again
    await group.close()
    assert list(groups.make(1, LIMITS).folders) != [folder]
