"""Spans of runs, of their calls, and of the HTTP requests of calls."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from doorward import Call, CallRecord, Outcome, Program

    from doorward_telemetry.sending import Sending

MAX_NAME_CHARS = 200
"""Characters of a name that an agent chooses."""


class Spans:
    """Begins and ends spans; a thread of the SDK sends them, and drops them where that fails."""

    def __init__(self, sending: Sending, sample: float, *, propagate: bool, join: bool) -> None:
        self._provider = TracerProvider(
            resource=sending.resource, sampler=ParentBased(TraceIdRatioBased(sample)), shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(**sending.options("traces"))))
        self._tracer = self._provider.get_tracer("doorward")
        self._propagate = propagate
        self._root = None if join else Context()
        self._runs: dict[str, Span] = {}
        self._calls: dict[tuple[str, int], FollowedCall] = {}

    def run_started(self, program: Program) -> None:
        about = {"doorward.run": program.run, "doorward.principal": program.principal}
        about["doorward.language"] = program.language
        # The current span is that of the client's request: the face to agents says so, and the SDK of MCP.
        self._runs[program.run] = self._tracer.start_span("run", self._root, kind=SpanKind.SERVER, attributes=about)

    def run_finished(self, program: Program, outcome: Outcome) -> None:
        span = self._runs.pop(program.run, None)
        if span is None:  # it was refused before it began
            return
        for key in [key for key in self._calls if key[0] == program.run]:  # these wait: nobody tells of their ends
            self._calls.pop(key).span.end()
        span.set_attribute("doorward.executor", outcome.executor)
        span.set_attribute("doorward.calls", sum(call.get("count", 1) for call in outcome.calls))
        if outcome.waiting is not None:
            span.set_attribute("doorward.waiting", outcome.waiting.for_)
        _end(span, f"{outcome.error.kind}:{outcome.error.type}" if outcome.error else "")

    def call_started(self, call: Call) -> FollowedCall:
        if (earlier := self._calls.pop((call.run, id(call)), None)) is not None:
            _end(earlier.span, "LoginRefused")  # a person has logged in since
        followed = FollowedCall(self._tracer, self._call_span(call), propagate=self._propagate)
        self._calls[call.run, id(call)] = followed
        return followed

    def call_finished(self, call: Call, record: CallRecord) -> None:
        followed = self._calls.pop((call.run, id(call)), None)
        began = time.time_ns() - int(record.ms * 1e6)
        span = followed.span if followed else self._call_span(call, began)  # the source was not asked
        span.set_attributes(
            {
                "doorward.decision": record.decision.then,
                "doorward.rule": record.decision.rule,
                "doorward.bytes_in": record.bytes_in,
                "doorward.bytes_out": record.bytes_out,
            }
        )
        _end(span, record.error)

    def close(self) -> None:
        self._provider.shutdown()

    def _call_span(self, call: Call, began: int | None = None) -> Span:
        function = call.function
        about = {"doorward.run": call.run, "doorward.principal": call.principal, "doorward.server": function.server}
        parent = self._runs.get(call.run)
        context = set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(function.qualified, context, attributes=about, start_time=began)


class FollowedCall:
    """See `doorward.tracing.CallTrace`."""

    def __init__(self, tracer: Tracer, span: Span, *, propagate: bool) -> None:
        self.span = span
        self._tracer, self._propagate = tracer, propagate
        self.context = carried(span) if propagate else {}

    def request(self, method: str, url: str) -> FollowedRequest:
        """Of the URL nothing is told but where it leads: the rest may hold what an agent chose, or a secret."""
        at = urlsplit(url)
        about: dict[str, str | int] = {"http.request.method": method, "server.address": at.hostname or ""}
        about["server.port"] = at.port or (443 if at.scheme == "https" else 80)
        span = self._tracer.start_span(method, set_span_in_context(self.span), kind=SpanKind.CLIENT, attributes=about)
        return FollowedRequest(span, propagate=self._propagate)


class FollowedRequest:
    """See `doorward.tracing.RequestTrace`."""

    def __init__(self, span: Span, *, propagate: bool) -> None:
        self._span = span
        self.headers = carried(span) if propagate else {}

    def end(self, status: int | None, error: str) -> None:
        if status is not None:
            self._span.set_attribute("http.response.status_code", status)
        _end(self._span, error or (str(status) if status is not None and status >= 400 else ""))


def carried(span: Span) -> Mapping[str, str]:
    """The W3C context by which others go on with a trace."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, set_span_in_context(span))
    return carrier


def _end(span: Span, error: str) -> None:
    if error:
        span.set_attribute("error.type", error[:MAX_NAME_CHARS])
        span.set_status(StatusCode.ERROR)
    span.end()
