"""`doorward demo`, end to end."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from doorward_demo import data, leaks, stage, story
from doorward_demo.told import Told

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "doorward", "demo"]
KEY = re.compile(r"demo-[\w-]{20,}")
STEPS = ["compile", "connect", "search", "get", "execute", "again", "guard", "wall", "key"]


def environment(folder: Path) -> dict[str, str]:
    """An environment by which every process of a demo can be told: its home is this folder, as is its temporary one."""
    return {**os.environ, "HOME": str(folder), "TMPDIR": str(folder)}


def processes(folder: Path) -> list[int]:
    """The processes that live in this environment."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"HOME={folder}\0".encode() in file.read_bytes():
                found.append(int(file.parent.name))
    return found


def gone(folder: Path) -> bool:
    """Whether all of them end soon."""
    end = time.monotonic() + 60
    while processes(folder) and time.monotonic() < end:
        time.sleep(0.05)
    return not processes(folder)


def test_every_step_does_what_it_should(tmp_path: Path) -> None:
    """With --json the demo tells each step with its checks, the tokens and the times, never the key, and leaves
    nothing."""
    ran = subprocess.run([*COMMAND, "--json"], env=environment(tmp_path), capture_output=True, text=True, timeout=100)
    told = json.loads(ran.stdout)
    assert (ran.returncode, told["failed"], ran.stderr) == (0, [], "")
    assert [step["name"] for step in told["steps"]] == STEPS
    assert all(step["checks"] and all(step["checks"].values()) for step in told["steps"])
    assert '"overdue":12,' in told["steps"][4]["seen"]
    assert told["tokens"]["with_doorward"]["all"] < told["tokens"]["with_a_tool_for_each_operation"]["all"]
    assert 0 < told["seconds"]["first_output"] < told["seconds"]["all"]
    assert not KEY.search(ran.stdout)
    assert gone(tmp_path)
    assert not list(tmp_path.glob("doorward-demo-*"))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads the environment of processes in /proc")
@pytest.mark.parametrize(("ending", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", -9)])
def test_an_interrupted_demo_leaves_no_process(tmp_path: Path, ending: str, code: int) -> None:
    """However it is ended, its processes end, too; and unless it is killed, its folder goes."""
    import fcntl

    demo = subprocess.Popen(
        COMMAND, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert demo.stdout is not None
    fcntl.fcntl(demo.stdout, fcntl.F_SETPIPE_SZ, 4096)  # it cannot come to its end while nobody reads
    assert any("library.list_loans -> " in line for line in demo.stdout)  # the API and the server are at work
    demo.send_signal(signal.SIGSTOP)  # or it could be over before it is interrupted
    assert len(processes(tmp_path)) >= 3
    demo.send_signal(getattr(signal, ending))
    demo.send_signal(signal.SIGCONT)
    rest = demo.stdout.read()
    assert demo.wait(100) == code
    assert "Traceback" not in rest
    assert gone(tmp_path)
    assert ending == "SIGKILL" or not list(tmp_path.glob("doorward-demo-*"))


def test_the_key_is_in_nothing_that_is_written(tmp_path: Path) -> None:
    """With a key of our choice and the folder kept, no file and nothing told holds it, in any encoding that core
    knows."""
    from doorward.secrets.variants import forms

    canary = 'demo-c4n+ry/&<"=%~9ZqW'
    told = Told(lambda step: None)
    asyncio.run(story.play(told, stage.Stage(tmp_path, canary)))
    assert told.failed == []
    contents = {str(file): file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} | {
        "told": json.dumps(told.as_dict()).encode()
    }
    assert {"catalog.db", "store.db", stage.AUDIT, "serve.stderr", "doorward.toml"} <= {
        Path(name).name for name in contents
    }
    assert not [(name, needle) for name, content in contents.items() for needle in forms(canary) if needle in content]


def test_a_step_that_fails_fails_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong answer is a check that does not hold, and the demo is not ok."""
    monkeypatch.setattr(data, "missing", lambda branch: {"branch": "elsewhere"})
    told = Told(lambda step: None)
    asyncio.run(story.play(told, stage.Stage(tmp_path, "demo-key-of-the-tests")))
    assert told.failed == ["execute: the answer is right", "again: this answer is right, too"]
    assert not told.ok


@pytest.mark.parametrize(
    "disguised",
    [
        lambda key: key,
        lambda key: key[::-1],
        lambda key: key.encode().hex(),
        lambda key: "".join(f"%{b:02X}" for b in key.encode()),
        *(
            lambda key, before=before: base64.b64encode(f"{before}{key} and more".encode()).decode()
            for before in ("", "x", "xy")
        ),
        *(
            lambda key, before=before: base64.urlsafe_b64encode(f"{before}{key}".encode()).decode()
            for before in ("", "x", "xy")
        ),
    ],
)
def test_the_search_finds_a_key_in_disguise(disguised: Any) -> None:
    """What the demo relies on at its end: a key is found in each encoding, and is not found where it is not."""
    key = "demo-hPq~8?aZ-tV3_kW0"
    assert leaks.holds(key, f"…{disguised(key)}…")
    assert not leaks.holds(key, disguised("demo-of another key"))
