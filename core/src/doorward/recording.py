"""For plugins that record runs, suspend them, or withhold what they would change: what the kernel asks of them, and of
what they make runs and outcomes.

A name is loaded when it is first imported: most starts need few of them.
"""

from __future__ import annotations

import importlib
from typing import Any

_EXPORTS = {
    "calls.files": ("takes_bytes",),
    "calls.client_requests": ("RunClient",),
    "data.planned": ("planned",),
    "model.clock": ("Clock",),
    "model.decisions": ("may_repeat",),
    "model.outcomes": ("OutcomePart", "Waiting"),
    "model.recording": (
        "InterceptedRun",
        "Interceptor",
        "RECORDERS",
        "RecordedRun",
        "Recorder",
        "Recorders",
        "Suspends",
        "WITHHOLDS",
        "Withholds",
    ),
    "model.waits": ("resumed_at",),
    "runs.outcomes": ("outcome_failure", "waiting_run"),
    "runs.suspension": ("GATHER_SECONDS", "GATHER_TURNS"),
    "runs.run_context": ("RunContext",),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}
_NAMES_THERE = {"outcome_failure": "failure", "waiting_run": "waiting"}
"""Names in their own module, where they differ from the exported ones."""


__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"doorward.{_MODULE_OF[name]}"), _NAMES_THERE.get(name, name))
    raise AttributeError(f"module 'doorward.recording' has no attribute {name!r}")
