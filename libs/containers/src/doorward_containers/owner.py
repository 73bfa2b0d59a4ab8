"""Who owns a container: labels that name the gateway's process, and the removal of containers whose gateway is dead."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward_jail import may_run, start_time

if TYPE_CHECKING:
    from docker import APIClient

LABEL = "doorward"
_PLACE, _PID, _STARTED = "doorward.place", "doorward.pid", "doorward.started"
_UNSTARTED_SECONDS = 600.0
"""After this time, a container that was made and never started has no owner any more."""

_A_PID = re.compile("[1-9][0-9]{0,9}")


@cache
def _place() -> str:
    """The scope in which process ids are valid: this boot of this machine, and the process namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def labels(kind: str) -> dict[str, str]:
    """The labels of a container of this kind that this process owns."""
    pid = os.getpid()
    return {LABEL: kind, _PLACE: _place(), _PID: str(pid), _STARTED: start_time(pid)}


def orphaned(container: Mapping[str, Any]) -> bool:
    """Whether a container, as the engine lists it, can have no owner any more. Containers of another
    machine are not ours to judge."""
    about: Mapping[str, str] = container["Labels"]
    if container["State"] == "created" and time.time() - container["Created"] > _UNSTARTED_SECONDS:
        return True
    pid = about.get(_PID, "")
    if about.get(_PLACE) != _place() or not _A_PID.fullmatch(pid):
        return False
    return not may_run(int(pid), about.get(_STARTED, ""))


def sweep(client: APIClient, kind: str) -> int:
    """Remove the containers of this kind whose gateways are dead. Returns: how many.

    Containers end by themselves with their gateway: this is for those that were never started, that go on without
    their input, or that an engine lost track of in a crash.
    """
    from docker.errors import APIError

    found = [one for one in client.containers(all=True, filters={"label": f"{LABEL}={kind}"}) if orphaned(one)]
    for one in found:
        with contextlib.suppress(APIError):
            client.remove_container(one["Id"], force=True, v=True)
    return len(found)
