"""Containers of ours without an engine: what every one of them goes without, and whose it is."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from doorward import ExecutorError
from doorward_containers import Engine, EngineAddress, Unwrap, hardened, is_podman, labels, orphaned
from doorward_testing import check_light_import


@pytest.mark.slow
def test_light_import() -> None:
    """The SDK of the engine is imported when an engine is asked."""
    check_light_import("doorward_containers")


def test_what_no_container_has() -> None:
    """No network, no privilege, no way to more, nothing of the host, and no log on the engine's disk."""
    made = hardened("{}", memory=2**20, cpus=0.5, processes=7, tmpfs={})
    assert (made["NetworkMode"], made["CapDrop"], made["ReadonlyRootfs"]) == ("none", ["ALL"], True)
    assert made["SecurityOpt"] == ["no-new-privileges", "seccomp={}"]
    assert (made["Memory"], made["MemorySwap"], made["PidsLimit"], made["NanoCpus"]) == (2**20, 2**20, 7, 500_000_000)
    assert made["LogConfig"] == {"Type": "none", "Config": {}}
    assert not {"Binds", "Mounts", "Privileged", "PidMode", "CapAdd", "Devices"} & made.keys()
    assert hardened("", memory=1, cpus=1, processes=1, tmpfs={})["SecurityOpt"] == ["no-new-privileges"]


def test_whose_a_container_is() -> None:
    """One of this process has an owner; one of a process that started at another time has none any more."""
    mine = labels("upstream")
    listed = {"Labels": mine, "State": "running", "Created": 0}
    assert (mine["doorward"], mine["doorward.pid"]) == ("upstream", str(os.getpid()))
    assert not orphaned(listed)
    if Path("/proc/self/stat").exists():
        assert orphaned(listed | {"Labels": mine | {"doorward.started": "1"}})
    assert not orphaned(listed | {"Labels": mine | {"doorward.place": "elsewhere", "doorward.started": "1"}})
    assert orphaned({"Labels": {}, "State": "created", "Created": 0})


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_streams_of_the_engine(size: int) -> None:
    """Standard output comes out whole however it is cut into pieces; the end of standard error is kept."""
    frames = b"".join(
        struct.pack(">BxxxL", kind, len(text)) + text for kind, text in [(1, b"one "), (2, b"oops"), (1, b"two")]
    )
    unwrap = Unwrap()
    out = b"".join(unwrap(frames[at : at + size]) for at in range(0, len(frames), size))
    assert (out, unwrap.said) == (b"one two", b"oops")


def test_an_engine_that_is_not_there(tmp_path: Path) -> None:
    """The error names the place, and the table of the configuration that can name another."""
    with pytest.raises(ExecutorError) as error:
        Engine(EngineAddress(f"unix://{tmp_path}/none", table="[executors.docker]")).wait(lambda client: None)
    assert "cannot be reached: No such file or directory" in error.value.message
    assert error.value.hint is not None
    assert "[executors.docker] host and DOCKER_HOST" in error.value.hint


def test_which_kind_of_engine() -> None:
    """Podman says what it is among its components."""
    told: dict[str, Any] = json.loads('{"Components": [{"Name": "Podman Engine"}]}')
    assert is_podman(told)
    assert not is_podman({"Components": [{"Name": "Engine"}]})
