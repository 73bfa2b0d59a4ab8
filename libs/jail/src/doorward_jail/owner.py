"""The gateway's process that owns a sandbox, named by id and start time, since process ids are used again."""

from __future__ import annotations

import os
from pathlib import Path

UNKNOWN = "unknown"


def start_time(pid: int) -> str:
    """When a process started, in ticks since boot on Linux; "unknown" where the system does not tell, and empty if the
    process does not run.

    Together with its id this names a process until the next boot. Source: proc_pid_stat(5), field 22.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:  # no /proc, no such process, or a hidden one (proc(5), hidepid)
        return UNKNOWN if _exists(pid) else ""
    except ProcessLookupError:  # it has just ended
        return ""
    except OSError:
        return UNKNOWN
    return "" if fields[0] in "ZX" else fields[19]


def may_run(pid: int, started: str) -> bool:
    """Whether the process of this id and start time may still run. If the system does not tell, it counts as
    running."""
    now = start_time(pid)
    return now != "" and (now == started or UNKNOWN in (now, started))


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True
