"""For executors of full CPython: derive from `JailExecutor` and say how a Python is started in isolation.

The rest is here: warm sandboxes, sessions, frames (`connections/`), the list of system calls, and the code that runs in
a sandbox (`inside/`). `doorward_jail.probes` tests whether an executor isolates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorward_jail.executor import JailExecutor, JailSettings
from doorward_jail.isolated import Account, Isolated
from doorward_jail.owner import may_run, start_time
from doorward_jail.seccomp import docker_profile, kafel_policy
from doorward_jail.speech import Speech

if TYPE_CHECKING:
    from doorward_jail.probes import probe as probe

__all__ = [
    "Account",
    "Isolated",
    "JailExecutor",
    "JailSettings",
    "Speech",
    "docker_profile",
    "kafel_policy",
    "may_run",
    "probe",
    "start_time",
]


def __getattr__(name: str) -> Any:
    if name == "probe":  # who only starts jails needs none
        from doorward_jail.probes import probe

        return probe
    raise AttributeError(f"module 'doorward_jail' has no attribute {name!r}")
