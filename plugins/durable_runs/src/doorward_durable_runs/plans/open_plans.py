"""Which plans there are, for whoever names one that there is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorward_durable_runs.storage.run_store import StoredRun

_SHOWN = 5

_NONE = "You have no open plan: they are kept for a while only, and belong to one principal. Plan the program anew."


def open_plans(stored: Sequence[StoredRun], now: float) -> str:
    """A hint that names those among the stored runs of a principal that can be committed, the newest first."""
    found = [each for each in stored if each.for_ == "plan" and each.state == "waiting" and each.given.expires > now]
    if not found:
        return _NONE
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"Open plans of yours: {', '.join(_told(each, now) for each in found[:_SHOWN])}{more}."


def _told(stored: StoredRun, now: float) -> str:
    """`5f0c91d2a7be4410 (a plan of 3 writes, 2 minutes ago)`"""
    minutes = max(0, int((now - stored.given.created) / 60))
    ago = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    return f"{stored.given.run} ({'; '.join(stored.what)}, made {ago} ago)"
