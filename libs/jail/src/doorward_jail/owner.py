"""Whose a sandbox is: its gateway's process, which has an id and a time at which it started, for ids are used again."""

from __future__ import annotations

import os
from pathlib import Path

UNKNOWN = "unknown"


def start_time(pid: int) -> str:
    """When a process started, in ticks since boot on Linux, "unknown" where nobody can tell; empty if there is none
    that runs.

    With the process id it names a process until the next boot. Source: proc_pid_stat(5), field 22.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:  # there is no /proc, no such process, or one that is hidden from us (proc(5), hidepid)
        return UNKNOWN if _exists(pid) else ""
    except ProcessLookupError:  # it has just ended
        return ""
    except OSError:
        return UNKNOWN
    return "" if fields[0] in "ZX" else fields[19]


def may_run(pid: int, started: str) -> bool:
    """Whether the process of this id and start time may still run. What nobody can tell counts as running."""
    now = start_time(pid)
    return now != "" and (now == started or UNKNOWN in (now, started))


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True
