"""A check of `/dev/null`, which sandboxes need and a careless root user easily breaks."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

NULL_DEVICE = Path("/dev/null")

MEND_HINT = "As root: rm -f /dev/null && mknod -m 666 /dev/null c 1 3 (in a container: start it anew)."


def trouble() -> tuple[str, str] | None:
    """What is wrong with /dev/null, which every program opens when it starts, and what to do; `None` if it is well."""
    if sys.platform != "linux":
        return None
    why = ""
    try:
        found = NULL_DEVICE.stat()
    except OSError as error:
        why = f"cannot be used: {error.strerror}"
    else:
        if not stat.S_ISCHR(found.st_mode) or found.st_rdev != os.makedev(1, 3):
            why = "is not the device that it should be"
        elif stat.S_IMODE(found.st_mode) & 0o666 != 0o666:
            why = f"has the mode {stat.S_IMODE(found.st_mode):o}, so programs cannot open it"
    return (f"{NULL_DEVICE} {why}", MEND_HINT) if why else None
