"""The table of all trials."""

from __future__ import annotations

from doorward_jail.probes import trials_of_files, trials_of_limits, trials_of_network, trials_of_processes
from doorward_jail.probes.trial import MakeTrial

TRIALS: dict[str, MakeTrial] = {
    "network": trials_of_network.network,
    "host files": trials_of_files.read,
    "system files": trials_of_files.look,
    "writing outside": trials_of_files.write,
    "earlier programs": trials_of_files.earlier,
    "open files": trials_of_files.descriptors,
    "other processes": trials_of_processes.others,
    "environment": trials_of_processes.variables,
    "privileges": trials_of_processes.privileges,
    "memory": trials_of_limits.memory,
    "processes": trials_of_limits.processes,
    "scratch": trials_of_limits.scratch,
    "deadline": trials_of_limits.deadline,
}
