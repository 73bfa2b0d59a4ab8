"""A sandbox that does not start says why: shortly to whoever asked, in full to the log."""

from __future__ import annotations

import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from doorward import ExecutorError, Limits, PluginContext, Program
from doorward_jail.probes import probe
from doorward_testing import Cli, Door

from . import unshared

pytestmark = [pytest.mark.slow, unshared.needs_namespaces]


@pytest.fixture
def logs() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as found:
        yield found


def executor(**settings: Any) -> Any:
    made = unshared.UnsharedSettings(pool=0, start_timeout=20, **settings)
    return unshared.UnsharedExecutor(PluginContext("unshared", made, Path("/nowhere")))


async def refused(made: Any) -> ExecutorError:
    """The error with which a program is refused, by a run and by a probe alike."""
    program = Program("1 + 1", deadline=time.monotonic() + 30)
    try:
        with pytest.raises(ExecutorError) as caught:
            await (await made.open(program)).run(program, Door())
        with pytest.raises(ExecutorError) as again:
            await probe(made, Limits())
        assert again.value.message == caught.value.message
    finally:
        await made.close()
    return caught.value


STARTS = {
    "no null device": ("umount dev/null; rm dev/null", "'/dev/null'"),
    "a null device that cannot be opened": ("mount -o remount,bind,nodev dev/null", "Permission denied: '/dev/null'"),
    "a shell that fails": ("echo no cgroup for us >&2; exit 3", "no cgroup for us"),
    "no room for the root": ("mkdir /proc/1/here", "/proc/1/here"),
    "a limit of open files": ("ulimit -n 5", "Too many open files"),
    "silence": ("exit 3", "it said nothing"),
}
"""By subject: what is done in the jail before its Python starts, and what the reason has."""


@pytest.mark.anyio
@pytest.mark.parametrize("what", STARTS)
async def test_a_jail_that_does_not_start(monkeypatch: pytest.MonkeyPatch, logs: list[Any], what: str) -> None:
    """Its last words are the reason, on one line; the log has all of them."""
    step, reason = STARTS[what]
    monkeypatch.setattr(unshared, "ROOT", unshared.ROOT.replace("pivot_root", f"{step}\npivot_root"))
    error = await refused(executor())
    assert error.message.startswith("the sandbox's Python ended at once: ")
    assert reason.lower() in error.message.lower()
    assert len(error.message) < 300
    assert "\n" not in error.message
    told = next(each for each in logs if each["event"] == "jail_not_started")
    assert (told["log_level"], told["why"] in error.message) == ("warning", True)
    assert what == "silence" or reason.lower() in told["said"].lower()


SANDBOXES = {
    "no folder to work in": ("umount work; rmdir work", "No such file or directory: '/work'"),
    "a folder that is none": ("umount work; rmdir work; touch work", "Not a directory: '/work'"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("passes_fds", [True, False])
@pytest.mark.parametrize("what", SANDBOXES)
async def test_a_sandbox_that_does_not_start(
    monkeypatch: pytest.MonkeyPatch, logs: list[Any], what: str, passes_fds: bool
) -> None:
    """What its own process said, which is not the jail's, is the reason."""
    step, reason = SANDBOXES[what]
    monkeypatch.setattr(unshared, "ROOT", unshared.ROOT.replace("pivot_root", f"{step}\npivot_root"))
    error = await refused(executor(fresh=False, passes_fds=passes_fds, room=1))
    assert error.message.startswith("a sandbox did not start: ")
    assert reason in error.message
    assert any(each["event"] == "jail_not_started" and reason in each["said"] for each in logs)


@pytest.mark.anyio
async def test_a_python_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither is a program that should have started it a defect of ours."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert "/python" in (await refused(executor())).message
    monkeypatch.setenv("PATH", str(tmp_path))
    error = await refused(executor())
    assert error.message.startswith("the sandbox's Python cannot be started: ")
    assert "No such file or directory: 'unshare'" in error.message
    (tmp_path / "unshare").write_text("#!/bin/sh\necho unshare: unshare failed: Operation not permitted >&2; exit 1\n")
    (tmp_path / "unshare").chmod(0o755)
    assert "unshare failed: Operation not permitted" in (await refused(executor())).message
    (tmp_path / "unshare").chmod(0o644)
    assert "Permission denied: 'unshare'" in (await refused(executor())).message


@pytest.mark.anyio
async def test_a_jail_that_is_never_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how long that took, and what was said by then."""
    steps = "echo waiting for a lock >&2; sleep 60\npivot_root"
    monkeypatch.setattr(unshared, "ROOT", unshared.ROOT.replace("pivot_root", steps))
    made = unshared.UnsharedExecutor(
        PluginContext("unshared", unshared.UnsharedSettings(pool=0, start_timeout=1), Path("/nowhere"))
    )
    error = await refused(made)
    assert error.message == "the sandbox's Python was not ready after 1 s: waiting for a lock"


def test_the_operator_and_the_agent_are_told(cli: Cli, doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By `sandbox probe`, `doctor` and a run: each has the reason, and the first two the executor's name."""
    monkeypatch.setattr(
        unshared, "ROOT", unshared.ROOT.replace("pivot_root", "umount dev/null; rm dev/null\npivot_root")
    )
    doorward_host.install_real("sandbox")
    doorward_host.install("executor", "unshared", unshared.UnsharedExecutor)
    doorward_host.write('executor = ["unshared"]\nplugins = []\n[executors.unshared]\npool = 0')
    (program := doorward_host.folder / "program.py").write_text("1 + 1")
    told: list[Callable[[], Any]] = [
        lambda: cli("sandbox", "probe").out,
        lambda: cli("doctor").out,
    ]
    for each in told:
        text = each()
        assert "unshared" in text
        assert "'/dev/null'" in text
    ended = cli("run", str(program), "--json").json["error"]
    assert ended["kind"] == "executor"
    assert "No such file or directory: '/dev/null'" in ended["message"]
    assert "Traceback" not in str(ended)
    assert "zygote" not in str(ended)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
