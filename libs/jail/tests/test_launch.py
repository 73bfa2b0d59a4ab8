"""The process of a jail, and what is left of it in the gateway."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("jails are a feature of Linux", allow_module_level=True)

from doorward_jail.nsjail import launch

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_nothing_is_left_of_a_jail_whose_pipe_another_process_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else Python complains of the pipe when the gateway ends: its event loop is closed by then."""
    monkeypatch.setattr(launch, "_GRACE_SECONDS", 0.1)
    program = tmp_path / "nsjail"
    program.write_text("#!/bin/sh\nsleep 5 </dev/null >/dev/null &\nwait\n")
    program.chmod(0o755)
    gc.freeze()  # to go through what other tests have left would take seconds
    before = pipes()
    jail = await launch.launch(program, "", ["-"])
    assert len(pipes() - before) == 1
    await jail.kill()
    await asyncio.sleep(0)
    jail.socket.close()
    assert pipes() <= before
    gc.unfreeze()


def pipes() -> set[str]:
    gc.collect()
    held = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            where = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        held |= {where} if where.startswith("pipe:") else set()
    return held
