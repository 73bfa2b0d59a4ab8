"""The watchdog, which ends servers if this process dies. A server may ignore the end of its input, and outlive us."""

from __future__ import annotations

from doorward_jail import Watchdog

watchdog = Watchdog("""
sleep 2
for group in $left; do kill -TERM "-$group"; done
sleep 2
for group in $left; do kill -KILL "-$group"; done
""")
"""The watchdog of this process. It guards process groups."""
