"""Executors whose jails nsjail makes: which nsjail, its policy (`jail.cfg`), control groups, and why a machine refuses
all that. Derive from `NsjailedExecutor`, and say which Python it starts and what else the jail shows."""
