"""For executors whose jails nsjail makes: derive from `NsjailedExecutor`, and say which Python it starts and what else
the jail shows.

Which nsjail, its policy (`jail.cfg`), control groups, and why a machine refuses all that, is here.
"""

from __future__ import annotations

from doorward_jail.nsjail.executor import NsjailedExecutor, Shows
from doorward_jail.nsjail.interpreter import Interpreter, default_python, interpreter
from doorward_jail.nsjail.settings import NsjailedSettings, Place

__all__ = ["Interpreter", "NsjailedExecutor", "NsjailedSettings", "Place", "Shows", "default_python", "interpreter"]
