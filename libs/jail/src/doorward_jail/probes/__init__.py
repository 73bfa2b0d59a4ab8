"""Probes of isolation: small programs that try to get out of the sandboxes of any executor.

Never anything that knows a particular executor.
"""

from doorward_jail.probes.probe import Probed, probe, summary

__all__ = ["Probed", "probe", "summary"]
