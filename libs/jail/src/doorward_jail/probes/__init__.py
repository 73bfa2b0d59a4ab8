"""Probes: small programs that try to get out of an executor's sandboxes, and what the host makes of it. They know no
executor."""

from doorward_jail.probes.probe import Probed, probe, summary

__all__ = ["Probed", "probe", "summary"]
