# `make reference` writes this file.
from doorward.model.calls import CallTrace as CallTrace
from doorward.model.calls import RequestTrace as RequestTrace
from doorward.plugins.tracing import current_trace as current_trace

__all__ = [
    "CallTrace",
    "RequestTrace",
    "current_trace",
]
