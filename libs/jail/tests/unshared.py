"""An executor made of util-linux: `unshare`, `pivot_root`, `setpriv` and `prlimit`. What `doorward_jail` needs of a third
party is this much.

Memory is bounded for each process; a control group, which not everybody may make, would bound it for all together.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from doorward import Capabilities, Limits
from doorward_jail import PYTHON_ENVIRONMENT, Isolated, JailExecutor, JailSettings

ROOT = r"""
set -e; umask 022; PATH=$PATH:/usr/sbin:/usr/bin
size=$1 inodes=$2 processes=$3 prefix=$5; cd "$4"; shift 5
mount -t tmpfs -o size=1m,mode=755 tmpfs .; cd "$PWD"
mkdir -p work tmp dev proc old
for place in work tmp; do
  mount -t tmpfs -o "size=$size,nr_inodes=$inodes,mode=1777,nosuid,nodev,noexec" tmpfs $place
done
for place in /usr /lib /lib64 "$prefix"; do
  [ -d "$place" ] || continue
  mkdir -p ".$place"; mount --bind "$place" ".$place"; mount -o remount,bind,ro,nosuid,nodev ".$place"
done
for device in null urandom; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mount -t proc proc proc
pivot_root . old; cd /; umount -l /old; mount -o remount,bind,ro /
exec $become unshare -U --map-user=1000 --map-group=1000 setpriv --no-new-privs prlimit --nproc="$processes" "$@"
"""
"""As root of its own mount namespace: read-only folders, bounded scratch space, no other file. Then an ordinary user in a
user namespace, without capabilities, whose processes the kernel counts there."""

BECOME = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all"
"""What root does first: a program of root's would be limited by no number of processes, and own the host's files."""


class UnsharedSettings(JailSettings):
    """`passes_fds`, `fresh` and `room` as an executor may have them."""

    passes_fds: bool = True
    fresh: bool = True
    room: int = 100


class UnsharedExecutor(JailExecutor):
    """Namespaces by `unshare(1)`."""

    Settings = UnsharedSettings

    def capabilities(self) -> Capabilities:
        return Capabilities(
            "Python", "namespaces, read-only folders, an ordinary user", sessions=True, files=True, repeats=True
        )

    async def start(self, command: Sequence[str], limits: Limits) -> Isolated:
        chosen: Any = self.settings
        ours, theirs = socket.socketpair()
        errors = tempfile.TemporaryFile()  # noqa: SIM115
        python, folder = os.path.realpath(sys.executable), tempfile.mkdtemp()
        # The zygote and its relay count, too, and two more for each sandbox with namespaces of its own.
        processes = 2 + ((limits.processes + 2) * chosen.room if chosen.fresh else limits.processes)
        root = os.geteuid() == 0
        sizes = [str(each) for each in (int(chosen.scratch), chosen.inodes, processes)]
        try:
            process = subprocess.Popen(
                ["unshare", "-mpfniu" if root else "-Urmpfniu", "--kill-child", "sh", "-c", ROOT, "sh",
                 *sizes, folder, sys.base_prefix, python, *command],
                stdin=theirs, stdout=theirs, stderr=errors,
                env={"PATH": os.environ["PATH"], "become": BECOME if root else "", **PYTHON_ENVIRONMENT},
            )  # fmt: skip
        except OSError:
            shutil.rmtree(folder)
            raise
        theirs.close()

        async def kill() -> None:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            inside = [Path("/proc", pid) for pid in children.read_text().split()] if children.exists() else []
            for first in inside:  # --kill-child ends it only until it has become another user
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(first.name), signal.SIGKILL)
            process.kill()
            await asyncio.to_thread(process.wait)
            while any(map(_alive, inside)):
                await asyncio.sleep(0.005)
            shutil.rmtree(folder, ignore_errors=True)

        def said() -> str:
            errors.seek(0)
            return errors.read().decode(errors="replace")

        config = {"fresh": chosen.fresh, "memory": limits.memory_bytes}
        return Isolated(ours, kill, said, passes_fds=chosen.passes_fds, room=chosen.room, config=config)


def _alive(process: Path) -> bool:
    """Whether it is there, and no zombie that its new parent has not seen yet."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _works() -> bool:
    try:
        return subprocess.run(["unshare", "-Urmpfn", "true"], capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


needs_namespaces = pytest.mark.skipif(
    not _works(), reason="user namespaces are not allowed here, or there is no unshare(1)"
)
