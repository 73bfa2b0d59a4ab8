"""Third-party packages: built once, read-only in the jail, imported once for all runs.

Installs from the registry that pip is set up for.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from doorward import ExecutorError, Limits, Program
from doorward_jail.nsjail.interpreter import interpreter
from doorward_sandbox_nsjail import NsjailExecutor, NsjailSettings, packages
from doorward_testing import Door

pytestmark = pytest.mark.slow

SMALL = "iniconfig==2.1.0"


def reachable() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", os.devnull, SMALL], capture_output=True
    )
    if b"No matching distribution" in done.stderr:
        pytest.skip("a package registry is absent: none can be reached")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder that the tests of this file share, in which packages are built once."""
    reachable()
    return tmp_path_factory.mktemp("state")


def made(host: Any, state: Path, **settings: Any) -> NsjailExecutor:
    host.folder = state
    return NsjailExecutor(host.context(NsjailSettings, settings))


async def value(executor: NsjailExecutor, code: str) -> Any:
    program, door = Program(code, limits=Limits(memory_bytes=2**30), deadline=time.monotonic() + 60), Door()
    sandbox = await executor.open(program)
    try:
        ended = await sandbox.run(program, door)
    finally:
        await sandbox.close()
    assert ended.error is None, (ended.error, door.printed)
    return ended.value


@pytest.fixture
async def small(host: Any, state: Path) -> AsyncIterator[NsjailExecutor]:
    executor = made(host, state, packages=[SMALL], preload=["iniconfig"])
    await executor.build(print)
    yield executor
    await executor.close()


@pytest.mark.anyio
async def test_preloaded_once(small: NsjailExecutor) -> None:
    """What `preload` names is there when a run begins, and what a run does to it is not there in the next. CONTRACT:
    EXE-10."""
    assert await value(small, "import sys\n'iniconfig' in sys.modules") is True
    await value(small, "import iniconfig\niniconfig.spoilt = 1")
    assert await value(small, "import iniconfig\nhasattr(iniconfig, 'spoilt')") is False


@pytest.mark.anyio
async def test_they_cannot_be_changed(small: NsjailExecutor) -> None:
    """They are read-only, and their names tell nothing of the host's folders."""
    code = "import iniconfig\ntry:\n    open(iniconfig.__file__, 'a')\nexcept OSError as e:\n    result = [iniconfig.__file__, e.errno]"
    place, number = await value(small, code)
    assert place == "/packages/0/iniconfig/__init__.py"
    assert number in (errno.EACCES, errno.EROFS)


@pytest.mark.anyio
async def test_not_built_yet(host: Any, state: Path) -> None:
    """Who forgot to build is told the command; nothing is installed by a run."""
    executor = made(host, state, packages=["iniconfig==1.1.1"])
    with pytest.raises(ExecutorError, match="not installed yet") as raised:
        await executor.open(Program("1"))
    assert raised.value.hint == "doorward sandbox build nsjail"
    await executor.close()


@pytest.mark.anyio
async def test_built_once(host: Any, state: Path) -> None:
    """For each set of packages and each Python one folder; two builders at once make one; the second build is none."""
    one, two = (made(host, state, packages=[SMALL]) for _ in range(2))
    said = await asyncio.gather(one.build(lambda text: None), two.build(lambda text: None))
    assert all(SMALL in text for text in said)
    folder = packages.place(state, await interpreter(sys.executable), [SMALL])
    assert [f for f in folder.parent.iterdir() if f.name.startswith(folder.name)] == [folder]
    assert "already there" in await one.build(lambda text: None)
    assert await value(one, "import iniconfig\niniconfig.__name__") == "iniconfig"
    assert one.capabilities().packages == (SMALL,)
    for executor in (one, two):
        await executor.close()


@pytest.mark.anyio
async def test_a_package_that_is_not_there(host: Any, state: Path) -> None:
    """The installer's words are told, and nothing is left."""
    executor = made(host, state, packages=["iniconfig==99.99"])
    before = set((state / "nsjail").iterdir()) if (state / "nsjail").exists() else set()
    with pytest.raises(ExecutorError, match=r"iniconfig==99\.99"):
        await executor.build(lambda text: None)
    assert set((state / "nsjail").iterdir()) == before


@pytest.mark.anyio
async def test_built_by_uv(host: Any, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Doorward's own environment has no pip, as uv makes them."""
    if not shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"):
        pytest.skip("uv is absent: install it")
    monkeypatch.setattr(packages.importlib.util, "find_spec", lambda name: None)
    executor = made(host, state, packages=["iniconfig==2.0.0"])
    assert "installed" in await executor.build(lambda text: None)
    assert await value(executor, "import iniconfig\niniconfig.__file__") == "/packages/0/iniconfig/__init__.py"
    await executor.close()


@pytest.mark.anyio
async def test_an_environment_of_the_operators(host: Any, state: Path) -> None:
    """`venv` names one that is there; its `.pth` files are not run on the host or in the jail."""
    builder = made(host, state, packages=[SMALL])
    await builder.build(lambda text: None)
    folder = packages.place(state, await interpreter(sys.executable), [SMALL])
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "evil.pth").write_text(f"import os; open({str(state / 'ran')!r}, 'w')")
    executor = made(host, state, venv=str(folder))
    assert executor.capabilities().packages == ["iniconfig"]
    assert await value(executor, "import iniconfig\niniconfig.__file__") == "/packages/0/iniconfig/__init__.py"
    assert not (state / "ran").exists()
    await executor.close()
    (site / "evil.pth").unlink()


@pytest.mark.anyio
async def test_a_folder_that_is_no_environment(host: Any, tmp_path: Path) -> None:
    """It is said, with what belongs there."""
    executor = made(host, tmp_path, venv=str(tmp_path), python=sys.executable)
    with pytest.raises(ExecutorError, match="no virtual environment"):
        await executor.open(Program("1"))
    await executor.close()
