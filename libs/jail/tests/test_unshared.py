"""The example of an executor holds, for root and for others; and each of its walls is one that the probes miss."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import doorward
import doorward_jail
import doorward_testing
import pytest
from doorward import Limits, PluginContext
from doorward_jail.probes import probe
from doorward_jail.probes.trials import TRIALS

from . import unshared

EXAMPLE = Path(__file__).parent / "unshared.py"

pytestmark = [pytest.mark.slow, unshared.needs_namespaces]

LIMITS = Limits(memory_bytes=128 * 2**20, processes=32)
USER = 23456
"""An ordinary user's number that nobody has."""


async def missed(**settings: Any) -> set[str]:
    """The probes that did not hold."""
    made = unshared.UnsharedSettings(pool=0, scratch=16 * 2**20, **settings)
    executor = unshared.UnsharedExecutor(PluginContext("unshared", made, Path("/nowhere")))
    try:
        return {each.probe for each in await probe(executor, LIMITS) if not each.held}
    finally:
        await executor.close()


ROOTS = {
    "writable folders": {"mount -o remount,bind,ro,nosuid,nodev": "true", "$become": ""},
    "a program of root's": {"$become unshare -U --map-user=1000 --map-group=1000": "", "setpriv --no-new-privs": ""},
    "no limit of processes": {'prlimit --nproc="$processes"': ""},
    "files of the system": {"for place in /usr ": "for place in /usr /etc /tmp "},
}
FOUND = {
    "writable folders": "writing outside",
    "a program of root's": "processes",
    "no limit of processes": "processes",
    "files of the system": "system files",
}


@pytest.mark.anyio
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="what only root could do")
@pytest.mark.parametrize("without", ROOTS)
async def test_each_wall_is_missed(monkeypatch: pytest.MonkeyPatch, without: str) -> None:
    """Where root leaves one out, the probe for it finds that."""
    script = unshared.ROOT
    for wall, instead in ROOTS[without].items():
        assert wall in script
        script = script.replace(wall, instead)
    monkeypatch.setattr(unshared, "ROOT", script)
    for other in TRIALS.keys() - {FOUND[without], "open files", "earlier programs"}:
        monkeypatch.delitem(TRIALS, other)
    assert FOUND[without] in await missed(passes_fds=False, room=1, fresh=False)


@pytest.mark.anyio
@pytest.mark.parametrize("fresh", [True, False])
async def test_nothing_is_missed(fresh: bool) -> None:
    """With namespaces for each sandbox, and with a jail for each run."""
    assert await missed(fresh=fresh, **({} if fresh else {"passes_fds": False, "room": 1})) == set()


AS_ANOTHER = """
import anyio, importlib.util, sys
from doorward import Limits, PluginContext
from doorward_jail.probes import probe
from pathlib import Path
spec = importlib.util.spec_from_file_location("unshared", sys.argv[1])
unshared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(unshared)

async def main():
    settings = unshared.UnsharedSettings(pool=0, scratch=16 * 2**20)
    executor = unshared.UnsharedExecutor(PluginContext("unshared", settings, Path("/nowhere")))
    found = await probe(executor, Limits(memory_bytes=128 * 2**20, processes=32))
    await executor.close()
    print(len(found), [(each.probe, each.says) for each in found if not each.held])

anyio.run(main)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root becomes another user")
def test_an_ordinary_user_has_the_same_walls() -> None:
    """Who is not root makes the same jails, by a user namespace."""
    sources = [Path(module.__file__).parents[1] for module in (doorward, doorward_jail, doorward_testing)]
    paths = dict.fromkeys([*(p for p in sys.path if p.endswith("-packages")), *map(str, sources)])
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    options: dict[str, Any] = {"env": environ, "cwd": "/", "user": USER, "group": USER, "extra_groups": []}
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        with contextlib.suppress(OSError):
            words = [python, "-c", f"open({str(EXAMPLE)!r}); import doorward_jail, pytest"]
            if subprocess.run(words, **options, capture_output=True).returncode == 0:
                break
    else:
        pytest.skip(f"{name} that an ordinary user can run is absent: there is none, or this folder is closed to one")
    ended = subprocess.run([python, "-c", AS_ANOTHER, str(EXAMPLE)], **options, capture_output=True, text=True)
    assert ended.stdout.partition(" ")[2] == "[]\n", ended.stdout + ended.stderr
