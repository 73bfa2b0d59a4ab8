"""The environment of servers that we start: next to nothing of ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from doorward import Template

NESTED_VARIABLE = "DOORWARD_NESTED"
"""Set for every server that Doorward starts, so that a nested Doorward starts no servers."""

_PASSED_VARIABLES = {"PATH", "HOME", "LANG", "LANGUAGE", "TERM", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ"}
_PASSED_VARIABLES_WINDOWS = {
    "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR",
}  # fmt: skip


async def of_child(given: Mapping[str, Template], *, nested: bool) -> dict[str, str]:
    """The environment of a server: that of its entry, and of ours only what every program needs. With `nested` the
    server is told that Doorward has started it.

    Raises: MissingSecret.
    """
    windows = sys.platform == "win32"
    passed = {
        name: value
        for name, value in os.environ.items()
        if (
            name.upper() in _PASSED_VARIABLES_WINDOWS
            if windows
            else name in _PASSED_VARIABLES or name.startswith("LC_")
        )
        and not value.startswith("()")
    }
    return (
        passed | ({NESTED_VARIABLE: "1"} if nested else {}) | {name: await value.get() for name, value in given.items()}
    )
