"""Where there is no Deno, or none that will do, the executor says so and runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward import ExecutorError, Program
from doorward_sandbox_deno import DenoExecutor, DenoSettings

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def refused(host: Any, **settings: Any) -> ExecutorError:
    executor = DenoExecutor(host.context(DenoSettings, settings, name="deno"))
    try:
        with pytest.raises(ExecutorError) as raised:
            await executor.open(Program("1 + 1", language="typescript"))
        return raised.value
    finally:
        await executor.close()


async def test_no_deno(host: Any) -> None:
    """The message names the program that is not there, and the setting."""
    error = await refused(host, deno="/nowhere/deno")
    assert "/nowhere/deno" in error.message
    assert "[executors.deno]" in (error.hint or "")


async def test_an_old_deno(host: Any, tmp_path: Path) -> None:
    """An older one is refused, with the version that is needed."""
    old = tmp_path / "deno"
    old.write_text("#!/bin/sh\necho 'deno 2.8.1 (stable)'\n")
    old.chmod(0o755)
    error = await refused(host, deno=str(old))
    assert "is Deno 2.8.1; 2.9 or newer is needed" in error.message


async def test_no_jail(host: Any, tmp_path: Path) -> None:
    """Deno's permissions alone are no isolation: without nsjail nothing runs."""
    error = await refused(host, nsjail="/nowhere/nsjail")
    assert "/nowhere/nsjail" in error.message
    assert "[executors.deno]" in (error.hint or "")


def test_capabilities(host: Any) -> None:
    """What it says of itself is found without starting anything."""
    can = DenoExecutor(host.context(DenoSettings, {"cgroup": "off"}, name="deno")).capabilities()
    assert can.languages == ("typescript", "javascript")
    assert (can.one_process, can.files, can.network, can.sessions) == (True, False, False, True)
    assert "rlimit" in can.limits["memory"]
