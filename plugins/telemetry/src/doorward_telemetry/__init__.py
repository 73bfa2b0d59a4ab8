"""Spans, metrics and the audit log for those who watch over Doorward: by OTLP, and as text for Prometheus.

Nothing of OpenTelemetry is imported before the plugin is opened.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from doorward import ConfigError, Secret, Settings, hookimpl
from doorward.serving import RawPage
from pydantic import Field, PositiveFloat

if TYPE_CHECKING:
    from doorward import Call, CallRecord, Outcome, PluginContext, Program
    from doorward.tracing import CallTrace

    from doorward_telemetry.audit_export import AuditExport
    from doorward_telemetry.metrics import Metrics
    from doorward_telemetry.spans import Spans

PLUGIN_API = 1


class TelemetrySettings(Settings):
    """`[hooks.telemetry]`"""

    endpoint: str | None = Field(None, description="Where OTLP/HTTP is taken, without /v1/…; if absent, none is sent")
    headers: dict[str, Secret] = Field({}, description="Headers of each request to it, such as Authorization")
    service: str = Field("doorward", description="What this service is called there")
    traces: bool = Field(True, description="Send spans of runs, calls and requests")
    propagate: bool = Field(True, description="Hand the W3C context on to APIs and MCP servers")
    join: bool = Field(True, description="Runs are part of the trace that the request of their client names")
    sample: float = Field(1.0, ge=0, le=1, description="Share of the runs of which spans are sent")
    metrics: bool = Field(True, description="Send metrics")
    interval: PositiveFloat = Field(30.0, description="Seconds between two reports of metrics")
    metrics_token: Secret | None = Field(
        None, description="Whoever has this bearer token may read /metrics of the HTTP transport; without it nobody"
    )
    audit: bool = Field(False, description="Send the lines of the audit log as OTLP logs")
    audit_path: Path | None = Field(None, description="Its file; doorward.audit.jsonl in the state folder if not given")


class Telemetry:
    """The hook plugin. Hooks only count and begin or end spans; threads of the SDK send them.

    Raises: ConfigError if nothing is to be told to anybody.
    """

    Settings = TelemetrySettings

    def __init__(self, context: PluginContext[TelemetrySettings]) -> None:
        self._settings, self._state, self._folder = context.settings, context.state, context.folder
        if context.settings.endpoint is None and context.settings.metrics_token is None:
            raise ConfigError(
                "telemetry has nobody to tell",
                place="[hooks.telemetry]",
                hint="Give an `endpoint` for OTLP, or a `metrics_token` for Prometheus; or leave it out of `plugins`.",
            )
        if context.settings.audit and context.settings.endpoint is None:
            raise ConfigError("`audit` needs an `endpoint`", place="[hooks.telemetry] audit")
        self._spans: Spans | None = None
        self._metrics: Metrics | None = None
        self._audit: AuditExport | None = None
        self._token: bytes | None = None
        self._sandboxes: Callable[[], Mapping[str, Mapping[str, int]]] = dict

    async def open(self) -> None:
        """Begin to send."""
        settings = self._settings
        headers = {name: (await value.get()).strip() for name, value in settings.headers.items()}
        if settings.metrics_token is not None:
            self._token = (await settings.metrics_token.get()).strip().encode()
            if not self._token:
                raise ConfigError("the token is empty", place="[hooks.telemetry] metrics_token")
        from doorward_telemetry.metrics import Metrics
        from doorward_telemetry.sending import Sending
        from doorward_telemetry.spans import Spans

        sending = Sending(settings.endpoint, headers, settings.service)
        if settings.endpoint and settings.traces:
            self._spans = Spans(sending, settings.sample, propagate=settings.propagate, join=settings.join)
        sends = bool(settings.endpoint and settings.metrics)
        if sends or self._token:
            shows = self._token is not None
            self._metrics = Metrics(sending, settings.interval, self._sandboxes, sends=sends, shows=shows)
        if settings.audit:
            from doorward_telemetry.audit_export import AuditExport

            path = self._folder / (settings.audit_path or self._state / "doorward.audit.jsonl").expanduser()
            self._audit = AuditExport(path, self._state / "telemetry.cursor", sending)
            self._audit.start()

    async def close(self) -> None:
        """Send what waits."""
        if self._audit is not None:
            await self._audit.close()
        parts = [part for part in (self._spans, self._metrics) if part is not None]
        await asyncio.gather(*(asyncio.to_thread(part.close) for part in parts))

    @hookimpl
    def sandboxes_known(self, read: Callable[[], Mapping[str, Mapping[str, int]]]) -> None:
        self._sandboxes = read

    @hookimpl
    def run_started(self, program: Program) -> None:
        if self._spans is not None:
            self._spans.run_started(program)
        if self._metrics is not None:
            self._metrics.run_started(program)

    @hookimpl
    def run_finished(self, program: Program, outcome: Outcome) -> None:
        if self._spans is not None:
            self._spans.run_finished(program, outcome)
        if self._metrics is not None:
            self._metrics.run_finished(program, outcome)

    @hookimpl
    def trace_call(self, call: Call) -> CallTrace | None:
        return self._spans.call_started(call) if self._spans is not None else None

    @hookimpl
    def call_finished(self, call: Call, record: CallRecord) -> None:
        if self._spans is not None:
            self._spans.call_finished(call, record)
        if self._metrics is not None:
            self._metrics.call_finished(call, record)

    @hookimpl
    def http_pages(self) -> Sequence[RawPage]:
        return [RawPage("/metrics", self._page)] if self._token else []

    async def _page(self, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], bytes]:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        known = self._token is not None and hmac.compare_digest(token.strip().encode(), self._token)
        if scheme.lower() != "bearer" or not known or self._metrics is None:
            return 401, {"WWW-Authenticate": "Bearer"}, b"a token of [hooks.telemetry] metrics_token is needed\n"
        kind, body = await asyncio.to_thread(self._metrics.text)
        return 200, {"Content-Type": kind, "Cache-Control": "no-store"}, body
