"""The W3C trace context of an HTTP request, for whoever traces: that of the message itself (`_meta`), which the SDK
reads, comes before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

TRACEPARENT = "traceparent"
_NAMES = (TRACEPARENT, "tracestate")


@contextmanager
def traced_as(headers: Mapping[str, str]) -> Iterator[None]:
    """A block in which the current span is the one of the headers of a request, by names in small letters."""
    from opentelemetry.context import attach, detach
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier = {name: headers[name] for name in _NAMES if name in headers}
    token = attach(TraceContextTextMapPropagator().extract(carrier))
    try:
        yield
    finally:
        detach(token)
