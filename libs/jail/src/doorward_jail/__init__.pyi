# `make reference` writes this file.
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
from doorward_jail.program_parameters import bind as bind
from doorward_jail.program_text import sets_result as sets_result
from doorward_jail.reading import ReadsPython as ReadsPython
from doorward_jail.seccomp import docker_profile as docker_profile
from doorward_jail.seccomp import kafel_policy as kafel_policy
from doorward_jail.speech import Speech as Speech
from doorward_jail.watchdog import Watchdog as Watchdog

__all__ = [
    "Account",
    "Interpreter",
    "Isolated",
    "JailExecutor",
    "JailSettings",
    "NsjailedExecutor",
    "NsjailedSettings",
    "PYTHON_ENVIRONMENT",
    "Place",
    "ReadsPython",
    "Shows",
    "Speech",
    "Watchdog",
    "awaited",
    "bind",
    "default_python",
    "docker_profile",
    "interpreter",
    "kafel_policy",
    "may_run",
    "probe",
    "sets_result",
    "start_time",
]
