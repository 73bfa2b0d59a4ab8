"""For executors of full CPython: derive from `JailExecutor` and say how a Python is started in isolation.

The rest is here: warm sandboxes, sessions, frames (`connections/`), the list of system calls, and the code that runs in
a sandbox (`inside/`). `doorward_jail.probes` tests whether an executor isolates.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward_jail.awaited_calls import awaited as awaited
    from doorward_jail.bootstrap import PYTHON_ENVIRONMENT as PYTHON_ENVIRONMENT
    from doorward_jail.executor import JailExecutor as JailExecutor
    from doorward_jail.executor import JailSettings as JailSettings
    from doorward_jail.isolated import Account as Account
    from doorward_jail.isolated import Isolated as Isolated
    from doorward_jail.nsjail.executor import NsjailedExecutor as NsjailedExecutor
    from doorward_jail.nsjail.interpreter import Interpreter as Interpreter
    from doorward_jail.nsjail.interpreter import default_python as default_python
    from doorward_jail.nsjail.interpreter import interpreter as interpreter
    from doorward_jail.nsjail.settings import NsjailedSettings as NsjailedSettings
    from doorward_jail.nsjail.settings import Place as Place
    from doorward_jail.nsjail.shows import Shows as Shows
    from doorward_jail.owner import may_run as may_run
    from doorward_jail.owner import start_time as start_time
    from doorward_jail.probes import probe as probe
    from doorward_jail.seccomp import docker_profile as docker_profile
    from doorward_jail.seccomp import kafel_policy as kafel_policy
    from doorward_jail.speech import Speech as Speech

__all__ = [
    "PYTHON_ENVIRONMENT",
    "Account",
    "Interpreter",
    "Isolated",
    "JailExecutor",
    "JailSettings",
    "NsjailedExecutor",
    "NsjailedSettings",
    "Place",
    "Shows",
    "Speech",
    "awaited",
    "default_python",
    "docker_profile",
    "interpreter",
    "kafel_policy",
    "may_run",
    "probe",
    "start_time",
]

_ELSEWHERE = {
    "PYTHON_ENVIRONMENT": "bootstrap",
    "Account": "isolated",
    "Isolated": "isolated",
    "JailExecutor": "executor",
    "JailSettings": "executor",
    "Speech": "speech",
    "awaited": "awaited_calls",
    "docker_profile": "seccomp",
    "kafel_policy": "seccomp",
    "may_run": "owner",
    "start_time": "owner",
    "Interpreter": "nsjail.interpreter",
    "NsjailedExecutor": "nsjail.executor",
    "NsjailedSettings": "nsjail.settings",
    "Place": "nsjail.settings",
    "Shows": "nsjail.shows",
    "default_python": "nsjail.interpreter",
    "interpreter": "nsjail.interpreter",
    "probe": "probes",
}
"""What is imported when it is asked for: who starts jails of another kind, or none, needs little of it."""


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return getattr(import_module(f"doorward_jail.{_ELSEWHERE[name]}"), name)
    raise AttributeError(f"module 'doorward_jail' has no attribute {name!r}")
