"""What ends servers when this process cannot: one that does not end at the end of its input would outlive us."""

from __future__ import annotations

from doorward import Watchdog

watchdog = Watchdog("""
sleep 2
for group in $left; do kill -TERM "-$group"; done
sleep 2
for group in $left; do kill -KILL "-$group"; done
""")
"""The one of this process; in its charge are process groups."""
