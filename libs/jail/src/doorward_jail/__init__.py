"""For executors of full CPython: derive from `JailExecutor` and say how a Python is started in isolation.

The rest is here: warm sandboxes, sessions, frames (`connections/`), the list of system calls, and the code that runs in
a sandbox (`inside/`). `doorward_jail.probes` tests whether an executor isolates.
"""

from doorward_jail.executor import JailExecutor, JailSettings
from doorward_jail.isolated import Account, Isolated
from doorward_jail.owner import may_run, start_time
from doorward_jail.seccomp import docker_profile, kafel_policy

__all__ = [
    "Account",
    "Isolated",
    "JailExecutor",
    "JailSettings",
    "docker_profile",
    "kafel_policy",
    "may_run",
    "start_time",
]
