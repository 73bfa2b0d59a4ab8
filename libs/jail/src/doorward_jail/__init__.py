"""What executors of full CPython share: derive from `JailExecutor` and say how a Python is started in isolation.

Everything else is here: the programs' side (`inside/`), frames, sessions, warm sandboxes, the list of system calls.
`doorward_jail.probes` shows whether an executor isolates.
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
