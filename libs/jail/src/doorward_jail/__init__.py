"""For executors of full CPython: derive from `JailExecutor` and say how a Python is started in isolation.

The rest is here: warm sandboxes, sessions, frames (`connections/`), the list of system calls, and the code that runs in
a sandbox (`inside/`). `doorward_jail.probes` tests whether an executor isolates.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "awaited_calls": "awaited",
        "bootstrap": "PYTHON_ENVIRONMENT",
        "executor": "JailExecutor JailSettings",
        "isolated": "Account Isolated",
        "nsjail.executor": "NsjailedExecutor",
        "nsjail.interpreter": "Interpreter default_python interpreter",
        "nsjail.settings": "NsjailedSettings Place",
        "nsjail.shows": "Shows",
        "owner": "may_run start_time",
        "probes": "probe",
        "program_parameters": "bind",
        "program_text": "sets_result",
        "reading": "ReadsPython",
        "seccomp": "docker_profile kafel_policy",
        "speech": "Speech",
        "watchdog": "Watchdog",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
