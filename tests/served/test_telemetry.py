"""Telemetry of a server that serves: a scrape of its metrics, and the context that an MCP server gets."""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doorward_testing import reserve_port
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from .forked import project, script
from .product import Project, connected

__all__ = ["project"]

pytestmark = pytest.mark.anyio

TOKEN = "scr4pe-token-of-the-operator"
TELEMETRY = f'\n[hooks.telemetry]\nmetrics_token = "{TOKEN}"\n'

ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        answer["result"] = {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}
        }
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "meta", "description": "", "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": json.dumps(asked["params"].get("_meta", {}))}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"""


def watched(project: Project, more: str = TELEMETRY) -> Project:
    project.change('"audit_jsonl"]', '"audit_jsonl", "telemetry"]', last=more)
    return project


async def test_a_scrape_is_for_who_has_the_token(project: Project) -> None:
    """`/metrics` is Prometheus text with what has happened, by whatever name the server is called; without the token,
    or with another one, nothing is told. CONTRACT: OBS-04."""
    with watched(project).http() as (url, _):
        async with connected(url) as agent:
            await agent.call("execute_code", code="import shelf\nresult = shelf.slow(ms=1)")
            await agent.call("execute_code", code="1 / 0")
        page = url.replace("/mcp", "/metrics")
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
            refused = httpx2.get(page, headers=headers)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert "doorward_" not in refused.text
        right = {"Authorization": f"Bearer {TOKEN}", "Host": "10.0.0.7"}
        scraped = httpx2.get(page, headers=right)
        assert httpx2.post(page, headers=right).status_code == 405
    assert scraped.status_code == 200
    assert scraped.headers["content-type"].startswith("text/plain")
    from prometheus_client.parser import text_string_to_metric_families

    samples = [each for family in text_string_to_metric_families(scraped.text) for each in family.samples]
    runs = {each.labels["outcome"]: each.value for each in samples if each.name == "doorward_runs_total"}
    assert runs == {"ok": 1, "program": 1}
    (calls,) = [each for each in samples if each.name == "doorward_calls_total"]
    assert (calls.labels["server"], calls.labels["decision"], calls.value) == ("shelf", "allow", 1)
    assert any(each.name == "doorward_call_duration_seconds_bucket" for each in samples)


async def test_without_the_plugin_there_is_no_such_page(project: Project) -> None:
    """Off by default: the path is one like any other."""
    with project.http() as (url, _):
        assert httpx2.get(url.replace("/mcp", "/metrics")).status_code == 404


def test_whoever_is_not_to_be_told_anything_is_told_so(project: Project) -> None:
    """The plugin alone, without an endpoint or a token, stops the start and says what to do."""
    refused = watched(project, "").run("list")
    assert refused.returncode == 2
    assert "telemetry has nobody to tell" in refused.stderr
    assert "metrics_token" in refused.stderr


async def test_an_mcp_server_gets_the_context(project: Project, tmp_path: Path) -> None:
    """A call of an MCP server has `traceparent` in `_meta`; that of the next call is another one."""
    echo = tmp_path / "echo.py"
    echo.write_text(ECHO)
    server = f'\n[servers.echo]\nsource = "mcp"\ncommand = {json.dumps(script(echo))}\n'
    endpoint = f'\n[hooks.telemetry]\nendpoint = "http://127.0.0.1:{reserve_port()}"\nmetrics = false\n'
    async with watched(project, endpoint + server).stdio() as agent:
        code = "import echo\nresult = [echo.meta(), echo.meta()]"
        answer = await agent.call("execute_code", code=code)
        assert answer["ok"], answer
        found = [str(each) for each in answer["value"]]
    assert all("traceparent" in each for each in found)
    assert found[0] != found[1]


class Spans:
    """A collector of spans, by OTLP over HTTP."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    collector.spans += [span for scope in resource.scope_spans for span in scope.spans]
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


async def test_a_client_names_the_trace_of_a_run(project: Project) -> None:
    """By `_meta` of the MCP request; by the header of the HTTP request where that says nothing. A text that is no
    context changes nothing."""
    collector = Spans()
    endpoint = f'\n[hooks.telemetry]\nendpoint = "{collector.url}"\nmetrics = false\n'
    meta, header = (f"00-{number * 32}-{number * 16}-01" for number in "ab")
    try:
        with watched(project, endpoint).http() as (url, _):
            async with connected(url) as agent:
                for given in (meta, "", "00-nonsense"):
                    await _runs(agent.client, given)
            async with (
                httpx2.AsyncClient(headers={"traceparent": header}) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                await _runs(client, "")
                await _runs(client, meta)
    finally:
        collector.close()
    runs = sorted((span for span in collector.spans if span.name == "run"), key=lambda run: run.start_time_unix_nano)
    named = [(run.trace_id.hex(), run.parent_span_id.hex()) if run.parent_span_id else None for run in runs]
    a, b = ((number * 32, number * 16) for number in "ab")
    assert named == [a, None, None, b, a]


async def _runs(client: Client, traceparent: str) -> None:
    meta: Any = {"traceparent": traceparent} if traceparent else None
    assert not (await client.call_tool("execute_code", {"code": "1"}, meta=meta)).is_error
