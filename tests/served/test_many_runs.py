"""Many runs, several at once, some of them killed: nothing of them is left. `DOORWARD_RUNS` says how many."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w
from doorward import Gateway

from .product import needs_proc, until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="counts namespaces, mounts and control groups of Linux"),
    needs_proc,
    pytest.mark.alone,
]

RUNS = int(os.environ.get("DOORWARD_RUNS", "300"))
AT_ONCE = 8
PROGRAMS = [
    "1 + 1",
    "print('x' * 1000)\nopen('a', 'w').write('x' * 100_000)",
    "import os\nos._exit(1)",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n2",
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\n3",
    "1 / 0",
    "import tempfile, socket\na = socket.socketpair(), tempfile.mkdtemp()\n4",
]
ENDLESS = "while True: pass"


def namespaces() -> set[str]:
    found = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            for kind in ("mnt", "pid", "user", "net", "ipc", "uts", "cgroup"):
                try:
                    found.add(os.readlink(process / "ns" / kind))
                except OSError:
                    continue
    return found


def jails() -> set[str]:
    found = set()
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and b"doorward_jail.inside" in (process / "cmdline").read_bytes():
                found.add(process.name)
        except OSError:
            continue
    return found


def groups() -> set[str]:
    return {str(path) for path in Path("/sys/fs/cgroup").glob("**/*doorward*")}


def mounts() -> set[str]:
    return set(Path("/proc/self/mounts").read_text().splitlines())


def files() -> set[str]:
    return set(os.listdir(tempfile.gettempdir()))


LEFTOVERS: dict[str, Callable[[], set[str]]] = {
    "processes": jails,
    "namespaces": namespaces,
    "mounts": mounts,
    "control groups": groups,
    "temporary files": files,
}


async def many(gate: Gateway, count: int) -> None:
    """So many runs, some at once, every fiftieth until its deadline."""
    numbers = iter(range(count))

    async def agent() -> None:
        for number in numbers:
            if number % 50 == 49:
                outcome = await gate.execute(ENDLESS, timeout=0.3)
                assert outcome.error is not None
                assert outcome.error.kind == "limit", outcome.error
            else:
                outcome = await gate.execute(PROGRAMS[number % len(PROGRAMS)])
                assert outcome.ok or outcome.error.type in ("SandboxDied", "ZeroDivisionError"), outcome.error  # type: ignore[union-attr]

    await asyncio.gather(*(agent() for _ in range(AT_ONCE)))


@pytest.mark.anyio
@pytest.mark.parametrize("executor", ["nsjail", "docker"])
async def test_many_runs_leave_nothing(
    executor: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process, container, mount, control group, namespace, file descriptor or temporary file. CONTRACT: SBX-24,
    EXE-10, EXE-23."""
    engine = request.getfixturevalue("engine") if executor == "docker" else None
    settings = engine.settings(engine.build()) if engine else {}
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    config = {
        "state": "state", "executor": executor, "plugins": [], "cache": "none", "executors": {executor: settings | {"most": AT_ONCE}},
        "limits": {"rate": 1_000_000, "timeout": 60},
    }  # fmt: skip
    (tmp_path / "doorward.toml").write_text(tomli_w.dumps(config))
    before = {what: count() for what, count in LEFTOVERS.items()}
    async with Gateway.open(tmp_path / "doorward.toml", compile=False) as gate:
        await many(gate, 30)
        descriptors = len(os.listdir("/proc/self/fd"))
        await many(gate, RUNS)
        while len(os.listdir("/proc/self/fd")) > descriptors + 4 * AT_ONCE:
            await asyncio.sleep(0.1)
    for what, count in LEFTOVERS.items():
        assert until(lambda c=count, w=what: c() <= before[w]), f"{what}: {sorted(count() - before[what])[:20]}"  # type: ignore[misc]
    if engine:
        assert engine.empty(), engine.containers()
