"""Counts and times of runs and calls: sent by OTLP, or shown as text for Prometheus."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from opentelemetry.metrics import CallbackOptions, Histogram, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader

if TYPE_CHECKING:
    from doorward import Call, CallRecord, Outcome, Program

    from doorward_telemetry.sending import Sending

_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300]
"""Bounds of the histograms."""


_MAX_WAITING = 1000
"""Suspended programs of which is remembered since when they wait."""


class Metrics:
    """Counts by server, kind and outcome: by nothing that an agent chooses, so that there are few series."""

    def __init__(
        self,
        sending: Sending,
        interval: float,
        sandboxes: Callable[[], Mapping[str, Mapping[str, int]]],
        *,
        sends: bool,
        shows: bool,
    ) -> None:
        from prometheus_client import CollectorRegistry

        self._registry = CollectorRegistry()
        readers: list[MetricReader] = []
        if sends:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

            exporter = OTLPMetricExporter(**sending.options("metrics"))
            readers.append(PeriodicExportingMetricReader(exporter, export_interval_millis=interval * 1000))
        if shows:
            from opentelemetry.exporter.prometheus import PrometheusMetricReader

            readers.append(PrometheusMetricReader(registry=self._registry))
        self._provider = MeterProvider(readers, sending.resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("doorward")

        def times(name: str, description: str) -> Histogram:
            return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=_SECONDS)

        self._runs = meter.create_counter("doorward.runs", description="Programs, by how they ended")
        self._run_time = times("doorward.run.duration", "Time of programs")
        self._active = meter.create_up_down_counter("doorward.runs.active", description="Programs that are running")
        self._waits = meter.create_counter("doorward.waits", description="Programs that were suspended, by what for")
        self._wait_time = times("doorward.wait.duration", "Time until suspended programs went on, here")
        self._hits = meter.create_counter("doorward.cache.hits", description="Kept programs that were run again")
        meter.create_observable_gauge(
            "doorward.sandboxes", [partial(_observed, sandboxes)], description="Sandboxes, by what they do"
        )
        self._calls = meter.create_counter("doorward.calls", description="Calls, by server and how they ended")
        self._call_time = times("doorward.call.duration", "Time of calls")
        self._bytes = meter.create_counter("doorward.call.bytes", unit="By", description="Arguments and results")
        self._tokens = meter.create_counter("doorward.tokens", description="Tokens of models, by server")
        self._started: set[str] = set()
        self._waiting: OrderedDict[str, tuple[float, str]] = OrderedDict()

    def run_started(self, program: Program) -> None:
        self._started.add(program.run)
        self._active.add(1)
        if program.cached:
            self._hits.add(1)
        if self._waiting and (waited := self._waiting.pop(program.run, None)) is not None:
            self._wait_time.record(time.monotonic() - waited[0], {"for": waited[1]})

    def run_finished(self, program: Program, outcome: Outcome) -> None:
        if program.run in self._started:
            self._started.discard(program.run)
            self._active.add(-1)
        ended = "waiting" if outcome.waiting else "ok" if outcome.ok else outcome.error.kind if outcome.error else ""
        about = {"outcome": str(ended), "executor": outcome.executor, "language": program.language}
        self._runs.add(1, about)
        self._run_time.record(outcome.ms / 1000, {"outcome": str(ended)})
        if outcome.waiting is not None:
            self._waits.add(1, {"for": outcome.waiting.for_})
            self._waiting[program.run] = time.monotonic(), outcome.waiting.for_
            if len(self._waiting) > _MAX_WAITING:
                self._waiting.popitem(last=False)
        for server, used in outcome.usage.items():
            if tokens := used.get("tokens"):
                self._tokens.add(tokens, {"server": server})

    def call_finished(self, call: Call, record: CallRecord) -> None:
        server = {"server": call.function.server}
        decided = {"outcome": "ok" if record.ok else "error", "decision": record.decision.then}
        self._calls.add(1, server | decided | {"error": record.error if not record.ok else ""})
        self._call_time.record(record.ms / 1000, server | {"outcome": decided["outcome"]})
        self._bytes.add(record.bytes_in, server | {"direction": "in"})
        self._bytes.add(record.bytes_out, server | {"direction": "out"})

    def text(self) -> tuple[str, bytes]:
        """All of it as Prometheus reads it: the media type and the text."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return CONTENT_TYPE_LATEST, generate_latest(self._registry)

    def close(self) -> None:
        self._provider.shutdown()


def _observed(
    sandboxes: Callable[[], Mapping[str, Mapping[str, int]]], options: CallbackOptions
) -> Iterable[Observation]:
    """The sandboxes that there are now. It is asked by a thread of the SDK."""
    for executor, counts in sandboxes().items():
        for state, count in counts.items():
            yield Observation(count, {"executor": executor, "state": state})
