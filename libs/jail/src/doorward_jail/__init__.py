"""What executors of full CPython share: derive from `JailExecutor` and say how a Python is started in isolation.

Everything else is here: the programs' side (`inside/`), frames, sessions, warm sandboxes, the list of system calls, probes.
"""

from doorward_jail.executor import JailExecutor as JailExecutor
from doorward_jail.executor import JailSettings as JailSettings
from doorward_jail.jail import Account as Account
from doorward_jail.jail import Isolated as Isolated
from doorward_jail.owner import may_run as may_run
from doorward_jail.owner import start_time as start_time
from doorward_jail.seccomp import docker_profile as docker_profile
from doorward_jail.seccomp import kafel_policy as kafel_policy
