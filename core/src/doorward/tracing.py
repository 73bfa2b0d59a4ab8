"""How a call and its requests are followed."""

from __future__ import annotations

from doorward.model.call_trace import CallTrace, RequestTrace
from doorward.plugins.tracing import current_trace

__all__ = [
    "CallTrace",
    "RequestTrace",
    "current_trace",
]
