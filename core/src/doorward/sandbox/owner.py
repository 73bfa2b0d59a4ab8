"""Whose a sandbox is: its gateway's process, which has an id and a time at which it started, for ids are used again."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def start_time(pid: int) -> str:
    """When a process started, in ticks since boot on Linux, "unknown" where nobody can tell; empty if there is none that runs.

    With the process id it names a process until the next boot. Source: proc_pid_stat(5), field 22.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return ""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, 0)
            return "unknown"
        return ""
    except OSError:
        return "unknown"
    return "" if fields[0] in "ZX" else fields[19]
