"""An executor made of util-linux: `unshare` and `pivot_root`. What `doorward_jail` needs of a third party is this
much."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from doorward import Capabilities, Limits
from doorward_jail import Isolated, JailExecutor, JailSettings

ROOT = r"""
set -e
mount -t tmpfs tmpfs "$1"; cd "$1"; shift
mkdir -p work tmp dev proc old
for place in /usr /lib /lib64 "$1"; do
  [ -d "$place" ] || continue
  mkdir -p ".$place"; mount --rbind "$place" ".$place"
done
for device in null urandom; do touch dev/$device; mount --bind /dev/$device dev/$device; done
mount -t proc proc proc
shift
PATH=$PATH:/usr/sbin:/usr/bin; pivot_root . old; cd /; umount -l /old
exec "$@"
"""


class UnsharedSettings(JailSettings):
    """`passes_fds`, `fresh` and `room` as an executor may have them."""

    passes_fds: bool = True
    fresh: bool = True
    room: int = 100


class UnsharedExecutor(JailExecutor):
    """Namespaces by `unshare(1)`; without limits of its own."""

    Settings = UnsharedSettings

    def capabilities(self) -> Capabilities:
        return Capabilities("Python", "namespaces", sessions=True)

    async def start(self, command: Sequence[str], limits: Limits) -> Isolated:
        ours, theirs = socket.socketpair()
        errors = tempfile.TemporaryFile()  # noqa: SIM115
        python = os.path.realpath(sys.executable)
        folder = tempfile.mkdtemp()
        process = subprocess.Popen(
            ["unshare", "-Urmpfn", "--kill-child", "sh", "-c", ROOT, "sh", folder, sys.base_prefix, python, *command],
            stdin=theirs, stdout=theirs, stderr=errors, env={"PATH": os.environ["PATH"]},
        )  # fmt: skip
        theirs.close()

        async def kill() -> None:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            inside = [Path("/proc", pid) for pid in children.read_text().split()] if children.exists() else []
            process.kill()
            await asyncio.to_thread(process.wait)
            while any(map(_alive, inside)):
                await asyncio.sleep(0.005)
            shutil.rmtree(folder, ignore_errors=True)

        def said() -> str:
            errors.seek(0)
            return errors.read().decode(errors="replace")

        chosen: Any = self.settings
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
