"""Telemetry against a real OTLP/HTTP receiver, which decodes what it gets, and a gateway with a real API behind it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import (
    Call,
    CallLayer,
    CallRecord,
    ConfigError,
    Function,
    Outcome,
    PluginContext,
    Proceed,
    Program,
    Reply,
    Run,
    Wait,
    hookimpl,
)
from doorward_durable_runs import STORED_RUNS
from doorward_telemetry import Telemetry
from doorward_testing import check_driver, check_light_import

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

CANARY = "canary-7c1e"
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "shop", "version": "1"},
    "paths": {
        "/items/{name}": {
            "get": {
                "operationId": "get_item",
                "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "it"}},
            }
        }
    },
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Receiver:
    """A collector: takes OTLP over HTTP. And an API, which keeps the headers of what it was asked."""

    def __init__(self) -> None:
        self.messages: dict[str, list[Any]] = {"traces": [], "metrics": [], "logs": []}
        self.headers: list[dict[str, str]] = []
        self.asked: list[dict[str, str]] = []
        self.down = False
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                if receiver.down:
                    self.send_response(400)
                else:
                    signal = self.path.rpartition("/")[2]
                    receiver.messages[signal].append(_decoded(signal, body))
                    receiver.headers.append({key.lower(): value for key, value in self.headers.items()})
                    self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                receiver.asked.append({key.lower(): value for key, value in self.headers.items()})
                status = 404 if "missing" in self.path else 200
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def spans(self) -> list[Any]:
        return [
            span
            for message in self.messages["traces"]
            for resource in message.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def logs(self) -> list[Any]:
        return [
            record
            for message in self.messages["logs"]
            for resource in message.resource_logs
            for scope in resource.scope_logs
            for record in scope.log_records
        ]

    def metrics(self) -> dict[str, Any]:
        return {
            metric.name: metric
            for message in self.messages["metrics"]
            for resource in message.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def _decoded(signal: str, body: bytes) -> Any:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    kinds: dict[str, Any] = {
        "traces": ExportTraceServiceRequest,
        "metrics": ExportMetricsServiceRequest,
        "logs": ExportLogsServiceRequest,
    }
    return kinds[signal].FromString(body)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def attributes(of: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}


def config(receiver: Receiver, host: Any, **more: Any) -> dict[str, Any]:
    """A gateway with a shop behind it, whose telemetry goes to the receiver."""
    host.install_real("kept_programs", "monty", "openapi", "telemetry", "audit_jsonl")
    document = Path(host.folder) / "shop.json"
    document.write_text(json.dumps(DOCUMENT))
    return {
        "executor": "monty",
        "cache": "none",
        "plugins": ["audit_jsonl", "telemetry"],
        "hooks": {"telemetry": {"endpoint": receiver.url, **more}},
        "servers": {"shop": {"source": "openapi", "spec": str(document), "base_url": receiver.url}},
    }


CODE = f"import shop\nx = '{CANARY}'\nprint(x)\nresult = shop.get_item(name=x)"


async def test_spans_of_a_run(receiver: Receiver, doorward_host: Any) -> None:
    """CONTRACT: OBS-04. Run, call and request are one trace, the API gets the request's context, and no content is
    told."""
    headers = {"Authorization": "Bearer t0ken"}
    async with doorward_host.gateway(config(receiver, doorward_host, headers=headers)) as gate:
        assert (outcome := await gate.execute(CODE)).ok, outcome.error
        failed = await gate.execute("import shop\nshop.get_item(name='missing')")
        assert not failed.ok
    spans = receiver.spans()
    by_name = {span.name: span for span in reversed(spans)}
    run, call, request = by_name["run"], by_name["shop.get_item"], by_name["GET"]
    assert run.trace_id == call.trace_id == request.trace_id
    assert (run.parent_span_id, call.parent_span_id) == (b"", run.span_id)
    assert request.parent_span_id == call.span_id
    sent = receiver.asked[0]["traceparent"].split("-")
    assert sent[1:3] == [request.trace_id.hex(), request.span_id.hex()]
    assert attributes(call)["doorward.decision"] == "allow"
    assert attributes(request)["http.response.status_code"] == 200
    assert attributes(request)["server.address"] == "127.0.0.1"
    assert [span.status.code for span in spans if span.name == "run"] == [0, 2]
    assert attributes([span for span in spans if span.name == "shop.get_item"][1])["error.type"] == "ApiError"
    assert CANARY not in str(receiver.messages)
    assert {header["authorization"] for header in receiver.headers} == {"Bearer t0ken"}


async def test_nothing_is_handed_on_if_so_configured(receiver: Receiver, doorward_host: Any) -> None:
    """With `propagate = false` no API learns that calls belong together; spans are sent all the same."""
    async with doorward_host.gateway(config(receiver, doorward_host, propagate=False)) as gate:
        assert (await gate.execute(CODE)).ok
    assert "traceparent" not in receiver.asked[0]
    assert {span.name for span in receiver.spans()} == {"run", "shop.get_item", "GET"}


async def test_metrics(receiver: Receiver, doorward_host: Any) -> None:
    """Runs and calls are counted and timed by outcome and server, and sent at the end at the latest."""
    async with doorward_host.gateway(config(receiver, doorward_host, traces=False)) as gate:
        assert (await gate.execute(CODE)).ok
        await gate.execute("1 / 0")
    metrics = receiver.metrics()
    runs = {attributes(point)["outcome"]: point.as_int for point in metrics["doorward.runs"].sum.data_points}
    assert runs == {"ok": 1, "program": 1}
    (calls,) = metrics["doorward.calls"].sum.data_points
    assert attributes(calls) == {"server": "shop", "outcome": "ok", "decision": "allow", "error": ""}
    assert metrics["doorward.call.duration"].histogram.data_points[0].count == 1
    assert metrics["doorward.runs.active"].sum.data_points[0].as_int == 0
    assert receiver.spans() == []
    assert "traceparent" not in receiver.asked[0]


async def test_a_run_is_part_of_the_trace_of_its_request(receiver: Receiver, doorward_host: Any) -> None:
    """What is the current span where a run begins is its parent; with `join = false` each run is a trace of its own."""
    from opentelemetry import trace

    parent = trace.SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=trace.TraceFlags(1))
    settings = config(receiver, doorward_host)
    for join in (True, False):
        settings["hooks"]["telemetry"]["join"] = join
        async with doorward_host.gateway(settings) as gate:
            with trace.use_span(trace.NonRecordingSpan(parent)):
                assert (await gate.execute(CODE)).ok
    joined, alone = (span for span in receiver.spans() if span.name == "run")
    assert (int.from_bytes(joined.trace_id), int.from_bytes(joined.parent_span_id)) == (0xABC, 0xDEF)
    assert int.from_bytes(alone.trace_id) != 0xABC
    assert alone.parent_span_id == b""


class Holds:
    """A plugin with which every call waits."""

    def __init__(self, context: PluginContext) -> None: ...

    @hookimpl
    def call_layers(self) -> list[CallLayer]:
        return [CallLayer("holds", self.around)]

    async def around(self, run: Run, call: Call, proceed: Proceed) -> Reply:
        await run.wait(Wait("approval", "somebody has to say yes"))


async def test_sandboxes_hits_and_waits_are_measured(receiver: Receiver, doorward_host: Any) -> None:
    """Sandboxes by executor and state; programs that were kept and run again; and how long runs waited that went on."""
    settings = config(receiver, doorward_host, traces=False) | {"cache": "sqlite"}
    doorward_host.install_real("sqlite", "runs")
    doorward_host.install("plugin", "holds", Holds)
    settings["plugins"].append("holds")
    async with doorward_host.gateway(settings) as gate:
        kept = await gate.execute("a = 1\nresult = a + 1")
        assert (await gate.run_cached(kept.cache_id, {"a": 2})).value == 3
        waits = await gate.execute(CODE)
        assert waits.waiting is not None
        await gate.services[STORED_RUNS].resume(waits.waiting.run, principal="local")
    metrics = receiver.metrics()
    assert metrics["doorward.cache.hits"].sum.data_points[0].as_int == 1
    waits_by = {attributes(point)["for"]: point.as_int for point in metrics["doorward.waits"].sum.data_points}
    assert waits_by == {"approval": 2}
    (waited,) = metrics["doorward.wait.duration"].histogram.data_points
    assert (attributes(waited), waited.count) == ({"for": "approval"}, 1)
    sandboxes = {attributes(point)["state"]: point.as_int for point in metrics["doorward.sandboxes"].gauge.data_points}
    assert sandboxes == {"in_use": 0, "waiting": 0}


async def test_the_audit_log_arrives(receiver: Receiver, doorward_host: Any) -> None:
    """Each line once, in order, with its fields; what an endpoint that is down did not take comes after a restart, from
    older files too."""
    settings = config(receiver, doorward_host, audit=True, traces=False, metrics=False)
    settings["hooks"]["audit_jsonl"] = {"max_bytes": 2000, "keep": 50}
    async with doorward_host.gateway(settings) as gate:
        assert (await gate.execute(CODE)).ok
    first = [attributes(record)["doorward.n"] for record in receiver.logs()]
    assert first == list(range(1, len(first) + 1))
    assert len(first) >= 3
    events = [attributes(record)["doorward.event"] for record in receiver.logs()]
    assert events[-3:] == ["run_started", "call_finished", "run_finished"]
    assert json.loads(receiver.logs()[-1].body.string_value)["event"] == "run_finished"
    receiver.down = True
    async with doorward_host.gateway(settings) as gate:
        for _ in range(10):
            await gate.execute("1 / 0")
    assert len(receiver.logs()) == len(first)
    receiver.down = False
    async with doorward_host.gateway(settings) as gate:
        with anyio.fail_after(60):
            while len(receiver.logs()) < len(first) + 20:
                await anyio.sleep(0.05)
    numbers = [attributes(record)["doorward.n"] for record in receiver.logs()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert CANARY not in str(receiver.messages)


async def test_an_endpoint_that_is_down_stops_nothing(receiver: Receiver, doorward_host: Any) -> None:
    """Runs are answered, and the gateway ends."""
    receiver.down = True
    async with doorward_host.gateway(config(receiver, doorward_host, audit=True)) as gate:
        assert (await gate.execute(CODE)).ok


@pytest.mark.parametrize(
    ("settings", "says"), [({}, "nobody to tell"), ({"metrics_token": "x", "audit": True}, "needs")]
)
async def test_settings_that_tell_nobody_are_refused(tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    """It does not silently do nothing."""
    made = Telemetry.Settings.model_validate(settings, context={"secrets": None, "place": ""})
    with pytest.raises(ConfigError, match=says):
        Telemetry(PluginContext("telemetry", made, tmp_path))


async def test_a_refused_call_has_a_span_and_no_request(receiver: Receiver, tmp_path: Path) -> None:
    """A call that policy denied says so, by which rule, and is no request."""
    from doorward.model.calls import Decision

    made = Telemetry.Settings.model_validate({"endpoint": receiver.url}, context={"secrets": None, "place": ""})
    telemetry = Telemetry(PluginContext("telemetry", made, tmp_path))
    await telemetry.open()
    call = Call(Function("shop", "remove"), {}, "run-1", "ann")
    decision = Decision("deny", "[[policy.rules]] 3")
    telemetry.call_finished(call, CallRecord(False, 1.5, error="Refused", decision=decision))
    await telemetry.close()
    (span,) = receiver.spans()
    assert attributes(span)["doorward.rule"] == "[[policy.rules]] 3"
    assert attributes(span)["doorward.decision"] == "deny"
    assert span.status.code == 2


async def test_a_call_that_waits_with_its_run_has_a_span(receiver: Receiver, tmp_path: Path) -> None:
    """Its server was asked, and it was not made: nobody tells of its end. Another call that happens to lie in the same
    place of memory has a span of its own."""
    made = Telemetry.Settings.model_validate({"endpoint": receiver.url}, context={"secrets": None, "place": ""})
    telemetry = Telemetry(PluginContext("telemetry", made, tmp_path))
    await telemetry.open()
    program = Program("1", run="run-1", principal="ann")
    telemetry.run_started(program)
    call = Call(Function("shop", "add"), {}, "run-1", "ann")
    telemetry.trace_call(call)  # without a login, which came
    telemetry.trace_call(call)
    telemetry.run_finished(program, Outcome(False))
    telemetry.call_finished(call, CallRecord(True, 1.0))
    await telemetry.close()
    assert sorted(span.name for span in receiver.spans()) == ["run", "shop.add", "shop.add", "shop.add"]


def test_nothing_is_imported_before_it_is_opened() -> None:
    """The plugin itself is light, and installed as what it is called."""
    check_light_import("doorward_telemetry", forbidden=("opentelemetry.sdk", "requests", "prometheus_client", "httpx2"))
    check_driver("plugin", "telemetry")


def test_without_the_plugin_nothing_of_it_is_imported(tmp_path: Path) -> None:
    """Off by default, no cost when off: a gateway that runs programs imports no part of it that does anything (Monty
    itself asks for the current context), and has no hook to ask at a call."""
    (tmp_path / "doorward.toml").write_text('state = "state"\nexecutor = "monty"\ncache = "none"\nplugins = []\n')
    code = (
        "import anyio, sys\nfrom doorward import Gateway\nfrom doorward.config.config import load\n"
        "async def main():\n"
        "    async with Gateway.open(load('doorward.toml')) as gate:\n"
        "        assert (await gate.execute('1 + 1')).value == 2\n"
        "        assert not gate.plugins.hook.trace_call.get_hookimpls()\n"
        "anyio.run(main)\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs = (
        "opentelemetry.sdk",
        "opentelemetry.exporter",
        "opentelemetry.trace",
        "prometheus_client",
        "doorward_tele",
    )
    assert [name for name in done.stdout.split() if name.startswith(theirs)] == []
