"""What executors of full CPython share: derive from `JailExecutor` and say how a Python is started in isolation.

Everything else is here: the programs' side (`inside/`), frames, sessions, warm sandboxes, the list of system calls, probes.
"""

from doorward.sandbox.executor import JailExecutor as JailExecutor
from doorward.sandbox.executor import JailSettings as JailSettings
from doorward.sandbox.jail import Account as Account
from doorward.sandbox.jail import Isolated as Isolated
from doorward.sandbox.owner import may_run as may_run
from doorward.sandbox.owner import start_time as start_time
from doorward.sandbox.seccomp import docker_profile as docker_profile
from doorward.sandbox.seccomp import kafel_policy as kafel_policy
